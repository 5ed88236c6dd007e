package org.rdmasockets.contract;

import org.junit.jupiter.api.Nested;
import org.rdmasockets.StreamKind;

/** However a stream is carried, it is the same to the application: all that the contracts ask of sockets. */
@RunIn(value = {Place.SHARED_MEMORY, Place.LINK, Place.DEVICE},
        kinds = {StreamKind.SEND_RECEIVE, StreamKind.READ_RING})
class StreamKindContractTest extends SocketContracts {
    /** Sending from buffers of the socket. */
    @Nested
    class Buffers extends DirectContract {
    }

    /** Lending what has arrived. */
    @Nested
    class Lending extends ReceiveContract {
    }

    /** The agreement of both ends. */
    @Nested
    class Agreeing extends StreamKindContract {
    }
}
