package org.rdmasockets.contract;

import org.junit.jupiter.api.Nested;

/** Everything that {@code java.net} promises of sockets; a family runs it by extending this class. */
@Bystanders
public abstract class SocketContract {
    /**
     * The family that is tried.
     *
     * @return its fixture
     */
    protected abstract SocketFixture fixture();

    /** Binding and connecting. */
    @Nested
    class Connecting extends ConnectTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Accepting. */
    @Nested
    class Accepting extends AcceptTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Bytes. */
    @Nested
    class Streaming extends StreamTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Ending one direction. */
    @Nested
    class HalfClosing extends HalfCloseTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Timeouts of reads. */
    @Nested
    class TimingOut extends TimeoutTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Closing. */
    @Nested
    class Closing extends CloseTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Interrupts. */
    @Nested
    class Interrupting extends InterruptTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Options. */
    @Nested
    class Options extends OptionTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Wrong arguments and wrong moments. */
    @Nested
    class Checking extends ArgumentTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Answers of a closed socket. */
    @Nested
    class Ending extends ClosedTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Addresses and names. */
    @Nested
    class Addressing extends AddressTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** SO_LINGER. */
    @Nested
    class Lingering extends LingerTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Urgent data. */
    @Nested
    class Urging extends UrgentTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Several threads on one socket. */
    @Nested
    class Sharing extends ConcurrencyTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** Deep pipelines and full buffers. */
    @Nested
    class Pipelining extends PipelineTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }

    /** An end that goes. */
    @Nested
    class Dropping extends DropTheme {
        @Override
        SocketFixture fixture() {
            return SocketContract.this.fixture();
        }
    }
}
