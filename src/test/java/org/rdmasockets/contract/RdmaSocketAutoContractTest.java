package org.rdmasockets.contract;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;

/** RDMA sockets that choose their transport keep the contract on the loopback address, whatever is chosen there. */
class RdmaSocketAutoContractTest extends SocketContract {
    @Override
    protected SocketFixture fixture() {
        return new TcpFixture() {
            @Override
            public Socket newSocket() throws IOException {
                return new RdmaSocket();
            }

            @Override
            public ServerSocket newServerSocket() throws IOException {
                return new RdmaServerSocket();
            }
        };
    }
}
