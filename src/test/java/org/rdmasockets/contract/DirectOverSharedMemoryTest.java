package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over shared memory send from buffers of their own. */
class DirectOverSharedMemoryTest extends DirectContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
