package org.rdmasockets.contract;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.StreamKind;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.sharedmemory.Linked;

/** Streams of messages over a link of shared memory are what the contracts ask for. */
@ExtendWith(Linked.class)
class SendReceiveOverLinkTest extends StreamKindContract {
    @Override
    StreamKind kind() {
        return StreamKind.SEND_RECEIVE;
    }

    @Override
    SocketFixture place() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
