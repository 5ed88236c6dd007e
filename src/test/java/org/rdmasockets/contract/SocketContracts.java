package org.rdmasockets.contract;

import org.junit.jupiter.api.Nested;

/** Everything that {@code java.net} promises of sockets, contract by contract. */
@Bystanders
abstract class SocketContracts {
    /** Binding and connecting. */
    @Nested
    class Connecting extends ConnectContract {
    }

    /** Accepting. */
    @Nested
    class Accepting extends AcceptContract {
    }

    /** Bytes. */
    @Nested
    class Streaming extends StreamContract {
    }

    /** Ending one direction. */
    @Nested
    class HalfClosing extends HalfCloseContract {
    }

    /** Timeouts of reads. */
    @Nested
    class TimingOut extends TimeoutContract {
    }

    /** Closing. */
    @Nested
    class Closing extends CloseContract {
    }

    /** Interrupts. */
    @Nested
    class Interrupting extends InterruptContract {
    }

    /** Options. */
    @Nested
    class Options extends OptionContract {
    }

    /** Wrong arguments and wrong moments. */
    @Nested
    class Checking extends ArgumentContract {
    }

    /** Answers of a closed socket. */
    @Nested
    class Ending extends ClosedContract {
    }

    /** Addresses and names. */
    @Nested
    class Addressing extends AddressContract {
    }

    /** SO_LINGER. */
    @Nested
    class Lingering extends LingerContract {
    }

    /** Urgent data. */
    @Nested
    class Urging extends UrgentContract {
    }

    /** Several threads on one socket. */
    @Nested
    class Sharing extends ConcurrencyContract {
    }

    /** Deep pipelines and full buffers. */
    @Nested
    class Pipelining extends PipelineContract {
    }

    /** An end that goes. */
    @Nested
    class Dropping extends DropContract {
    }
}
