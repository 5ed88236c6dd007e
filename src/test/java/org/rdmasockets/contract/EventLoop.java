package org.rdmasockets.contract;

import java.util.concurrent.atomic.AtomicReference;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** A thread that drains one connection manager. */
public final class EventLoop implements AutoCloseable {
    private final ConnectionManager manager;
    private final EventPoller poller;
    private final Thread thread;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private volatile boolean open = true;

    /** Drains a manager of its own. */
    public EventLoop(VerbsProvider provider) throws VerbsException {
        manager = provider.createConnectionManager();
        poller = provider.createEventPoller();
        poller.add(manager);
        thread = Thread.ofPlatform().daemon().name("contract-events").start(this::run);
    }

    /** The connection manager that this drains. */
    public ConnectionManager manager() {
        return manager;
    }

    private void run() {
        try {
            while (open) {
                poller.await(-1, source -> drain());
            }
        } catch (Throwable t) {
            failure.compareAndSet(null, t);
        }
    }

    private void drain() {
        try {
            manager.drainEvents();
        } catch (VerbsException e) {
            failure.compareAndSet(null, e);
        }
    }

    /** Fails if the loop ended otherwise than by being closed. */
    @Override
    public void close() {
        open = false;
        poller.wakeup();
        try {
            thread.join(30_000);
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted while the event loop ends", e);
        }
        poller.remove(manager);
        poller.close();
        manager.close();
        if (thread.isAlive()) {
            throw new AssertionError("the event loop does not end");
        }
        if (failure.get() != null) {
            throw new AssertionError("the event loop failed", failure.get());
        }
    }
}
