package org.rdmasockets.layers;

import java.util.ArrayDeque;
import java.util.Queue;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/** A process, as far as shared memory can tell: two of them in one JVM have a link. One thread. */
final class Host implements AutoCloseable {
    private static final int PATIENCE_MILLIS = 10_000;

    private final SharedMemoryProvider provider = new SharedMemoryProvider();
    private final EventPoller poller;
    private final ConnectionManager manager;
    private final Queue<ConnectionEvent> events = new ArrayDeque<>();

    /** A host without connections. */
    Host() throws VerbsException {
        poller = provider.createEventPoller();
        manager = provider.createConnectionManager();
        poller.add(manager);
    }

    /** The verbs of this host. */
    SharedMemoryProvider provider() {
        return provider;
    }

    /** A new identifier, whose events come here. */
    ConnectionIdentifier identifier() throws VerbsException {
        return manager.createIdentifier(handler());
    }

    /** A handler that keeps events until {@link #await}. */
    ConnectionHandler handler() {
        return (identifier, event) -> events.add(event);
    }

    /** Does what other hosts ask for, without waiting. */
    void serve() throws VerbsException {
        await(0);
    }

    private void await(int millis) throws VerbsException {
        poller.await(millis, this::drain);
    }

    private void drain(EventSource source) {
        try {
            manager.drainEvents();
        } catch (VerbsException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Waits for an event of a kind, while another host does its part. */
    <T extends ConnectionEvent> T await(Class<T> kind, Host other) throws VerbsException {
        for (int i = 0; i < PATIENCE_MILLIS; i++) {
            ConnectionEvent event = events.poll();
            if (event != null) {
                return kind.cast(event);
            }
            other.serve();
            await(1);
        }
        throw new IllegalStateException("no " + kind.getSimpleName());
    }

    @Override
    public void close() {
        manager.close();
        poller.close();
    }
}
