package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over TCP lend a copy of what they have received. */
class ReceiveOverTcpTest extends ReceiveContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.TCP);
    }
}
