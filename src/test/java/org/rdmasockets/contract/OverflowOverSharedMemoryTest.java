package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over shared memory harm nobody when a caller's stack overflows. */
class OverflowOverSharedMemoryTest extends OverflowContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
