package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.BindException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;

/**
 * A local address and port of one engine, for a connection or a listener to be. Port numbers of RoCE and InfiniBand are
 * their own. iWARP shares TCP's, and greets any TCP server that has the port; so it is used only if asked for.
 */
public final class Binding implements AutoCloseable {
    private static final Log LOG = new Log(Binding.class);

    private final Engine engine;
    /** Whether iWARP devices count. */
    private final boolean iwarp;
    /** The holder of the port; null while unbound, and once connect or listen has taken it; protected by this. */
    private ConnectionIdentifier identifier;
    /** Gets the events of identifier; protected by this. */
    private ConnectionEvents events;
    /** The address that was bound, or will be. */
    private final InetSocketAddress local;
    /** A connect in progress; protected by this. */
    private Dialer<?> dialer;
    /** Protected by this. */
    private boolean closed;
    /** The connecting thread's only. */
    private long waitedNanos;
    private long[] steps;

    private Binding(Engine engine, boolean iwarp, InetSocketAddress local) {
        this.engine = engine;
        this.iwarp = iwarp;
        this.local = local;
    }

    /** Takes no address yet: connect will, on iWARP too if {@code iwarp}. For the wildcard, the routes say which. */
    public static Binding later(Engine engine, boolean iwarp, InetSocketAddress local) {
        return new Binding(engine, iwarp, local);
    }

    /**
     * Takes a local address ({@code rdma_bind_addr}), on iWARP only if {@code iwarp}; port 0 takes a free one.
     * Throws {@code BindException} if the port is taken or the address is no RDMA device's; {@code SocketException} if
     * RDMA is not available.
     */
    public static Binding open(Engine engine, boolean iwarp, InetSocketAddress local) throws IOException {
        if (local.isUnresolved()) {
            throw NetErrors.unresolved(local);
        }
        Routes.ensureFamily(local.getAddress());
        ConnectionEvents events = new ConnectionEvents(engine.poller());
        ConnectionIdentifier identifier = bind(engine, events, local);
        Binding binding = new Binding(engine, iwarp,
                new InetSocketAddress(local.getAddress(), identifier.localAddress().getPort()));
        binding.identifier = identifier;
        binding.events = events;
        if (!binding.mayUse(identifier)) {
            binding.close();
            throw NetErrors.noSuchLocal(whyNoIwarp(identifier.device()));
        }
        return binding;
    }

    private boolean mayUse(ConnectionIdentifier bound) {
        return iwarp || bound.device() == null || bound.device().info().transport() != TransportType.IWARP;
    }

    private static String whyNoIwarp(Device device) {
        return "device " + device.info().name() + " is iWARP, which shares the ports of TCP and is used only when "
                + "ibverbs is forced";
    }

    private static ConnectionIdentifier bind(Engine engine, ConnectionEvents events, InetSocketAddress local)
            throws IOException {
        ConnectionIdentifier identifier = null;
        boolean bound = false;
        try {
            identifier = engine.connectionManager.createIdentifier(events);
            identifier.bind(bothFamilies(local));
            bound = true;
            return identifier;
        } catch (VerbsException e) {
            throw NetErrors.bindFailed(local, e);
        } finally {
            if (!bound && identifier != null) {
                engine.perform(identifier::close);
            }
        }
    }

    /** The IPv6 wildcard takes IPv4 as well, as for {@code java.net.ServerSocket}, where the JVM has both. */
    private static InetSocketAddress bothFamilies(InetSocketAddress local) throws UnknownHostException {
        InetAddress host = local.getAddress();
        if (host.isAnyLocalAddress() && !(host instanceof Inet6Address) && Routes.hasVersionSix()) {
            return new InetSocketAddress(InetAddress.getByAddress(new byte[16]), local.getPort());
        }
        return local;
    }

    /** The name of the transport whose devices are used, as settings spell it. */
    public String transport() {
        return engine.name();
    }

    /** Whether it is the engine whose devices are used. */
    public boolean isOf(Engine other) {
        return engine == other;
    }

