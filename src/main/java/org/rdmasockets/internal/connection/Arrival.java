package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.waiting.ConnectionRole;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;

/**
 * A connection request on its way to becoming a connection. It ends once: established, lost, or abandoned. Anything
 * thrown on the way, an {@code Error} too, ends this one alone.
 */
final class Arrival<P extends Protocol> implements ConnectionHandler {
    private static final Log LOG = new Log(Arrival.class);
    private static final LimitedLog LIMITED = new LimitedLog(LOG);
    /** The refusal of a peer for which there is no place: the beginning of the private data, which zeros may follow. */
    private static final byte[] NO_PLACE = "backlog is full".getBytes(StandardCharsets.US_ASCII);
    /** Any other refusal. */
    private static final byte[] NO_WORDS = {};

    private final VerbsListener<P> listener;
    private final Engine engine;
    private final ConnectionIdentifier identifier;
    private final ConnectionParameters request;
    private final long cameNanos = System.nanoTime();
    /** Whether it holds a place in the backlog; guarded by the listener. */
    boolean counted;
    /** Guarded by this, as is the hand-over of the connection to the thread that ends it. */
    private boolean ended;
    private final ConnectionEvents events;
    private final Runnable closing = this::close;
    /** The connection to be; set by the set-up pool before the request is accepted, guarded by this. */
    private P connection;
    /** Whether the request was accepted, or is about to be: only then does a disconnect follow a connection. */
    private volatile boolean answering;
    /** When the peer was answered, by {@code System.nanoTime}; 0 before. */
    private volatile long answeredNanos;
    /** Whether the handling of an event threw: then a tick of the listener discards this. */
    private volatile boolean broken;
    /** Whether the peer was told that it has to wait; poller thread only. */
    private boolean acknowledged;

    /** A request that was just received, and whose end is watched from now on. */
    Arrival(VerbsListener<P> listener, Engine engine, ConnectionEvent.ConnectRequest request) {
        this.listener = listener;
        this.engine = engine;
        events = new ConnectionEvents(engine.poller());
        this.identifier = request.identifier();
        this.request = request.parameters();
        identifier.handler(this);
    }

    /** Whether a peer was refused, by this class, only because no place was free. */
    static boolean isNoPlace(byte[] privateData) {
        return privateData.length >= NO_PLACE.length
                && Arrays.equals(privateData, 0, NO_PLACE.length, NO_PLACE, 0, NO_PLACE.length);
    }

    /** Poller thread: tells the peer, once, that its request is here and waits. */
    void acknowledge() {
        if (!acknowledged) {
            acknowledged = true;
            identifier.acknowledge();
        }
    }

    @Override
    public String toString() {
        return "connection from " + identifier.remoteAddress();
    }

    /** Whether the peer shares memory with this process: then this end hears of its death at once. */
    boolean isLocal() {
        Device device = identifier.device();
        return device != null && device.info().transport() == TransportType.SHARED_MEMORY;
    }

    /** Whether both come from one host. */
    boolean isOfSameHost(Arrival<P> other) {
        InetSocketAddress host = identifier.remoteAddress();
        InetSocketAddress otherHost = other.identifier.remoteAddress();
        return host != null && otherHost != null && host.getAddress().equals(otherHost.getAddress());
    }

    long ageNanos(long now) {
        return now - cameNanos;
    }

    /** How long the peer has left the answer unconfirmed, in nanoseconds; 0 before it has the answer. */
    long silentNanos(long now) {
        long since = answeredNanos;
        return since == 0 ? 0 : now - since;
    }

    /** Whether this cannot go on, and the caller has to {@link #discard} it. */
    boolean isBroken() {
        return broken;
    }

    /** Set-up pool: makes everything the connection needs and accepts it. */
    void accept(Protocol.Maker<P> maker) {
        boolean ownFault = false;
        try {
            P prepared = VerbsConnection.of(engine, identifier, events, maker, request);
            ownFault = true;
            prepared.connection().allocate(ConnectionRole.PASSIVE);
            if (!keep(prepared)) {
                prepared.connection().abort();
                return;
            }
            ownFault = false;
            answering = true;
            identifier.accept(answer(prepared.parameters()));
            answeredNanos = System.nanoTime() | 1;
            prepared.connection().shortenRetries();
        } catch (IOException e) {
            refuse(e, ownFault);
        } catch (Throwable e) {
            refuse(e, true);
        }
    }

