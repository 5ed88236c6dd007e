package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over TCP harm nobody when a caller's stack overflows. */
class OverflowOverTcpTest extends OverflowContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.TCP);
    }
}
