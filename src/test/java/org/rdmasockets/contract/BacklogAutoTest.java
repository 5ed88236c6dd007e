package org.rdmasockets.contract;

/** RDMA sockets to which the transport is left: they take shared memory, however many there are. */
class BacklogAutoTest extends BacklogContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(null);
    }
}
