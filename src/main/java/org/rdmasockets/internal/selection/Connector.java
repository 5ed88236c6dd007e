package org.rdmasockets.internal.selection;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.log.Occurrences;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.Binding;
import org.rdmasockets.internal.connection.Connection;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.connection.FlightEvents;
import org.rdmasockets.internal.connection.NetErrors;
import org.rdmasockets.internal.connection.Routes;
import org.rdmasockets.internal.connection.PendingOptions;
import org.rdmasockets.internal.connection.StreamTransport;
import org.rdmasockets.internal.connection.TcpBinding;
import org.rdmasockets.internal.connection.TransportStatistics;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * The connecting end of a connection to be: it may hold a local address, chooses the transport and connects, once.
 * {@link #close} from another thread ends a connect in progress.
 */
public final class Connector implements AutoCloseable {
    private static final Log LOG = new Log(Connector.class);
    private static final String CONNECTED = "[{}->{}] connected over {}, {}: {}";
    private static final FailureCache OUTCOMES = new FailureCache();
    private static final InetSocketAddress ANY = new InetSocketAddress(0);
    /** Longest wait for an acknowledgement within this host: nothing gets lost there, so a silent peer is stopped. */
    private static final long LOCAL_ATTEMPT_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** A shorter attempt proves nothing: this process may have been the slow one. */
    private static final long LEAST_PROOF_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** Read once, as in the JDK. */
    private static final boolean SYSTEM_PROXIES = Boolean.getBoolean("java.net.useSystemProxies");

    /** Transports that connections have used, each with the reason. */
    private static final Occurrences USED = new Occurrences();

    /** Whether this process has connected; until then, loading may take longer than any timeout. */
    private static volatile boolean practised;

    private final Policy policy;
    /** The transport that the socket asks for, null for none. */
    private final String wish;
    private final InetSocketAddress local;
    /** The holder of the local address, null for none; set before publication. */
    private final AutoCloseable reserved;
    /** Whether that port was asked for, and not chosen. */
    private final boolean portAsked;
    /** Why transports that come before the chosen one are not used. */
    private final Reasons others = new Reasons();
    /** The time that the caller of connect gives it, in nanoseconds; 0 for the default bound. */
    private long timeoutNanos;
    /** The attempt in progress, null for none; protected by this. */
    private AutoCloseable attempt;
    /** Why the connection goes over its transport, null before; the connecting thread only, as what follows. */
    private String reason;
    /** The connection that was made last, until {@link #connect} returns it. */
    private Connection made;
    /** How long the last attempt has waited for others. */
    private long waitedNanos;
    /** How long the steps of the last attempt over verbs took, see {@link FlightEvents}; null unless recorded. */
    private long[] steps;
    /** Protected by this. */
    private boolean closed;

    private Connector(Policy policy, String wish, InetSocketAddress local, AutoCloseable reserved,
            boolean portAsked) {
        this.policy = policy;
        this.wish = wish;
        this.local = local;
        this.reserved = reserved;
        this.portAsked = portAsked;
    }

    /** Takes no address yet: connect will choose one. The wish is null for no transport of its own. */
    public static Connector unbound(String wish) {
        return new Connector(Policy.current(), wish, ANY, null, false);
    }

    /**
     * Takes a local address, perhaps the wildcard and port 0. The peer is not known yet, so the port is TCP's unless
     * another transport is asked for; a connection over another one has the same number there, and keeps TCP's, too.
     * Throws {@code BindException} if it cannot be had.
     */
    public static Connector open(String wish, InetSocketAddress local, PendingOptions wishes) throws IOException {
        if (local.isUnresolved()) {
            throw NetErrors.unresolved(local);
        }
        Policy policy = Policy.current();
        String transport = wish != null ? wish : policy.transport();
        if (transport.equals(Policy.AUTO) || transport.equals(Policy.TCP)) {
            TcpBinding binding = TcpBinding.open(local, wishes);
            return new Connector(policy, wish, at(local, binding.localAddress()), binding,
                    local.getPort() != 0);
        }
        Binding binding = Binding.open(Engine.of(Providers.named(transport)), true, local);
        return new Connector(policy, wish, at(local, binding.localAddress()), binding,
                local.getPort() != 0);
    }

    private static InetSocketAddress at(InetSocketAddress wanted, InetSocketAddress got) {
        return new InetSocketAddress(wanted.getAddress(), got.getPort());
    }

    /** The local address as it was asked for, with the port in use; the wildcard and 0 while unbound. */
    public InetSocketAddress localAddress() {
        return local;
    }

    /**
     * Connects, once: this closes itself, even if the connect fails. A proxy may know a name that is not resolved. The
     * time is in milliseconds, 0 for the default bound; the time that this process takes to load is not counted. Throws
     * what the transport that was asked for throws, in {@code auto} what TCP does; {@code InterruptedIOException} if
     * this virtual thread was interrupted (status left set), {@code SocketException} if this was closed meanwhile.
     */
    public Connection connect(InetSocketAddress remote, int millis, PendingOptions wishes) throws IOException {
        Object event = FlightEvents.connecting();
        if (event == null) {
            return connectUnrecorded(remote, millis, wishes);
        }
        Connection connection = null;
        try {
            connection = connectUnrecorded(remote, millis, wishes);
            FlightEvents.connected(event, connection.transport(), connection.localAddress(), remote, reason, steps);
            return connection;
        } catch (Throwable e) {
            if (connection != null) {
                connection.close(0); // an Error: no caller gets it, and its peer must not wait
            }
            FlightEvents.connectFailed(event, remote, e, steps);
            throw e;
        }
    }

    private Connection connectUnrecorded(InetSocketAddress remote, int millis, PendingOptions wishes)
            throws IOException {
        try {
            timeoutNanos = TimeUnit.MILLISECONDS.toNanos(millis);
            Policy.Decision decision = decide(remote, wishes);
            long end = millis == 0 ? Long.MAX_VALUE : System.nanoTime() + timeoutNanos;
            reason = decision.reason();
            Connection connection = decision.isAuto() ? connectAuto(remote, end, wishes)
                    : connectOver(decision.transport(), remote, end, wishes);
            practised = true;
            connection.because(reason);
            if (reserved instanceof TcpBinding tcp && connection instanceof StreamTransport stream) {
                tcp.keepFor(stream.connection());
            }
            TransportStatistics.of(connection.transport()).connectedOne();
            if (decision.isAuto() && connection.transport().equals(Policy.TCP)) {
                TransportStatistics.fellBack();
            }
            log(remote, connection, decision.isAuto());
            made = null;
            return connection;
        } finally {
            try {
                close();
            } finally {
                if (made != null) {
                    made.close(0); // an Error: no caller gets it, and its peer must not wait
                }
            }
        }
    }

    /** Why the connection goes over its transport, for people; for the thread that has connected. */
    public String reason() {
        return reason;
    }

    /** Each transport and reason is told once; where TCP takes the place of another transport, as a warning. */
    private void log(InetSocketAddress remote, Connection connection, boolean auto) {
        String transport = connection.transport();
        boolean first = USED.isFirst(transport.concat(others.isEmpty() ? reason : others.kind()));
        if (!first && !LOG.isDebugEnabled()) {
            return;
        }
        Object[] what = {connection.localAddress(), remote, transport, connection.carrier(), reason};
        if (!first) {
            LOG.debug(CONNECTED, what);
        } else if (auto && transport.equals(Policy.TCP)) {
            LOG.warn(CONNECTED, what);
        } else {
            LOG.info(CONNECTED, what);
        }
    }

    /** A deadline moved by the time since a moment: what this process takes to load or start is not the peer's. */
    private static long later(long deadlineNanos, long begunNanos) {
        return deadlineNanos == Long.MAX_VALUE ? deadlineNanos : deadlineNanos + System.nanoTime() - begunNanos;
    }

    /** The transport to use. A wish that only TCP can grant makes auto choose TCP; a forced transport refuses it. */
    private Policy.Decision decide(InetSocketAddress remote, PendingOptions wishes) throws IOException {
        Policy.Decision decision = policy.decide(wish,
                remote.isUnresolved() ? new InetSocketAddress(remote.getPort()) : remote);
        if (decision.transport().equals(Policy.TCP)) {
            return decision;
        }
        String onlyTcp = wishes.urgentInline() ? "the socket reads urgent data, which only TCP carries"
                : !wishes.direct() && isProxied(remote) ? "the ProxySelector names a SOCKS proxy, which TCP reaches"
                : null;
        if (onlyTcp != null && decision.isAuto()) {
            if (!policy.fallback()) {
                others.add(Policy.TCP, onlyTcp);
                throw nothingLeads(remote, Long.MAX_VALUE);
            }
            return new Policy.Decision(Policy.TCP, onlyTcp);
        }
        wishes.ensureNotUrgent();
        if (remote.isUnresolved()) {
            throw NetErrors.unresolved(remote);
        }
        return decision;
    }

    /**
     * Whether {@code java.net.Socket} would try a SOCKS proxy before it connects there; true if the selector fails,
     * which it tells in its own way.
     */
    private static boolean isProxied(InetSocketAddress remote) {
        ProxySelector selector = ProxySelector.getDefault();
        if (selector == null || selector.getClass().getModule() == Object.class.getModule() && !SYSTEM_PROXIES
                && System.getProperty("socksProxyHost") == null) {
            return false; // as the JDK's own selector would answer
        }
        return Proxies.leadTo(selector, remote);
    }

    /** Asks a selector other than the JDK's; only then are these classes needed. */
    private static final class Proxies {
        private Proxies() {}

        static boolean leadTo(ProxySelector selector, InetSocketAddress remote) {
            try {
                List<Proxy> proxies = selector.select(
                        new URI("socket", null, remote.getHostString(), remote.getPort(), null, null, null));
                return proxies != null && !proxies.isEmpty() && proxies.getFirst() != null
                        && proxies.getFirst().type() == Proxy.Type.SOCKS;
            } catch (URISyntaxException | RuntimeException e) {
                return true;
            }
        }
    }

    private Connection connectOver(String transport, InetSocketAddress remote, long deadlineNanos,
            PendingOptions wishes) throws IOException {
        try {
            return transport.equals(Policy.TCP) ? connectTcp(remote, deadlineNanos, wishes)
                    : connect(Providers.named(transport), true, remote, deadlineNanos, Long.MAX_VALUE, wishes);
        } catch (IOException e) {
            TransportStatistics.of(transport).attemptFailed(e);
            throw e;
        }
    }

    /** Connects over the first transport that leads there, and says why. */
    private Connection connectAuto(InetSocketAddress remote, long givenNanos, PendingOptions wishes)
            throws IOException {
        List<FailureCache.Attempt> failed = new ArrayList<>();
        long deadlineNanos = givenNanos;
        long lookedNanos = 0;
        for (VerbsProvider provider : Providers.all()) {
            Object event = FlightEvents.attempting();
            steps = null;
            String name = provider.name();
            long begun = System.nanoTime();
            String vain = whyVain(provider, remote).orElse(null);
            deadlineNanos = later(deadlineNanos, begun); // by the start of an engine
            if (vain == null) {
                boolean first = !Engine.of(provider).isPractised();
                begun = System.nanoTime();
                try {
                    Connection connection = attempt(provider, remote, deadlineNanos, wishes, failed);
                    reason = because();
                    return connection;
                } catch (IOException e) {
                    rethrowIfEnded(e);
                    if (portAsked && e instanceof BindException && text(e).startsWith("Address already in use")) {
                        throw e; // no two connections of this host have the same port, over any transport
                    }
                    deadlineNanos = first ? later(deadlineNanos, begun) : deadlineNanos;
                    boolean absent = !(e instanceof SocketTimeoutException) && !isNotNow(e);
                    lookedNanos = isHere(provider) && absent ? begun : lookedNanos;
                    vain = text(e);
                    TransportStatistics.of(name).attemptFailed(e);
                }
            } else {
                TransportStatistics.of(name).passedOverOnce();
            }
            others.add(name, vain);
            FlightEvents.passedOver(event, name, remote, vain, steps);
        }
        if (!policy.fallback()) {
            throw nothingLeads(remote, deadlineNanos);
        }
        Connection connection = lookedNanos == 0 ? connectOver(Policy.TCP, remote, deadlineNanos, wishes)
                : connectHere(remote, deadlineNanos, wishes, lookedNanos);
        failed.forEach(OUTCOMES::failed); // a server that only TCP reaches was not just about to start
        reason = connection.transport().equals(Policy.TCP) ? because() : "its server has just begun to listen";
        return connection;
    }

    /**
     * Connects over TCP within this host, where no server listened over shared memory a moment ago. A server begins to
     * listen over TCP a little later than over shared memory; so if TCP leads there within that time, the server has no
     * shared memory. If it takes longer than that, shared memory is looked at again, and preferred.
     */
    private Connection connectHere(InetSocketAddress remote, long deadlineNanos, PendingOptions wishes,
            long firstLookedNanos) throws IOException {
        long lookedNanos = firstLookedNanos;
        if (System.nanoTime() - lookedNanos > Acceptor.HEAD_START_NANOS / 2) {
            lookedNanos = System.nanoTime();
            Connection connection = connectAfterAll(remote, deadlineNanos, wishes);
            if (connection != null) {
                return connection;
            }
        }
        Connection tcp = connectOver(Policy.TCP, remote, deadlineNanos, wishes);
        if (System.nanoTime() - lookedNanos < Acceptor.HEAD_START_NANOS || reserved != null) {
            return tcp;
        }
        Connection better = null;
        boolean done = false;
        try {
            better = connectAfterAll(remote, deadlineNanos, wishes);
            done = true;
        } finally {
            if (better != null || !done) {
                tcp.close(0);
            }
        }
        made = better != null ? better : tcp;
        return made;
    }

    /** Connects over shared memory; null if that fails, as before. */
    private Connection connectAfterAll(InetSocketAddress remote, long deadlineNanos, PendingOptions wishes)
            throws IOException {
        try {
            return attempt(Providers.sharedMemory(), remote, deadlineNanos, wishes, new ArrayList<>());
        } catch (IOException e) {
            rethrowIfEnded(e);
            return null;
        }
    }

    private String because() {
        return others.isEmpty() ? "it is the first choice" : others.text();
    }

    private IOException nothingLeads(InetSocketAddress remote, long deadlineNanos) {
        if (deadlineNanos != Long.MAX_VALUE && System.nanoTime() - deadlineNanos >= 0) {
            return NetErrors.connectTimedOut();
        }
        return NetErrors.refused("only TCP might lead to " + remote + ", and -D" + Policy.FALLBACK_PROPERTY
                + "=never forbids it; " + others.text());
    }

    /** The reason why an attempt would be in vain, if one is known without an attempt. */
    private static Optional<String> whyVain(VerbsProvider provider, InetSocketAddress remote) {
        if (isHere(provider) && !Routes.endsHere(remote) && !Providers.sharedMemoryLeadsTo(remote)) {
            return Optional.of(remote.getAddress() + " is not this host");
        }
        try {
            Engine.of(provider);
        } catch (SocketException e) {
            return Optional.of(e.getMessage());
        }
        return OUTCOMES.failure(provider.name(), remote);
    }

    private static boolean isHere(VerbsProvider provider) {
        return provider.name().equals(Policy.SHARED_MEMORY);
    }

    /**
     * One attempt, which leaves time to those that come after it, unless the peer answers. A failure within this host
     * is not remembered: another attempt costs next to nothing, and the server may begin to listen just now.
     */
    private Connection attempt(VerbsProvider provider, InetSocketAddress remote, long deadlineNanos,
            PendingOptions wishes, List<FailureCache.Attempt> failed) throws IOException {
        long start = System.nanoTime();
        boolean here = isHere(provider);
        long most = here ? LOCAL_ATTEMPT_NANOS : policy.attemptNanos();
        long left = deadlineNanos - start;
        long share = here ? left - left / 4 : left / 2; // TCP within a host is quick
        long budget = deadlineNanos == Long.MAX_VALUE ? most : Math.min(most, share);
        boolean first = !Engine.of(provider).isPractised();
        try {
            Connection connection = connect(provider, false, remote, deadlineNanos,
                    policy.fallback() ? budget : Long.MAX_VALUE, wishes);
            OUTCOMES.succeeded(provider.name(), remote);
            return connection;
        } catch (IOException e) {
            rethrowIfEnded(e); // an end by the application says nothing about the peer
            long took = first && waitedNanos > 0 ? waitedNanos : System.nanoTime() - start;
            boolean hurried = e instanceof SocketTimeoutException && waitedNanos < Math.min(most, LEAST_PROOF_NANOS);
            if (!here && !hurried && !isNotNow(e)) {
                failed.add(new FailureCache.Attempt(provider.name(), remote, text(e), isRefusal(e), took));
            }
            throw e;
        }
    }

    private static String text(IOException e) {
        return e instanceof SocketTimeoutException ? "no answer in time" : String.valueOf(e.getMessage());
    }

    /** Whether the peer is there, but has no place or does not run. */
    private static boolean isNotNow(IOException e) {
        return e.getCause() instanceof VerbsException cause && cause.errno() == Errno.EAGAIN;
    }

    private static boolean isRefusal(IOException e) {
        return e instanceof ConnectException && text(e).startsWith("Connection refused");
    }

    /** Throws if the application has ended the attempt: then no other follows. */
    private void rethrowIfEnded(IOException e) throws IOException {
        boolean interrupted = e instanceof InterruptedIOException && !(e instanceof SocketTimeoutException);
        if (interrupted || isClosed()) {
            throw e;
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    private Connection connect(VerbsProvider provider, boolean iwarp, InetSocketAddress remote, long deadlineNanos,
            long silenceNanos, PendingOptions wishes) throws IOException {
        waitedNanos = 0;
        long begun = System.nanoTime();
        Engine engine = Engine.of(provider);
        long deadline = later(deadlineNanos, begun);
        Binding binding = reserved instanceof Binding own && own.isOf(engine) ? own
                : Binding.later(engine, iwarp, local);
        begin(binding);
        try {
            made = binding.connect(remote, deadline, silenceNanos, wishes.sizes());
            return made;
        } finally {
            waitedNanos = binding.waitedNanos();
            steps = binding.steps();
        }
    }

    private Connection connectTcp(InetSocketAddress remote, long deadlineNanos, PendingOptions wishes)
            throws IOException {
        TcpBinding binding = tcpBinding(wishes);
        steps = null;
        begin(binding);
        made = binding.connect(remote, deadlineNanos, practised ? 0 : timeoutNanos, wishes);
        return made;
    }

    private TcpBinding tcpBinding(PendingOptions wishes) throws IOException {
        if (reserved instanceof TcpBinding own) {
            return own;
        }
        if (reserved instanceof Binding other) {
            other.close(); // an iWARP device shares the port
        }
        return local == ANY ? new TcpBinding(wishes) : TcpBinding.open(local, wishes);
    }

    /** From here on, close ends this attempt. */
    private void begin(AutoCloseable next) throws SocketException {
        synchronized (this) {
            if (!closed) {
                attempt = next;
                return;
            }
        }
        closeQuietly(next);
        throw NetErrors.closed();
    }

    /** Gives the address back, at once. A connect in progress in another thread ends with "Socket closed". */
    @Override
    public void close() {
        AutoCloseable ended;
        synchronized (this) {
            closed = true;
            ended = attempt;
            attempt = null;
        }
        closeQuietly(ended);
        closeQuietly(reserved);
    }

    private static void closeQuietly(AutoCloseable binding) {
        if (binding instanceof Binding verbs) {
            verbs.close();
        } else if (binding instanceof TcpBinding tcp) {
            tcp.close();
        }
    }
}
