package org.rdmasockets.transport;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * A local RDMA address and port, held for a connection or a listener to be. Port numbers of RoCE and InfiniBand are
 * independent of TCP's; iWARP shares TCP's.
 */
public final class Binding implements AutoCloseable {
    private final Engine engine;
    /** What holds the port; null while unbound, and once connect or listen has taken it; protected by this. */
    private ConnectionIdentifier identifier;
    /** Gets the events of identifier; protected by this. */
    private ConnectionEvents events;
    /** What was bound; the wildcard with port 0 while unbound. */
    private final InetSocketAddress local;
    /** A connect in progress; protected by this. */
    private Dialer dialer;
    /** Protected by this. */
    private boolean closed;

    private Binding(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events, InetSocketAddress local) {
        this.engine = engine;
        this.identifier = identifier;
        this.events = events;
        this.local = local;
    }

    /**
     * Takes no address yet: connect will choose one.
     *
     * @return a binding for {@link #connect} only
     * @throws IOException if RDMA is not available; the message says why and what to do
     */
    public static Binding unbound() throws IOException {
        return new Binding(Engine.get(), null, null, new InetSocketAddress(0));
    }

    /**
     * Takes a local address ({@code rdma_bind_addr}).
     *
     * @param local address, may be the wildcard, and port; port 0 takes a free one
     * @return what holds it
     * @throws IOException {@code BindException} if the port is taken or the address is no RDMA device's;
     *         {@code SocketException} if RDMA is not available
     */
    public static Binding open(InetSocketAddress local) throws IOException {
        if (local.isUnresolved()) {
            throw new UnknownHostException(local.getHostString());
        }
        Engine engine = Engine.get();
        ConnectionEvents events = new ConnectionEvents();
        ConnectionIdentifier identifier = bind(engine, events, local);
        return new Binding(engine, identifier, events,
                new InetSocketAddress(local.getAddress(), identifier.localAddress().getPort()));
    }

    private static ConnectionIdentifier bind(Engine engine, ConnectionEvents events, InetSocketAddress local)
            throws IOException {
        ConnectionIdentifier identifier = null;
        boolean bound = false;
        try {
            identifier = engine.connectionManager().createIdentifier(events);
            identifier.bind(bothFamilies(local));
            bound = true;
            return identifier;
        } catch (VerbsException e) {
            throw NetErrors.bindFailed(local, e);
        } finally {
            if (!bound && identifier != null) {
                engine.setupPool().execute(identifier::close);
            }
        }
    }

    /** The IPv6 wildcard takes IPv4 as well, as it does for {@code java.net.ServerSocket}. */
    private static InetSocketAddress bothFamilies(InetSocketAddress local) throws UnknownHostException {
        if (local.getAddress().isAnyLocalAddress() && !(local.getAddress() instanceof Inet6Address)) {
            return new InetSocketAddress(InetAddress.getByAddress(new byte[16]), local.getPort());
        }
        return local;
    }

    /**
     * What is bound.
     *
     * @return address as it was asked for, and the port in use
     */
    public InetSocketAddress localAddress() {
        return local;
    }

    /**
     * Connects, and uses this binding up whatever the outcome.
     *
     * @param remote whom to reach, resolved
     * @param deadlineNanos end of the attempt by {@code System.nanoTime}, {@code Long.MAX_VALUE} for the default bound
     * @param options sizes of the connection
     * @return the connection
     * @throws IOException {@code ConnectException} if nobody listens or the network is unreachable,
     *         {@code NoRouteToHostException} if no RDMA device leads there, {@code SocketTimeoutException} at the
     *         deadline, {@code InterruptedIOException} if this virtual thread was interrupted (status left set),
     *         {@code SocketException} if this binding was closed meanwhile
     */
    public StreamTransport connect(InetSocketAddress remote, long deadlineNanos, StreamOptions options)
            throws IOException {
        if (remote.isUnresolved()) {
            throw new UnknownHostException(remote.getHostString());
        }
        if (remote.getAddress().isLoopbackAddress()) {
            throw NetErrors.noDevice(remote);
        }
        try {
            return dialer(remote, options).dial(deadlineNanos);
        } finally {
            close();
        }
    }

