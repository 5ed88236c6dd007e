package org.rdmasockets.contract;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/** RDMA sockets keep the contract where TCP is forced. */
class RdmaSocketOverTcpContractTest extends SocketContract {
    @Override
    protected SocketFixture fixture() {
        return new TcpFixture() {
            @Override
            public Socket newSocket() throws IOException {
                return new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.TCP);
            }

            @Override
            public ServerSocket newServerSocket() throws IOException {
                return new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.TCP);
            }
        };
    }
}
