package org.rdmasockets.transport;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts connections as they come, up to the backlog, whether or not anybody calls {@link #accept} yet: the peer's
 * connect completes without the acceptor, as with TCP. Beyond the backlog connections are refused.
 */
public final class Listener implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Listener.class);
    private static final int DEFAULT_BACKLOG = 50;
    /** Most that {@code rdma_ucm} allows by default ({@code max_backlog}). */
    private static final int MAX_KERNEL_BACKLOG = 1024;

    private final Engine engine;
    /** One for each address that is listened on. */
    private final List<ConnectionIdentifier> identifiers;
    private final InetSocketAddress local;
    private final int backlog;
    /** Finished connections, and {@link #CLOSED} at the end. */
    private final LinkedBlockingQueue<Object> accepted = new LinkedBlockingQueue<>();
    /** Connections being set up or waiting in the queue. */
    private final AtomicInteger waiting = new AtomicInteger();
    /** Established connections reach the queue in the order of their handshakes, as with TCP. */
    private final Executor inOrder;
    private volatile StreamOptions options;
    private volatile boolean closed;
    /** What {@link #accept} says once closed; set before closed. */
    private volatile String reason = "Socket closed";

    private static final Object CLOSED = new Object();

    private Listener(Engine engine, List<ConnectionIdentifier> identifiers, InetSocketAddress local, int backlog,
            StreamOptions options) {
        this.engine = engine;
        this.identifiers = identifiers;
        this.local = local;
        this.backlog = backlog;
        this.options = options;
        inOrder = new InOrder(engine.setupPool()::execute);
    }

    /** Begins to listen; the identifiers are the listener's from here, whatever the outcome. */
    static Listener start(Engine engine, List<ConnectionIdentifier> identifiers, InetSocketAddress local,
            int backlog, StreamOptions options) throws IOException {
        int size = backlog < 1 ? DEFAULT_BACKLOG : backlog;
        Listener listener = new Listener(engine, identifiers, local, size, options);
        boolean listening = false;
        try {
            for (ConnectionIdentifier identifier : identifiers) {
                identifier.handler(listener::onEvent);
                identifier.listen(Math.min(size, MAX_KERNEL_BACKLOG));
            }
            listening = true;
            return listener;
        } catch (VerbsException e) {
            throw NetErrors.bindFailed(local, e);
        } finally {
            if (!listening) {
                listener.close();
            }
        }
    }

    /** Poller thread. */
    private void onEvent(ConnectionIdentifier listening, ConnectionEvent event) {
        switch (event) {
            case ConnectionEvent.ConnectRequest request -> {
                Arrival arrival = new Arrival(engine, request, inOrder, this::onOutcome);
                if (waiting.incrementAndGet() <= backlog && !closed) {
                    engine.setupPool().execute(() -> arrival.accept(options));
                } else {
                    LOG.debug("[{}] connection refused: {}", local, closed ? "closed" : "backlog is full");
                    engine.setupPool().execute(arrival::refuse);
                }
            }
            case ConnectionEvent.DeviceRemoved removed -> {
                String device = listening.device() == null ? "" : " " + listening.device().info().name();
                LOG.warn("[{}] RDMA device{} was removed; the listener ends", local, device);
                reason = "RDMA device" + device + " was removed";
                if (stop()) {
                    identifiers.forEach(identifier -> engine.setupPool().execute(identifier::close));
                }
            }
            default -> LOG.debug("[{}] {}", local, event);
        }
    }

    /** Set-up pool: a request became a connection, or null. */
    private void onOutcome(StreamTransport transport) {
        if (transport == null) {
            waiting.decrementAndGet();
            return;
        }
        accepted.add(transport);
        if (closed) {
            discardAll();
        }
    }

    /**
     * The address listened on.
     *
     * @return as it was bound
     */
    public InetSocketAddress localAddress() {
        return local;
    }

    /**
     * Changes the sizes of connections that come from now on.
     *
     * @param newOptions the sizes
     */
    public void options(StreamOptions newOptions) {
        options = newOptions;
    }

    /**
     * Takes the next connection, waiting for one if need be. Any number of threads may wait.
     *
     * @param deadlineNanos end of the wait by {@code System.nanoTime}, {@code Long.MAX_VALUE} for none
     * @return a connection
     * @throws IOException {@code SocketTimeoutException} at the deadline, {@code InterruptedIOException} if this
     *         virtual thread was interrupted (status left set), {@code SocketException} when the listener is closed
     */
    public StreamTransport accept(long deadlineNanos) throws IOException {
        Object next = closed ? CLOSED
                : Patience.await(nanos -> accepted.poll(nanos, TimeUnit.NANOSECONDS), deadlineNanos);
        if (next instanceof StreamTransport transport) {
            waiting.decrementAndGet();
            return transport;
        }
        if (next == null) {
            throw new SocketTimeoutException("Accept timed out");
        }
        accepted.add(CLOSED); // for the next one who waits
        throw new SocketException(reason);
    }

    private void discardAll() {
        for (Object next = accepted.poll(); next != null; next = accepted.poll()) {
            if (next instanceof StreamTransport transport) {
                transport.close(0);
            }
        }
        accepted.add(CLOSED);
    }

    /**
     * Stops listening, resets connections that nobody took and wakes everybody in {@link #accept}. The port is free
     * when this returns, which takes a moment.
     */
    @Override
    public void close() {
        if (stop()) {
            identifiers.forEach(engine::release);
        }
    }

    /** Stops accepting; true for the first caller, who then gives the port back. */
    private boolean stop() {
        synchronized (accepted) {
            if (closed) {
                return false;
            }
            closed = true;
        }
        discardAll();
        return true;
    }
}