    /** The bound address: the host as it was asked for, and the port in use. */
    public InetSocketAddress localAddress() {
        return local;
    }

    /**
     * Connects until a time of {@code System.nanoTime}, {@code Long.MAX_VALUE} for the default bound; this binding is
     * then used up, even after a failure. Throws {@code ConnectException} if no server listens or the network is
     * unreachable, {@code NoRouteToHostException} if no RDMA device leads there, {@code SocketTimeoutException} at the
     * deadline, {@code InterruptedIOException} if this virtual thread was interrupted (status left set),
     * {@code SocketException} if this binding was closed meanwhile.
     */
    public <P extends Protocol> P connect(InetSocketAddress remote, long deadlineNanos,
            Protocol.Maker<P> maker) throws IOException {
        return connect(remote, deadlineNanos, Long.MAX_VALUE, maker);
    }

    /**
     * Connects likewise, where there is another way: waits only {@code silenceNanos} in all, unless the peer has
     * acknowledged the attempt. Work of this process meanwhile, such as loading code, is no wait. A cause of
     * {@link Errno#EAGAIN} says nothing of the next attempt.
     */
    public <P extends Protocol> P connect(InetSocketAddress remote, long deadlineNanos, long silenceNanos,
            Protocol.Maker<P> maker) throws IOException {
        if (remote.isUnresolved()) {
            throw NetErrors.unresolved(remote);
        }
        try {
            long begun = System.nanoTime();
            Routes.ensureFamily(remote.getAddress());
            Dialer<P> dialing = dialer(remote, maker);
            try {
                return dialing.dial(deadlineNanos, silenceNanos, begun);
            } finally {
                waitedNanos = dialing.waitedNanos();
                steps = dialing.steps();
            }
        } finally {
            close();
        }
    }

    /** How long connect has waited for others; for the thread that has called it. */
    public long waitedNanos() {
        return waitedNanos;
    }

    /** How long each step of connect took, see {@link FlightEvents}; null if nothing is recorded. Likewise. */
    public long[] steps() {
        return steps;
    }

    private <P extends Protocol> Dialer<P> dialer(InetSocketAddress remote, Protocol.Maker<P> maker)
            throws IOException {
        InetAddress wanted = local.getAddress();
        ensureSameFamily(wanted, remote.getAddress());
        InetSocketAddress source = wanted.isAnyLocalAddress()
                ? new InetSocketAddress(sourceOf(remote), local.getPort()) : local;
        synchronized (this) {
            if (closed) {
                throw NetErrors.closed();
            }
            if (identifier != null && wanted.isAnyLocalAddress()) {
                identifier.close(); // never connected, so this is quick; the port is free for the next line
                identifier = null;
            }
            if (identifier == null) {
                events = new ConnectionEvents(engine.poller());
                identifier = bindSource(source, remote);
            }
            ensureLeadsTo(remote);
            Dialer<P> dialing = new Dialer<>(engine, identifier, events, remote, maker);
            dialer = dialing;
            identifier = null;
            return dialing;
        }
    }

    /** Asks the connection manager first: the JDK's way looks through all jars for a provider of channels. */
    private InetAddress sourceOf(InetSocketAddress remote) throws IOException {
        Optional<InetAddress> source = engine.connectionManager.sourceOf(remote);
        return source.isPresent() ? source.get() : Routes.sourceOf(remote);
    }

    /** Refuses a peer of the other IP version, which cannot be reached, in TCP's words. */
    private static void ensureSameFamily(InetAddress from, InetAddress to) throws IOException {
        if (!from.isAnyLocalAddress() && from instanceof Inet6Address != to instanceof Inet6Address) {
            throw NetErrors.otherFamily(to);
        }
    }

