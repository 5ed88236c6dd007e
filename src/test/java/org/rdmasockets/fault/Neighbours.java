package org.rdmasockets.fault;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.interop.TestBed;

/** Sockets between processes of this host that share memory or fail; never another transport. */
final class Neighbours {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    private Neighbours() {
    }

    /** A listening socket on a free port. */
    static ServerSocket listen() throws IOException {
        return listen(0);
    }

    /** A listening socket on a free port, for so many connections that were not accepted; 0 for the default. */
    static ServerSocket listen(int backlog) throws IOException {
        RdmaServerSocket server = new RdmaServerSocket();
        server.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        server.bind(new InetSocketAddress(LOOPBACK, 0), backlog);
        return server;
    }

    /** Connects to a port; reads have no timeout. */
    static Socket connect(int port) throws IOException {
        return connect(port, TestBed.PATIENCE_MILLIS);
    }

    /** The same with a timeout of its own for connecting, in milliseconds. */
    static Socket connect(int port, int timeoutMillis) throws IOException {
        RdmaSocket socket = new RdmaSocket();
        try {
            socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            socket.connect(new InetSocketAddress(LOOPBACK, port), timeoutMillis);
            return socket;
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }
}
