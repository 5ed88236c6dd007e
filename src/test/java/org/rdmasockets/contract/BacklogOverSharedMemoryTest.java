package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over shared memory, inside this process. */
class BacklogOverSharedMemoryTest extends BacklogContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
