package org.rdmasockets.internal.sharedmemory;

import java.util.Objects;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;

/**
 * Calls the handler of an identifier until it is closed. The handler is called without any lock. To be inherited from,
 * so that a connection has one object less.
 */
abstract class EventDelivery implements ConnectionIdentifier {
    private static final Log LOG = new Log(EventDelivery.class);
    private static final LimitedLog LIMITED = new LimitedLog(LOG);

    /** Guarded by this, as are the others. */
    private ConnectionHandler handler;
    /** The thread in the handler, or null. */
    private Thread dispatcher;
    /** No handler is called any more. */
    boolean closed;
    /** The handler takes an answer at once, from any thread. */
    boolean answersAtOnce;

    @Override
    public final synchronized void handler(ConnectionHandler newHandler) {
        handler = Objects.requireNonNull(newHandler);
    }

    /**
     * Gives an event to the handler; false if there is no handler, or this is closed. If the handler throws an
     * {@code Error}, it shall get the event again.
     */
    final boolean dispatch(ConnectionEvent event) {
        ConnectionHandler current;
        synchronized (this) {
            if (closed || handler == null) {
                return false;
            }
            current = handler;
            dispatcher = Thread.currentThread();
        }
        try {
            current.onEvent(this, event);
        } catch (RuntimeException e) {
            LIMITED.error("the handler of a connection must not throw: event {}", event, e);
        } finally {
            synchronized (this) {
                dispatcher = null;
                notifyAll();
            }
        }
        return true;
    }

    /**
     * Gives an answer to a handler that takes it at once, on any thread; false to leave it to the manager. The monitor
     * of this is held, so it is not closed meanwhile.
     */
    final boolean answerAtOnce(ConnectionEvent event) {
        assert Thread.holdsLock(this);
        boolean takes = answersAtOnce && !closed;
        if (takes) {
            handler.onEvent(this, event);
        }
        return takes;
    }

    /** Waits until no handler is called, but for one that asks for this itself. Keeps an interrupt. */
    final synchronized void awaitDispatched() {
        boolean interrupted = false;
        while (dispatcher != null && dispatcher != Thread.currentThread()) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
