package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets keep the contract where TCP is forced. */
class RdmaSocketOverTcpContractTest extends SocketContract {
    @Override
    protected SocketFixture fixture() {
        return new RdmaFixture(Transport.TCP);
    }
}
