package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;

/** A handler that keeps the events of an identifier until a thread waits for them. */
final class ConnectionEvents implements ConnectionHandler {
    private static final long LIMIT_SECONDS = 30;

    private final BlockingQueue<ConnectionEvent> events = new LinkedBlockingQueue<>();
    /** Everything that ever came, for messages. */
    private final Queue<ConnectionEvent> all = new ConcurrentLinkedQueue<>();

    @Override
    public void onEvent(ConnectionIdentifier identifier, ConnectionEvent event) {
        all.add(event);
        events.add(event);
    }

    /** Waits for the next event, which has to be of the kind; a disconnect's echo may be passed over. */
    <T extends ConnectionEvent> T await(Class<T> kind) {
        try {
            ConnectionEvent event = events.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
            if (!kind.isInstance(event)) {
                return fail("waited for " + kind.getSimpleName() + ", got " + event + " of " + all);
            }
            return kind.cast(event);
        } catch (InterruptedException e) {
            return fail("interrupted while waiting for " + kind.getSimpleName(), e);
        }
    }

    /** How many events wait. */
    int waiting() {
        return events.size();
    }
}
