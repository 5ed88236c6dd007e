package org.rdmasockets.transport;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts connections over RDMA as they come, up to the backlog, whether or not anybody takes them yet. Beyond the
 * backlog connections are refused.
 *
 * @param <C> what a connection is
 */
public final class VerbsListener<C extends VerbsConnection> implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(VerbsListener.class);
    private static final int DEFAULT_BACKLOG = 50;
    /** Most that {@code rdma_ucm} allows by default ({@code max_backlog}). */
    private static final int MAX_KERNEL_BACKLOG = 1024;

    private final Engine engine;
    /** One for each address that is listened on. */
    private final List<ConnectionIdentifier> identifiers;
    /** How many of them have a device. */
    private final AtomicInteger left;
    private final InetSocketAddress local;
    private final int backlog;
    /** Gets the finished connections. */
    private final AcceptQueue<? super C> accepted;
    /** Connections being set up or waiting in the queue. */
    private final AtomicInteger waiting = new AtomicInteger();
    /** Those of them that are being set up. */
    private final Set<Arrival<C>> arriving = ConcurrentHashMap.newKeySet();
    /** Established connections reach the queue in the order of their handshakes, as with TCP. */
    private final Executor inOrder;
    private final VerbsConnection.Maker<C> maker;
    private final AtomicBoolean closed = new AtomicBoolean();

    /** What a listener shall do: backlog below 1 means 50. */
    record Plan<C extends VerbsConnection>(InetSocketAddress local, int backlog, VerbsConnection.Maker<C> maker,
            AcceptQueue<? super C> accepted) {
    }

    private VerbsListener(Engine engine, List<ConnectionIdentifier> identifiers, Plan<C> plan) {
        this.engine = engine;
        this.identifiers = identifiers;
        left = new AtomicInteger(identifiers.size());
        local = plan.local;
        backlog = plan.backlog < 1 ? DEFAULT_BACKLOG : plan.backlog;
        maker = plan.maker;
        accepted = plan.accepted;
        inOrder = new InOrder(engine::perform);
    }

    /** Begins to listen; the identifiers are the listener's from here, whatever the outcome. */
    static <C extends VerbsConnection> VerbsListener<C> start(Engine engine, List<ConnectionIdentifier> identifiers,
            Plan<C> plan) throws IOException {
        VerbsListener<C> listener = new VerbsListener<>(engine, identifiers, plan);
        boolean listening = false;
        plan.accepted.join();
        try {
            for (ConnectionIdentifier identifier : identifiers) {
                identifier.handler(listener::onEvent);
                identifier.listen(Math.min(listener.backlog, MAX_KERNEL_BACKLOG));
            }
            listening = true;
            return listener;
        } catch (VerbsException e) {
            throw NetErrors.bindFailed(plan.local, e);
        } finally {
            if (!listening) {
                plan.accepted.withdraw();
                listener.close();
            }
        }
    }

    /** Poller thread. */
    private void onEvent(ConnectionIdentifier listening, ConnectionEvent event) {
        switch (event) {
            case ConnectionEvent.ConnectRequest request -> {
                Arrival<C> arrival = new Arrival<>(engine, request, inOrder, this::onOutcome);
                arriving.add(arrival);
                if (waiting.incrementAndGet() <= backlog && !closed.get()) {
                    engine.perform(() -> arrival.accept(maker));
                } else {
                    LOG.debug("[{}] connection refused: {}", local, closed.get() ? "closed" : "backlog is full");
                    engine.perform(arrival::refuse);
                }
            }
            case ConnectionEvent.DeviceRemoved removed -> {
                String device = listening.device() == null ? "" : " " + listening.device().info().name();
                engine.perform(listening::close);
                boolean last = left.decrementAndGet() == 0;
                LOG.warn("[{}] RDMA device{} was removed; the listener {}", local, device,
                        last ? "ends" : "goes on without it");
                if (last && stop()) {
                    accepted.leave("RDMA device" + device + " was removed");
                }
            }
            default -> LOG.debug("[{}] {}", local, event);
        }
    }

    /** Set-up pool: a request became a connection, or null. */
    private void onOutcome(Arrival<C> arrival, C connection) {
        arriving.remove(arrival);
        if (connection == null) {
            waiting.decrementAndGet();
        } else {
            accepted.add(connection, waiting::decrementAndGet);
        }
    }

    /**
     * The address listened on.
     *
     * @return as it was asked for, with the port in use
     */
    public InetSocketAddress localAddress() {
        return local;
    }

    /** Stops listening. The port is free when this returns, which takes a moment. */
    @Override
    public void close() {
        if (stop()) {
            identifiers.forEach(engine::release);
            arriving.forEach(arrival -> engine.perform(arrival::discard));
        }
    }

    /** Stops accepting; true for the first caller, who then gives the port back. */
    private boolean stop() {
        return closed.compareAndSet(false, true);
    }
}
