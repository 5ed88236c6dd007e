package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.rdmasockets.transport.Patience;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where nodes of higher rank come in: each connects, and says which it is. Several are heard at once. Who does not say
 * it soon, or says what is not awaited, is hung up on and harms nobody. Any thread.
 */
final class NodeEntrance implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NodeEntrance.class);
    /** Longest silence of somebody who has connected. */
    private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** So many who have not said who they are may there be besides all nodes; then the first of them is hung up on. */
    private static final int MOST_STRANGERS = 16;

    private final RdmaEndpointServer server;
    private final long deadlineNanos;
    private final int mostUnheard;
    /** Those who have not been asked for, by rank; ended when they have come. */
    private final Map<Long, CompletableFuture<RdmaEndpoint>> awaited = new ConcurrentHashMap<>();
    /** Who has not said who he is; guarded by itself. */
    private final ArrayDeque<RdmaEndpoint> unheard = new ArrayDeque<>();

    /**
     * Opens it.
     *
     * @param server where they connect
     * @param rank of this node
     * @param size how many nodes there are
     * @param deadlineNanos end of all waits, by {@code System.nanoTime}
     */
    NodeEntrance(RdmaEndpointServer server, int rank, int size, long deadlineNanos) {
        this.server = server;
        this.deadlineNanos = deadlineNanos;
        mostUnheard = size + MOST_STRANGERS;
        for (long other = rank + 1; other < size; other++) {
            awaited.put(other, new CompletableFuture<>());
        }
        Thread.ofVirtual().name("rdma-node " + rank + " accept").start(this::acceptAll);
    }

    /** Until the server is closed. */
    private void acceptAll() {
        while (true) {
            try {
                RdmaEndpoint caller = new RdmaEndpoint(server.next(Long.MAX_VALUE));
                add(caller);
                Thread.ofVirtual().name("rdma-node hear " + caller).start(() -> hear(caller));
            } catch (IOException e) {
                awaited.values().forEach(one -> one.completeExceptionally(e));
                return;
            }
        }
    }

    private void add(RdmaEndpoint caller) {
        RdmaEndpoint first = null;
        synchronized (unheard) {
            unheard.add(caller);
            if (unheard.size() > mostUnheard) {
                first = unheard.poll();
            }
        }
        if (first != null) {
            first.link().abort(); // a stranger gets no time
        }
    }

    private void hear(RdmaEndpoint caller) {
        boolean known = false;
        try {
            long silent = Math.min(SILENCE_NANOS, Patience.remaining(deadlineNanos));
            CompletableFuture<RdmaEndpoint> node = awaited.get(
                    caller.calls().takeSignal(Deadlines.after(silent)).number());
            // Not among the strangers any more when somebody gets it: he may close this entrance at once.
            caller.link().accepted();
            known = take(caller) && node != null && node.complete(caller);
        } catch (IOException e) {
            LOG.debug("{}: {}", caller, e.toString());
        } finally {
            if (!known) {
                take(caller);
                caller.link().abort();
            }
        }
    }

    /** Takes a caller from the strangers; false if he was hung up on. */
    private boolean take(RdmaEndpoint caller) {
        synchronized (unheard) {
            return unheard.remove(caller);
        }
    }

    /** A node of higher rank that was not asked for yet. */
    CompletableFuture<RdmaEndpoint> awaited(int other) {
        return awaited.get((long) other);
    }

    /** Waits for a node of higher rank, whose endpoint is the caller's then. */
    RdmaEndpoint await(int other) throws IOException {
        CompletableFuture<RdmaEndpoint> node = awaited(other);
        if (Patience.await(nanos -> isThere(node, nanos), deadlineNanos) == null) {
            throw new SocketTimeoutException("node " + other + " has not connected in time");
        }
        if (node.isCompletedExceptionally()) {
            throw new IOException("no node can connect any more", node.exceptionNow());
        }
        awaited.remove((long) other);
        return node.resultNow();
    }

    private static Boolean isThere(CompletableFuture<RdmaEndpoint> node, long nanos) throws InterruptedException {
        try {
            node.get(nanos, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            return true;
        } catch (TimeoutException e) {
            return null;
        }
        return true;
    }

    /** Hangs up on all who were not awaited. */
    @Override
    public void close() {
        server.close();
        for (CompletableFuture<RdmaEndpoint> one : awaited.values()) {
            one.completeExceptionally(new IOException("the entrance is closed"));
            if (!one.isCompletedExceptionally()) {
                one.resultNow().close();
            }
        }
        synchronized (unheard) {
            unheard.forEach(RdmaEndpoint::close);
        }
    }
}
