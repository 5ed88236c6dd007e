package org.rdmasockets.transport;

import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.rdmasockets.completion.Side;
import org.rdmasockets.log.LimitedLog;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A connection request on its way to becoming a connection. It ends once: established, lost, or abandoned. */
final class Arrival<C extends VerbsConnection> {
    private static final Logger LOG = LoggerFactory.getLogger(Arrival.class);
    private static final LimitedLog LIMITED = new LimitedLog(LOG);

    /** At most one warning in so long: peers must not be able to flood the log. */
    private static final long WARNING_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final AtomicLong LAST_WARNING = new AtomicLong(System.nanoTime() - 2 * WARNING_NANOS);

    private final Engine engine;
    private final ConnectionIdentifier identifier;
    private final ConnectionParameters request;
    /** Runs what follows the handshake. */
    private final Executor established;
    /** Told of the connection, or of null when there will be none; called once. */
    private final BiConsumer<Arrival<C>, C> outcome;
    /** Guards the hand-over of the connection to who ends it. */
    private final Object lock = new Object();
    /** Guarded by lock. */
    private boolean ended;
    private final ConnectionEvents events = new ConnectionEvents();
    /** The connection to be; set by the set-up pool before the request is accepted, guarded by lock. */
    private C connection;

    /** A request that was just received. */
    Arrival(Engine engine, ConnectionEvent.ConnectRequest request, Executor established,
            BiConsumer<Arrival<C>, C> outcome) {
        this.engine = engine;
        this.identifier = request.identifier();
        this.request = request.parameters();
        this.established = established;
        this.outcome = outcome;
    }

    /**
     * Set-up pool: makes everything the connection needs and accepts it.
     *
     * @param maker makes the connection
     */
    void accept(VerbsConnection.Maker<C> maker) {
        try {
            maker.check(request.privateData());
        } catch (IOException e) {
            refuse(e, false);
            return;
        }
        C prepared;
        try {
            prepared = maker.make(engine, identifier, events, Side.PASSIVE, request);
        } catch (IOException | RuntimeException e) {
            refuse(e, !hasEnded());
            return;
        }
        if (!keep(prepared)) {
            prepared.abort();
            return;
        }
        try {
            identifier.handler((id, event) -> onEvent(event));
            identifier.accept(answer(prepared.parameters()));
        } catch (VerbsException e) {
            refuse(e, false);
        }
    }

    /** No more reads at once than the peer has asked for. */
    private ConnectionParameters answer(ConnectionParameters own) {
        return new ConnectionParameters(own.privateData(),
                Math.min(own.responderResources(), request.responderResources()),
                Math.min(own.initiatorDepth(), request.initiatorDepth()), own.retryCount(),
                own.receiverNotReadyRetryCount());
    }

    /** What this end lacks is for a person to see, now and then; the peer is only told no. */
    private void refuse(Exception cause, boolean ownFault) {
        long now = System.nanoTime();
        long last = LAST_WARNING.get();
        if (ownFault && now - last > WARNING_NANOS && LAST_WARNING.compareAndSet(last, now)) {
            LIMITED.warn("[{}<-{}] connection refused: {}", identifier.localAddress(), identifier.remoteAddress(),
                    cause.toString());
        } else {
            LOG.debug("[{}<-{}] connection refused: {}", identifier.localAddress(), identifier.remoteAddress(),
                    cause.toString());
        }
        refuse();
    }

    /** Poller thread: events until the connection is established. */
    private void onEvent(ConnectionEvent event) {
        switch (event) {
            case ConnectionEvent.Established news -> {
                identifier.handler(events);
                established.execute(this::start);
            }
            case ConnectionEvent.Disconnected gone when identifier.device().supports(
                    Capability.COMPLETION_IS_DELIVERY) -> {
                // Only who was connected can disconnect there: it wrote and closed, and its last step of the handshake
                // was lost on the way. What it wrote is here.
                identifier.handler(events);
                events.onEvent(identifier, event);
                established.execute(this::start);
            }
            case ConnectionEvent.TimewaitExited exited -> {
            }
            default -> {
                LOG.debug("[{}] connection lost while it was set up: {}", identifier.localAddress(), event);
                engine.perform(this::discard);
            }
        }
    }

    /** Set-up pool: the peer is connected. */
    private void start() {
        C connected = kept();
        try {
            connected.start(request.privateData(), true);
            if (end()) {
                outcome.accept(this, connected);
            }
        } catch (IOException e) {
            LOG.debug("[{}] connection lost while it was set up: {}", identifier.localAddress(), e.getMessage());
            discard();
        }
    }

    /** Set-up pool: tells the peer no. */
    void refuse() {
        try {
            identifier.reject(new byte[0]);
        } catch (VerbsException e) {
            LOG.debug("[{}] {}", identifier.localAddress(), e.getMessage());
        }
        discard();
    }

    /**
     * Set-up pool: nobody wants the connection, however far it is. A peer that has gone without a word, or whose word
     * was lost, would otherwise keep it until the connection manager gives up, after a minute.
     */
    void discard() {
        if (end()) {
            C unwanted = kept();
            if (unwanted == null) {
                identifier.close();
            } else {
                unwanted.abort();
            }
            outcome.accept(this, null);
        }
    }

    /** Notes the connection to be; false if it has come too late. */
    private boolean keep(C prepared) {
        synchronized (lock) {
            if (!ended) {
                connection = prepared;
            }
            return !ended;
        }
    }

    private C kept() {
        synchronized (lock) {
            return connection;
        }
    }

    private boolean hasEnded() {
        synchronized (lock) {
            return ended;
        }
    }

    /** True for the first caller. */
    private boolean end() {
        synchronized (lock) {
            boolean first = !ended;
            ended = true;
            return first;
        }
    }
}
