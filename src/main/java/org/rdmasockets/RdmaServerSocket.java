package org.rdmasockets;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import org.rdmasockets.internal.socket.RdmaSocketImpl;

/**
 * A server socket that accepts connections over everything that there is, on one port number: TCP, shared memory, and
 * the RDMA devices of its address. So it serves {@link RdmaSocket}, programs that speak rsockets, and any TCP client.
 * {@link RdmaSocketOptions#TRANSPORT} tells what it listens on and what not, and can force one transport.
 *
 * <p>It does everything that {@link ServerSocket} can do. Port numbers of InfiniBand and RoCE devices are independent
 * of TCP's, so a port is taken if it is taken on one of them. iWARP devices share TCP's ports: they are listened on
 * only where {@code ibverbs} is forced. A connection beyond the backlog is refused, where TCP would let it wait.
 *
 * @since 0.1
 */
public final class RdmaServerSocket extends ServerSocket {
    /**
     * Makes an unbound server socket.
     *
     * @throws IOException never; kept for the shape of {@link ServerSocket}
     */
    public RdmaServerSocket() throws IOException {
        super(new RdmaSocketImpl(true));
    }

    /**
     * Listens on a port of all addresses.
     *
     * @param port 0 to 65535; 0 takes a free one
     * @throws IOException if the port is taken, or the transport that is forced is not available
     */
    public RdmaServerSocket(int port) throws IOException {
        this(port, 0, null);
    }

    /**
     * Listens on a port of all addresses.
     *
     * @param port 0 to 65535; 0 takes a free one
     * @param backlog most connections that wait to be accepted; below 1 means 50
     * @throws IOException if the port is taken, or the transport that is forced is not available
     */
    public RdmaServerSocket(int port, int backlog) throws IOException {
        this(port, backlog, null);
    }

    /**
     * Listens on a port of one address.
     *
     * @param port 0 to 65535; 0 takes a free one
     * @param backlog most connections that wait to be accepted; below 1 means 50
     * @param address an address of this machine, or null for all
     * @throws IOException if the port is taken, the address cannot be had, or the transport that is forced is not
     *         available
     */
    public RdmaServerSocket(int port, int backlog, InetAddress address) throws IOException {
        this();
        bindOrClose(new InetSocketAddress(address, port), backlog);
    }

    RdmaServerSocket bindOrClose(InetSocketAddress local, int backlog) throws IOException {
        try {
            bind(local, backlog);
            return this;
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /**
     * Takes the next connection, waiting for one within {@code SO_TIMEOUT}. Several threads may wait at once.
     *
     * @return the connection
     * @throws IOException {@code SocketTimeoutException} when the time is over, {@code SocketException} when this
     *         socket is closed, is not bound, or the waiting virtual thread is interrupted, which closes it
     */
    @Override
    public RdmaSocket accept() throws IOException {
        if (isClosed()) {
            throw new SocketException("Socket is closed");
        }
        if (!isBound()) {
            throw new SocketException("Socket is not bound yet");
        }
        RdmaSocket socket = new RdmaSocket(new RdmaSocketImpl(false));
        implAccept(socket);
        return socket;
    }
}
