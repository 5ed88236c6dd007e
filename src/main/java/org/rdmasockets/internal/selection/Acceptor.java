package org.rdmasockets.internal.selection;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.log.Occurrences;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.AcceptQueue;
import org.rdmasockets.internal.connection.Binding;
import org.rdmasockets.internal.connection.Connection;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.connection.FlightEvents;
import org.rdmasockets.internal.connection.Listener;
import org.rdmasockets.internal.connection.NetErrors;
import org.rdmasockets.internal.connection.PendingOptions;
import org.rdmasockets.internal.connection.StreamOptions;
import org.rdmasockets.internal.connection.StreamTransport;
import org.rdmasockets.internal.connection.TcpListener;
import org.rdmasockets.internal.connection.TransportStatistics;
import org.rdmasockets.internal.connection.VerbsConnection;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * The listening end of connections to be: in {@code auto} it listens over TCP and every provider on one port number,
 * and says what it does not listen on. A port that another program has on one transport is in use for all.
 */
public final class Acceptor implements AutoCloseable {
    /** Why a connection from {@link #accept} goes over its transport. */
    public static final String REASON = "the peer connected over it";

    private static final Log LOG = new Log(Acceptor.class);
    private static final String ACCEPTED_OVER = "[{}<-{}] accepted over {}, {}";
    /** Transports that connections have come over. */
    private static final Occurrences ACCEPTED = new Occurrences();
    /** Transports that servers have listened over, with the reasons. */
    private static final Occurrences LISTENING = new Occurrences();
    /** How often a free port of the first transport may be taken on another one. */
    private static final int MOST_TRIES = 16;
    /** How much later TCP listens than the others: see {@link Connector}. */
    static final long HEAD_START_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final Policy.Decision decision;
    private final InetSocketAddress local;
    /** Gets the connections of all listeners. */
    final AcceptQueue<Connection> accepted = new AcceptQueue<>(connection -> connection.close(0));
    private final List<Listener> listeners = new ArrayList<>();
    /** Why the others do not listen. */
    private final Reasons others = new Reasons();
    /** The sizes of connections over RDMA that come from now on. */
    private volatile StreamOptions sizes;

    private Acceptor(Policy.Decision decision, InetSocketAddress local, StreamOptions sizes) {
        this.decision = decision;
        this.local = local;
        this.sizes = sizes;
    }

    /**
     * Begins to listen; the wish is null for none, the address may be the wildcard, port 0 takes one that is free
     * everywhere, a backlog below 1 means 50. Throws {@code BindException} or {@code SocketException} that says why.
     */
    public static Acceptor open(String wish, InetSocketAddress local, int backlog, PendingOptions wishes)
            throws IOException {
        if (local.isUnresolved()) {
            throw NetErrors.unresolved(local);
        }
        Policy policy = Policy.current();
        Policy.Decision decision = policy.decide(wish, local);
        List<String> transports = decision.isAuto() ? all(policy) : List.of(decision.transport());
        prepare(transports, !decision.isAuto(), local, wishes.sizes());
        return open(decision, transports, local, wishes.sizes(),
                (end, transport, address) -> end.openOver(transport, address, backlog, wishes));
    }

    /** Takes a port of one transport. */
    @FunctionalInterface
    interface Opener {
        /**
         * Takes a port, 0 for a free one, with a listener that has not begun. Throws {@code BindException} "Address
         * already in use" if it is taken, another exception if this transport cannot listen there.
         */
        Listener open(Acceptor end, String transport, InetSocketAddress address) throws IOException;
    }

    /** Listens over some transports; with port 0, on a port that is free on all of them. */
    static Acceptor open(Policy.Decision decision, List<String> transports, InetSocketAddress local,
            StreamOptions sizes, Opener opener) throws IOException {
        for (int tries = 1;; tries++) {
            Acceptor end = new Acceptor(decision, local, sizes);
            boolean listening = false;
            try {
                end.listen(transports, opener);
                listening = true;
                if (LISTENING.isFirst(end.reason(end.others.kind()))) {
                    LOG.info("[{}] {}", end.localAddress(), end.reason());
                } else if (LOG.isDebugEnabled()) {
                    LOG.debug("[{}] {}", end.localAddress(), end.reason());
                }
                return end;
            } catch (BindException e) {
                if (local.getPort() != 0 || tries == MOST_TRIES) {
                    throw e;
                }
            } finally {
                if (!listening) {
                    end.close();
                }
            }
        }
    }

    /** Does what takes long before a port is held. If a transport is missing, its listen finds that out again. */
    private static void prepare(List<String> transports, boolean iwarp, InetSocketAddress local, StreamOptions sizes) {
        for (String transport : transports) {
            try {
                if (!transport.equals(Policy.TCP)) {
                    Engine.of(Providers.named(transport)).prepare(iwarp, local, sizes);
                }
            } catch (SocketException e) {
                LOG.debug("{} cannot be prepared", transport, e);
            }
        }
    }

