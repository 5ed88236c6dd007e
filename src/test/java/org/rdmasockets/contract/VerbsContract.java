package org.rdmasockets.contract;

import org.junit.jupiter.api.Nested;

/**
 * The contract of every provider of verbs. A provider's test extends this and says in {@link #fixture()} what to run
 * on; devices differ in their capabilities, which each test asks.
 */
public abstract class VerbsContract {
    /** A contract; what it runs on comes from {@link #fixture()}. */
    protected VerbsContract() {
    }

    /**
     * The provider, device and address to run on.
     *
     * @return provider, device and address; the same for all tests
     */
    protected abstract VerbsFixture fixture();

    /** {@link DeviceContract}. */
    @Nested
    class Devices extends DeviceContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link MemoryContract}. */
    @Nested
    class Memory extends MemoryContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link OperationContract}. */
    @Nested
    class Operations extends OperationContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link AttributeContract}. */
    @Nested
    class Attributes extends AttributeContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link SharedReceiveContract}. */
    @Nested
    class SharedReceives extends SharedReceiveContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link DatagramContract}. */
    @Nested
    class Datagrams extends DatagramContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link AccessContract}. */
    @Nested
    class Access extends AccessContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link WindowContract}. */
    @Nested
    class Windows extends WindowContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link FailureContract}. */
    @Nested
    class Failures extends FailureContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link CompletionQueueContract}. */
    @Nested
    class Queues extends CompletionQueueContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link ManualConnectContract}. */
    @Nested
    class ManualConnections extends ManualConnectContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link ConnectionContract}. */
    @Nested
    class Connections extends ConnectionContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link LifetimeContract}. */
    @Nested
    class Lifetimes extends LifetimeContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }

    /** {@link EventPollerContract}. */
    @Nested
    class Pollers extends EventPollerContract {
        @Override
        VerbsFixture fixture() {
            return VerbsContract.this.fixture();
        }
    }
}
