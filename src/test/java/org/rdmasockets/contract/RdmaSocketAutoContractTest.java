package org.rdmasockets.contract;

/** RDMA sockets that choose their transport keep the contract on the loopback address, whatever is chosen there. */
class RdmaSocketAutoContractTest extends SocketContract {
    @Override
    protected SocketFixture fixture() {
        return new RdmaFixture(null);
    }
}
