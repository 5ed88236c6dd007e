package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over shared memory lend what they have received. */
class ReceiveOverSharedMemoryTest extends ReceiveContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
