package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** With RDMA sockets over TCP, a caller's stack overflow harms no other caller. */
class OverflowOverTcpTest extends OverflowContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.TCP);
    }
}