    private Dialer dialer(InetSocketAddress remote, StreamOptions options) throws IOException {
        InetAddress wanted = local.getAddress();
        InetSocketAddress source = wanted.isAnyLocalAddress()
                ? new InetSocketAddress(sourceOf(remote), local.getPort()) : local;
        synchronized (this) {
            if (closed) {
                throw NetErrors.closed();
            }
            if (wanted.isAnyLocalAddress()) {
                if (identifier != null) {
                    identifier.close(); // never connected, so this is quick; the port is free for the next line
                }
                events = new ConnectionEvents();
                identifier = bindSource(source, remote);
            }
            dialer = new Dialer(engine, identifier, events, remote, options);
            identifier = null;
            return dialer;
        }
    }

    /** Binding to the source address tells at once, without a packet, whether an RDMA device leads to the peer. */
    private ConnectionIdentifier bindSource(InetSocketAddress source, InetSocketAddress remote) throws IOException {
        try {
            return bind(engine, events, source);
        } catch (IOException e) {
            if (e.getCause() instanceof VerbsException cause && cause.errno() != Errno.EADDRINUSE) {
                throw NetErrors.connectFailed(remote, cause);
            }
            throw e;
        }
    }

    /** The local address that the routing table gives; a connected UDP socket knows it and sends nothing. */
    private static InetAddress sourceOf(InetSocketAddress remote) throws IOException {
        try (DatagramChannel probe = DatagramChannel.open()) {
            int port = remote.getPort() == 0 ? 1 : remote.getPort();
            probe.connect(new InetSocketAddress(remote.getAddress(), port));
            return ((InetSocketAddress) probe.getLocalAddress()).getAddress();
        } catch (SocketException e) {
            throw (SocketException) new ConnectException("Network is unreachable: " + remote).initCause(e);
        }
    }

    /**
     * Listens, and uses this binding up.
     *
     * @param backlog most connections that wait to be accepted; below 1 means 50
     * @param options sizes of the connections to come
     * @return the listener
     * @throws IOException {@code BindException} if the port is taken (iWARP shares TCP's ports),
     *         {@code SocketException} if this binding is used up
     */
    public Listener listen(int backlog, StreamOptions options) throws IOException {
        ConnectionIdentifier listening;
        synchronized (this) {
            if (closed || identifier == null) {
                throw NetErrors.closed();
            }
            listening = identifier;
            identifier = null;
            closed = true;
        }
        List<ConnectionIdentifier> identifiers = List.of(listening);
        if (local.getAddress().isAnyLocalAddress() && engine.hasIwarp()) {
            listening.close(); // never connected, so this is quick
            identifiers = bindEachAddress(engine, local.getPort());
        }
        return Listener.start(engine, identifiers, local, backlog, options);
    }

    /**
     * The wildcard where there is an iWARP device: the kernel refuses peers of the other address family there, so each
     * address that an RDMA device has now is bound by itself.
     */
    private static List<ConnectionIdentifier> bindEachAddress(Engine engine, int port) throws IOException {
        List<ConnectionIdentifier> bound = new ArrayList<>();
        boolean done = false;
        try {
            for (InetAddress address : localAddresses()) {
                ConnectionIdentifier identifier = tryBind(engine, new InetSocketAddress(address, port));
                if (identifier != null) {
                    bound.add(identifier);
                }
            }
            if (bound.isEmpty()) {
                throw new BindException("Cannot assign requested address: no RDMA device has an address");
            }
            done = true;
            return bound;
        } finally {
            if (!done) {
                bound.forEach(engine::release);
            }
        }
    }

    private static List<InetAddress> localAddresses() throws SocketException {
        return NetworkInterface.networkInterfaces().flatMap(NetworkInterface::inetAddresses)
                .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress()).toList();
    }

    /** Null if no RDMA device has the address. */
    private static ConnectionIdentifier tryBind(Engine engine, InetSocketAddress address) throws IOException {
        try {
            return bind(engine, new ConnectionEvents(), address);
        } catch (BindException e) {
            if (e.getCause() instanceof VerbsException cause && cause.errno() != Errno.EADDRINUSE) {
                return null;
            }
            throw e;
        }
    }

    /**
     * Gives the address back; the port is free when this returns. A connect in progress in another thread ends at once
     * with "Socket closed".
     */
    @Override
    public void close() {
        ConnectionIdentifier unused;
        Dialer dialing;
        synchronized (this) {
            closed = true;
            unused = identifier;
            identifier = null;
            dialing = dialer;
            dialer = null;
        }
        if (dialing != null) {
            dialing.cancel();
        }
        if (unused != null) {
            engine.release(unused);
        }
    }
}
