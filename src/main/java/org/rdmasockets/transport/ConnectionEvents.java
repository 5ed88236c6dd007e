package org.rdmasockets.transport;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;

/**
 * The connection manager's events of one connection: queued for whoever sets it up, and once that is done, its
 * end is told to the connection.
 */
final class ConnectionEvents implements ConnectionHandler {
    /** Events and the end of a wait ({@link #CANCELLED}), in order; null once there is nothing to wait for. */
    private volatile LinkedBlockingQueue<Object> steps = new LinkedBlockingQueue<>();
    /** Who is told of the connection's end; protected by this. */
    private VerbsConnection connection;

    /** Stands in the queue for "stop waiting". */
    static final Object CANCELLED = new Object();

    /** Nothing has happened yet. */
    ConnectionEvents() {
    }

    @Override
    public void onEvent(ConnectionIdentifier identifier, ConnectionEvent event) {
        VerbsConnection owner;
        synchronized (this) {
            owner = connection;
            if (owner == null) {
                steps.add(event);
                return;
            }
        }
        owner.onEvent(identifier, event);
    }

    /** Ends the wait of {@link #next}. */
    void cancel() {
        LinkedBlockingQueue<Object> waited = steps;
        if (waited != null) {
            waited.add(CANCELLED);
        }
    }

    /** Takes the next event, or {@link #CANCELLED}; null when the time is over. */
    Object next(long nanos) throws InterruptedException {
        return steps.poll(nanos, TimeUnit.NANOSECONDS);
    }

    /** Hands all further events, and those that nobody has taken yet, to the finished connection. */
    void attach(VerbsConnection owner) {
        synchronized (this) {
            connection = owner;
        }
        for (Object event = steps.poll(); event != null; event = steps.poll()) {
            if (event instanceof ConnectionEvent connectionEvent) {
                owner.onEvent(owner.identifier(), connectionEvent);
            }
        }
        steps = null;
    }
}