    /**
     * Refuses a peer that the kernel would find out of reach only after a wait; monitor held, identifier bound to an
     * address.
     */
    private void ensureLeadsTo(InetSocketAddress remote) throws IOException {
        Device device = identifier.device();
        boolean onThisHost = device != null && device.info().transport() == TransportType.SHARED_MEMORY;
        if (device == null || remote.getAddress().isLoopbackAddress() && !onThisHost) {
            throw NetErrors.noDevice(remote);
        }
        if (!mayUse(identifier)) {
            throw NetErrors.notReached(remote, whyNoIwarp(device));
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

    /**
     * Makes the resources of a connection over a device, and frees them: else the first client would wait for this
     * process to load all that. Takes a port of its own. A failure does no harm: the first connection meets it again.
     */
    void practise(Protocol.Maker<?> maker) {
        try {
            InetAddress host = local.getAddress();
            for (InetAddress one : host.isAnyLocalAddress() ? localAddresses() : List.of(host)) {
                ConnectionIdentifier spare = tryBind(new InetSocketAddress(one, 0));
                if (spare != null) {
                    practise(spare, maker);
                    return;
                }
            }
        } catch (Throwable e) {
            LOG.debug("no connection from {} can be practised", local, e);
        }
    }

    private void practise(ConnectionIdentifier spare, Protocol.Maker<?> maker) throws IOException {
        Protocol made = null;
        try {
            made = VerbsConnection.make(engine, spare, new ConnectionEvents(engine.poller()), maker);
            engine.practised();
        } finally {
            if (made != null) {
                made.connection().abort();
            } else {
                engine.release(spare);
            }
        }
    }

    /**
     * Gives its port to a listener that has not begun, and is used up; a backlog below 1 means 50. Throws
     * {@code BindException} if an address of its own cannot be had for each device, where one is iWARP,
     * {@code SocketException} if this binding is used up.
     */
    public <P extends Protocol> VerbsListener<P> listener(int backlog, Protocol.Maker<P> maker,
            AcceptQueue<? super P> accepted) throws IOException {
        ConnectionIdentifier listening;
        synchronized (this) {
            if (closed || identifier == null) {
                throw NetErrors.closed();
            }
            listening = identifier;
            identifier = null;
            closed = true;
        }
        boolean each;
        try {
            each = local.getAddress().isAnyLocalAddress() && engine.hasIwarp();
        } catch (SocketException e) {
            engine.release(listening);
            throw e;
        }
        List<ConnectionIdentifier> identifiers = List.of(listening);
        if (each) {
            listening.close(); // never connected, so this is quick
            identifiers = bindEachAddress();
        }
        return new VerbsListener<>(engine, identifiers, local, backlog, maker, accepted);
    }

    /**
     * Binds the wildcard where there is an iWARP device. The kernel refuses peers of the other address family there, so
     * each address that an RDMA device has now is bound by itself.
     */
    private List<ConnectionIdentifier> bindEachAddress() throws IOException {
        List<ConnectionIdentifier> bound = new ArrayList<>();
        boolean done = false;
        try {
            for (InetAddress address : localAddresses()) {
                ConnectionIdentifier one = tryBind(new InetSocketAddress(address, local.getPort()));
                if (one != null) {
                    bound.add(one);
                }
            }
            if (bound.isEmpty()) {
                throw NetErrors.noSuchLocal("no RDMA device has an address"
                        + (iwarp ? "" : "; iWARP devices count only when ibverbs is forced"));
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

    /** Null if no RDMA device that may be used has the address. */
    private ConnectionIdentifier tryBind(InetSocketAddress address) throws IOException {
        ConnectionIdentifier bound;
        try {
            bound = bind(engine, new ConnectionEvents(engine.poller()), address);
        } catch (IOException e) {
            if (e instanceof BindException && e.getCause() instanceof VerbsException cause
                    && cause.errno() != Errno.EADDRINUSE) {
                return null;
            }
            throw e;
        }
        if (bound.device() == null || !mayUse(bound)) {
            engine.release(bound);
            return null;
        }
        return bound;
    }

    /** Gives the address back; the port is free when this returns. A connect in progress ends with "Socket closed". */
    @Override
    public void close() {
        ConnectionIdentifier unused;
        Dialer<?> dialing;
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
