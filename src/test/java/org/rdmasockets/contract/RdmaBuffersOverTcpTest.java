package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over TCP are channels. */
class RdmaBuffersOverTcpTest extends BufferContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.TCP);
    }
}
