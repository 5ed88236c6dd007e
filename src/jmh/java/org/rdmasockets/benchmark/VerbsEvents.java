package org.rdmasockets.benchmark;

import java.util.ArrayDeque;
import java.util.Queue;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** A connection manager without a thread of its own: the waiter for an event drains it. One thread at a time. */
final class VerbsEvents implements AutoCloseable {
    private static final int ROUND_MILLIS = 100;
    private static final int PATIENCE_ROUNDS = 300;

    private final ConnectionManager manager;
    private final EventPoller poller;

    VerbsEvents(VerbsProvider provider) throws VerbsException {
        poller = provider.createEventPoller();
        manager = provider.createConnectionManager();
        poller.add(manager);
    }

    /** The events of an identifier that await has not returned yet. */
    final class Mailbox implements ConnectionHandler {
        private final Queue<ConnectionEvent> events = new ArrayDeque<>();

        @Override
        public void onEvent(ConnectionIdentifier identifier, ConnectionEvent event) {
            events.add(event);
        }

        /** A new identifier, whose events come here. */
        ConnectionIdentifier identifier() throws VerbsException {
            return manager.createIdentifier(this);
        }

        /** Waits for an event as long as it takes, or until this is closed. */
        ConnectionEvent await() throws VerbsException {
            while (events.isEmpty()) {
                drain(ROUND_MILLIS);
            }
            return events.remove();
        }

        /** Waits for an event of a kind, which another end owes. */
        <T extends ConnectionEvent> T await(Class<T> kind) throws VerbsException {
            for (int i = 0; events.isEmpty() && i < PATIENCE_ROUNDS; i++) {
                drain(ROUND_MILLIS);
            }
            ConnectionEvent event = events.poll();
            if (!kind.isInstance(event)) {
                throw new IllegalStateException("waited for " + kind.getSimpleName() + ", got " + event);
            }
            return kind.cast(event);
        }

        /** Whether the connection has ended, without waiting. */
        boolean isDisconnected() throws VerbsException {
            drain(0);
            return events.stream().anyMatch(ConnectionEvent.Disconnected.class::isInstance);
        }
    }

    private void drain(int millis) throws VerbsException {
        poller.await(millis, this::take);
    }

    private void take(EventSource source) {
        try {
            manager.drainEvents();
        } catch (VerbsException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Ends a wait in progress with a {@link VerbsException}. */
    @Override
    public void close() {
        poller.close();
        manager.close();
    }
}
