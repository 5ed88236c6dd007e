package org.rdmasockets.contract;

import org.junit.jupiter.api.Nested;

/** The contract of every provider of verbs; devices differ in their capabilities, which each test asks. */
@RunIn({Place.SHARED_MEMORY, Place.LINK, Place.DEVICE})
class VerbsContractTest {
    /** {@link DeviceContract}. */
    @Nested
    class Devices extends DeviceContract {
    }

    /** {@link MemoryContract}. */
    @Nested
    class Memory extends MemoryContract {
    }

    /** {@link OperationContract}. */
    @Nested
    class Operations extends OperationContract {
    }

    /** {@link AttributeContract}. */
    @Nested
    class Attributes extends AttributeContract {
    }

    /** {@link SharedReceiveContract}. */
    @Nested
    class SharedReceives extends SharedReceiveContract {
    }

    /** {@link DatagramContract}. */
    @Nested
    class Datagrams extends DatagramContract {
    }

    /** {@link AccessContract}. */
    @Nested
    class Access extends AccessContract {
    }

    /** {@link WindowContract}. */
    @Nested
    class Windows extends WindowContract {
    }

    /** {@link FailureContract}. */
    @Nested
    class Failures extends FailureContract {
    }

    /** {@link CompletionQueueContract}. */
    @Nested
    class Queues extends CompletionQueueContract {
    }

    /** {@link ManualConnectContract}. */
    @Nested
    class ManualConnections extends ManualConnectContract {
    }

    /** {@link ConnectionContract}. */
    @Nested
    class Connections extends ConnectionContract {
    }

    /** {@link LifetimeContract}. */
    @Nested
    class Lifetimes extends LifetimeContract {
    }

    /** {@link EventPollerContract}. */
    @Nested
    class Pollers extends EventPollerContract {
    }
}
