package org.rdmasockets.internal.sharedmemory;

import java.util.ArrayDeque;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.VerbsException;

/** A connection manager: a queue of events for its identifiers. */
final class SharedMemoryConnectionManager extends ReadySource implements ConnectionManager {
    /** An event that fails so often is given up: it is not memory that is missing. */
    private static final int MOST_FAILURES = 100;

    final SharedMemoryFabric fabric;
    private final boolean last;
    /** Guarded by itself. */
    private final ArrayDeque<Delivery> events = new ArrayDeque<>();
    /** How often the oldest event could not be delivered; the draining thread only. */
    private int failures;

    /** An event on its way to its identifier. */
    private record Delivery(SharedMemoryIdentifier identifier, ConnectionEvent event) {}

    /** A manager without identifiers; the close of the {@code last} ends the links of the provider. */
    SharedMemoryConnectionManager(SharedMemoryFabric fabric, boolean last) {
        this.fabric = fabric;
        this.last = last;
    }

    @Override
    public ConnectionIdentifier createIdentifier(ConnectionHandler handler) throws VerbsException {
        SharedMemoryErrors.requireOpen(!closed, "rdma_create_id", "connection manager");
        SharedMemoryIdentifier identifier = new SharedMemoryIdentifier(this);
        identifier.handler(handler);
        return identifier;
    }

    /** Adds an event; any thread. */
    void add(SharedMemoryIdentifier identifier, ConnectionEvent event) {
        synchronized (events) {
            events.add(new Delivery(identifier, event));
            ready = true;
        }
        signal();
    }

    /** An event at which an {@code Error} is thrown, perhaps for lack of memory, is delivered again later. */
    @Override
    public int drainEvents() {
        int drained = 0;
        Delivery delivery = oldest();
        while (delivery != null) {
            boolean delivered = false;
            try {
                delivery.identifier().deliver(delivery.event());
                delivered = true;
            } finally {
                failures = delivered ? 0 : failures + 1;
                if (delivered || failures >= MOST_FAILURES) {
                    failures = 0;
                    removeOldest();
                }
            }
            drained++;
            delivery = oldest();
        }
        return drained;
    }

    private Delivery oldest() {
        synchronized (events) {
            return closed ? null : events.peek();
        }
    }

    private void removeOldest() {
        synchronized (events) {
            events.poll();
            ready = !events.isEmpty();
        }
    }

    @Override
    public void close() {
        closed = true;
        if (last) {
            fabric.links.close();
        }
    }
}