    private static List<String> all(Policy policy) {
        List<String> all = new ArrayList<>();
        if (policy.fallback()) {
            all.add(Policy.TCP); // first: its free ports are the scarcest
        }
        Providers.all().stream().map(VerbsProvider::name).forEach(all::add);
        return all;
    }

    /** Takes all ports, and then listens, over TCP last: so TCP takes no client that another transport can serve. */
    private void listen(List<String> transports, Opener opener) throws IOException {
        InetSocketAddress next = local;
        for (String transport : transports) {
            try {
                listeners.add(opener.open(this, transport, next));
                next = new InetSocketAddress(local.getAddress(), listeners.getFirst().localAddress().getPort());
            } catch (IOException e) {
                leaveOut(transport, e);
            }
        }
        for (Listener listener : List.copyOf(listeners).reversed()) {
            try {
                if (listener.transport().equals(Policy.TCP) && listeners.size() > 1) {
                    LockSupport.parkNanos(HEAD_START_NANOS);
                }
                listener.start();
            } catch (IOException e) {
                leaveOut(listener.transport(), e);
                listeners.remove(listener);
                listener.close();
            }
        }
        if (listeners.isEmpty()) {
            throw new SocketException("Nothing can listen on " + local + ", and -D" + Policy.FALLBACK_PROPERTY
                    + "=never forbids TCP; " + others.text());
        }
    }

    private void leaveOut(String transport, IOException e) throws IOException {
        if (isFatal(transport, e)) {
            throw e;
        }
        others.add(transport, e.getMessage());
    }

    /** Whether a failure ends the listen: in {@code auto} a missing transport is left out, but not a taken port. */
    private boolean isFatal(String transport, IOException e) {
        return !decision.isAuto() || transport.equals(Policy.TCP)
                || e instanceof BindException && e.getMessage().startsWith("Address already in use");
    }

    private Listener openOver(String transport, InetSocketAddress address, int backlog, PendingOptions wishes)
            throws IOException {
        if (transport.equals(Policy.TCP)) {
            return TcpListener.open(address, backlog, wishes, accepted);
        }
        Engine engine = Engine.of(Providers.named(transport));
        return Binding.open(engine, !decision.isAuto(), address).listener(backlog, this::make, accepted);
    }

    private StreamTransport make(VerbsConnection connection, ConnectionParameters asked) throws IOException {
        return sizes.make(connection, asked);
    }

    /** The address as it was asked for, with the port in use. */
    public InetSocketAddress localAddress() {
        return new InetSocketAddress(local.getAddress(), listeners.getFirst().localAddress().getPort());
    }

    /** The transport that was asked for, or {@code auto}. */
    public String transport() {
        return decision.transport();
    }

    /** The transports that this listens on, those that it does not, and why. */
    public String reason() {
        return reason(others.text());
    }

    private String reason(String leftOut) {
        String over = "listens over " + String.join(", ", listeners.stream().map(Listener::transport).toList());
        if (!decision.isAuto()) {
            return over + " alone: " + decision.reason();
        }
        return others.isEmpty() ? over : over + "; left out: " + leftOut;
    }

    /** Takes the next connection as {@link AcceptQueue#accept}. Any number of threads may wait. */
    public Connection accept(long deadlineNanos) throws IOException {
        Connection connection = accepted.accept(deadlineNanos);
        try {
            connection.because(REASON);
            TransportStatistics.of(connection.transport()).acceptedOne();
            FlightEvents.accepted(connection.transport(), connection.localAddress(), connection.remoteAddress());
            boolean first = ACCEPTED.isFirst(connection.transport());
            if (first || LOG.isDebugEnabled()) {
                Object[] what = {connection.localAddress(), connection.remoteAddress(), connection.transport(),
                    connection.carrier()};
                if (first) {
                    LOG.info(ACCEPTED_OVER, what);
                } else {
                    LOG.debug(ACCEPTED_OVER, what);
                }
            }
            return connection;
        } catch (Throwable e) {
            connection.close(0); // an Error: no caller gets it, and its peer must not wait
            throw e;
        }
    }

    /** Changes the sizes of connections that come from now on. */
    public void options(StreamOptions options) {
        sizes = options;
    }

    /** Sets an option of {@code java.net}, to a value in its range, on every listener that knows it. */
    public <T> void setOption(SocketOption<T> name, T value) throws SocketException {
        for (Listener listener : listeners) {
            listener.setOption(name, value);
        }
    }

    /**
     * Stops listening, resets connections that were not accepted, and wakes all threads in {@link #accept}; the ports
     * are free when this returns.
     */
    @Override
    public void close() {
        accepted.close();
        listeners.forEach(Listener::close);
    }
}
