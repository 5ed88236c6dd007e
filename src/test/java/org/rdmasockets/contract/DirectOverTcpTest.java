package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA sockets over TCP take the same buffers. */
class DirectOverTcpTest extends DirectContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.TCP);
    }
}