    /** The answer's parameters: no more reads at once than the peer has asked for. */
    private ConnectionParameters answer(ConnectionParameters own) {
        boolean fits = own.responderResources() <= request.responderResources()
                && own.initiatorDepth() <= request.initiatorDepth();
        return fits ? own : new ConnectionParameters(own.privateData(),
                Math.min(own.responderResources(), request.responderResources()),
                Math.min(own.initiatorDepth(), request.initiatorDepth()), own.retryCount(),
                own.receiverNotReadyRetryCount());
    }

    /** Refuses the peer without a reason; a fault of this end is logged, now and then. */
    private void refuse(Throwable cause, boolean ownFault) {
        try {
            if (ownFault && !hasEnded()) {
                Object[] arguments = {identifier.localAddress(), identifier.remoteAddress(), cause.toString(), cause};
                LIMITED.warn("[{}<-{}] connection refused: {}",
                        cause instanceof IOException ? Arrays.copyOf(arguments, arguments.length - 1) : arguments);
            } else {
                LOG.debug("[{}<-{}] connection refused: {}", identifier.localAddress(), identifier.remoteAddress(),
                        cause.toString());
            }
        } finally {
            reject(NO_WORDS);
        }
    }

    /** Poller thread: events until the connection is established. */
    @Override
    public void onEvent(ConnectionIdentifier unused, ConnectionEvent event) {
        boolean done = false;
        try {
            // Only a peer that was connected can disconnect there: it wrote and closed, and its last step of the
            // handshake was lost on the way. Its bytes are here.
            boolean late = event instanceof ConnectionEvent.Disconnected && answering
                    && identifier.device().supports(Capability.COMPLETION_IS_DELIVERY);
            if (late || event instanceof ConnectionEvent.Established) {
                identifier.handler(events);
                if (late) {
                    events.onEvent(identifier, event);
                }
                listener.inOrder.execute(this::start);
            } else if (!(event instanceof ConnectionEvent.TimewaitExited)) {
                LOG.debug("[{}] connection lost while it was set up: {}", identifier.localAddress(), event);
                engine.perform(this::discard);
            }
            done = true;
        } finally {
            broken |= !done;
        }
    }

    /** Any thread that brings an event, one after another: the peer is connected. */
    private void start() {
        P connected = kept();
        boolean started = false;
        try {
            connected.connection().start(request.privateData(), true);
            started = true;
        } catch (IOException e) {
            LOG.debug("[{}] connection lost while it was set up: {}", identifier.localAddress(), e.getMessage());
        } catch (Throwable e) {
            LIMITED.warn("[{}<-{}] connection lost while it was set up", identifier.localAddress(),
                    identifier.remoteAddress(), e);
        } finally {
            if (!started) {
                discard();
            } else if (end()) {
                listener.onOutcome(this, connected);
            }
        }
    }

    /** Set-up pool: tells the peer that there is no place, unless the listener takes no more because it is closed. */
    void refuse() {
        reject(listener.isClosed() ? NO_WORDS : NO_PLACE);
    }

    private void reject(byte[] reason) {
        try {
            identifier.reject(reason);
        } catch (VerbsException e) {
            LOG.debug("[{}] {}", identifier.localAddress(), e.getMessage());
        } finally {
            discard();
        }
    }

    /**
     * Set-up pool: gives the connection up, however far it is. A peer that has gone without a word, or whose word was
     * lost, would otherwise keep it until the connection manager gives up, after a minute.
     */
    void discard() {
        if (!end()) {
            return;
        }
        try {
            LibraryThreads.insist(closing); // else the peer would wait
        } finally {
            listener.onOutcome(this, null);
        }
    }

    private void close() {
        P unwanted = kept();
        if (unwanted == null) {
            identifier.close();
        } else {
            unwanted.connection().abort();
        }
    }

    /** Notes the connection to be; false if it has come too late. */
    private synchronized boolean keep(P prepared) {
        if (!ended) {
            connection = prepared;
        }
        return !ended;
    }

    private synchronized P kept() {
        return connection;
    }

    private synchronized boolean hasEnded() {
        return ended;
    }

    /** True for the first caller. */
    private synchronized boolean end() {
        boolean first = !ended;
        ended = true;
        return first;
    }
}
