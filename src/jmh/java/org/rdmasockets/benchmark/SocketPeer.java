package org.rdmasockets.benchmark;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;

/**
 * Sockets: {@code RdmaSocket} over what {@code -Dorg.rdmasockets.transport} forces, or {@code java.net.Socket}, on
 * {@code -Dorg.rdmasockets.test.address} (the loopback address if that is not set).
 *
 * @param rdma whether they are ours
 */
record SocketPeer(boolean rdma) implements Peer {
    private static final int BACKLOG = 4096;
    private static final int CONNECT_MILLIS = 30_000;

    @Override
    public Listener listen() throws IOException {
        ServerSocket server = rdma ? new RdmaServerSocket() : new ServerSocket();
        server.bind(new InetSocketAddress(host(), 0), BACKLOG);
        return new Ear(server);
    }

    @Override
    public Link connect(String address) throws IOException {
        Socket socket = rdma ? new RdmaSocket() : new Socket();
        try {
            socket.connect(new InetSocketAddress(host(), Integer.parseInt(address)), CONNECT_MILLIS);
            return new SocketLink(socket);
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    private static InetAddress host() throws IOException {
        return InetAddress.getByName(System.getProperty("org.rdmasockets.test.address", "127.0.0.1"));
    }

    /** A listening socket; its address is a port. */
    private record Ear(ServerSocket server) implements Listener {
        @Override
        public String address() {
            return "" + server.getLocalPort();
        }

        @Override
        public Link accept() throws IOException {
            return new SocketLink(server.accept());
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    /** A connected socket. */
    private static final class SocketLink implements Link {
        private final Socket socket;
        private final InputStream in;
        private final OutputStream out;

        SocketLink(Socket socket) throws IOException {
            this.socket = socket;
            socket.setTcpNoDelay(true);
            in = socket.getInputStream();
            out = socket.getOutputStream();
        }

        @Override
        public void write(byte[] message) throws IOException {
            out.write(message);
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            return in.read(into, offset, length);
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
