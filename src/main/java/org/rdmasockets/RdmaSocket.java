package org.rdmasockets;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.Objects;

/**
 * A socket whose stream runs over the best transport that leads to the peer: memory shared with another process of this
 * host, RDMA (to an {@link RdmaServerSocket} or any program that speaks rsockets), or TCP, to any server.
 * {@link RdmaSocketOptions#TRANSPORT} tells which it is and why, and can force one.
 *
 * <p>It does everything that {@link Socket} can do, but urgent data, which is refused. Over TCP it is such a socket,
 * SOCKS settings included. Over RDMA, buffer sizes are fixed when the connection is made; TCP_NODELAY, SO_REUSEADDR and
 * IP_TOS are kept but change nothing, because nothing is held back, closed ports are free at once and the connection
 * manager chooses the traffic class. Further options are in {@link RdmaSocketOptions}.
 *
 * <p>Where a transport is forced and not available, binding and connecting throw a {@code SocketException} that says
 * why and what to do; {@link RdmaDevices#unavailability()} tells beforehand.
 */
public final class RdmaSocket extends Socket {
    /**
     * Makes an unconnected socket.
     *
     * @throws SocketException never; the superclass declares it
     */
    public RdmaSocket() throws SocketException {
        this(new RdmaSocketImpl(false));
    }

    /**
     * Makes the socket of a connection to come.
     *
     * @param impl holds nothing yet
     * @throws SocketException never; the superclass declares it
     */
    RdmaSocket(RdmaSocketImpl impl) throws SocketException {
        super(impl);
    }

    /**
     * Connects to a port of a named host.
     *
     * @param host name or address of the host, null for the loopback address
     * @param port 0 to 65535
     * @throws IOException if the host is unknown or the connection cannot be made, see {@link Socket#connect}
     */
    public RdmaSocket(String host, int port) throws IOException {
        this(at(host, port), null);
    }

    /**
     * Connects to a port of a host.
     *
     * @param address the host
     * @param port 0 to 65535
     * @throws IOException if the connection cannot be made, see {@link Socket#connect}
     */
    public RdmaSocket(InetAddress address, int port) throws IOException {
        this(at(address, port), null);
    }

    /**
     * Connects to a port of a named host from a local address.
     *
     * @param host name or address of the host, null for the loopback address
     * @param port 0 to 65535
     * @param localAddress an address of this machine, or null for any
     * @param localPort 0 to 65535; 0 takes a free one
     * @throws IOException if the host is unknown, the local address cannot be had or the connection cannot be made
     */
    public RdmaSocket(String host, int port, InetAddress localAddress, int localPort) throws IOException {
        this(at(host, port), new InetSocketAddress(localAddress, localPort));
    }

    /**
     * Connects to a port of a host from a local address.
     *
     * @param address the host
     * @param port 0 to 65535
     * @param localAddress an address of this machine, or null for any
     * @param localPort 0 to 65535; 0 takes a free one
     * @throws IOException if the local address cannot be had or the connection cannot be made
     */
    public RdmaSocket(InetAddress address, int port, InetAddress localAddress, int localPort) throws IOException {
        this(at(address, port), new InetSocketAddress(localAddress, localPort));
    }

    private static InetSocketAddress at(String host, int port) {
        return host != null ? new InetSocketAddress(host, port) : at(InetAddress.getLoopbackAddress(), port);
    }

    /** Null is refused, as {@code java.net.Socket} does: it would become the wildcard. */
    private static InetSocketAddress at(InetAddress address, int port) {
        return new InetSocketAddress(Objects.requireNonNull(address, "address"), port);
    }

    private RdmaSocket(InetSocketAddress remote, InetSocketAddress local) throws IOException {
        this();
        try {
            if (local != null) {
                bind(local);
            }
            connect(remote);
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }
}
