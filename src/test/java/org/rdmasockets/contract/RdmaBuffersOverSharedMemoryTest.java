package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over shared memory are channels. */
class RdmaBuffersOverSharedMemoryTest extends BufferContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
