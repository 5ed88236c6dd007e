package org.rdmasockets.contract;

import org.rdmasockets.StreamKind;
import org.rdmasockets.Transport;

/** Streams of messages over shared memory are what the contracts ask for. */
class SendReceiveOverSharedMemoryTest extends StreamKindContract {
    @Override
    StreamKind kind() {
        return StreamKind.SEND_RECEIVE;
    }

    @Override
    SocketFixture place() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
