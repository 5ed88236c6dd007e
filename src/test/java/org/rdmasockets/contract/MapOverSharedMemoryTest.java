package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over shared memory map memory for each other. */
class MapOverSharedMemoryTest extends MapContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
