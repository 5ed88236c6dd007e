package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** With RDMA sockets over shared memory, a caller's stack overflow harms no other caller. */
class OverflowOverSharedMemoryTest extends OverflowContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
