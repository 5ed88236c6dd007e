package org.rdmasockets.provider.sharedmemory;

import java.util.ArrayDeque;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.VerbsException;

/** A connection manager: a queue of events for its identifiers. */
final class SharedMemoryConnectionManager extends ReadySource implements ConnectionManager {
    private final SharedMemoryFabric fabric;
    private final boolean last;
    /** Guarded by itself. */
    private final ArrayDeque<Delivery> events = new ArrayDeque<>();
    /** Whether {@link #events} has any; written under its lock. */
    private volatile boolean ready;
    private volatile boolean closed;

    /** An event on its way to its identifier. */
    private record Delivery(SharedMemoryIdentifier identifier, ConnectionEvent event) {
    }

    /**
     * A manager without identifiers.
     *
     * @param fabric what all objects of the provider share
     * @param last whether its close ends the links of the provider
     */
    SharedMemoryConnectionManager(SharedMemoryFabric fabric, boolean last) {
        this.fabric = fabric;
        this.last = last;
    }

    /** What all objects of the provider share. */
    SharedMemoryFabric fabric() {
        return fabric;
    }

    @Override
    public ConnectionIdentifier createIdentifier(ConnectionHandler handler) throws VerbsException {
        if (closed) {
            throw Refusals.closed("rdma_create_id", "connection manager");
        }
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

    @Override
    public int drainEvents() {
        int drained = 0;
        Delivery delivery = next();
        while (delivery != null) {
            drained++;
            delivery.identifier().deliver(delivery.event());
            delivery = next();
        }
        return drained;
    }

    private Delivery next() {
        synchronized (events) {
            Delivery delivery = closed ? null : events.poll();
            ready = !events.isEmpty();
            return delivery;
        }
    }

    @Override
    boolean isReady() {
        return ready;
    }

    @Override
    boolean isClosed() {
        return closed;
    }

    @Override
    public void close() {
        closed = true;
        if (last) {
            fabric.links().close();
        }
    }
}
