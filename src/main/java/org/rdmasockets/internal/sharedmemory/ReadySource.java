package org.rdmasockets.internal.sharedmemory;

import java.util.Arrays;
import org.rdmasockets.verbs.EventSource;

/**
 * An event source that is ready while it holds events. A thread that adds an event calls {@link #signal} afterwards,
 * which ends the wait of every poller that has this source.
 */
abstract class ReadySource implements EventSource {
    private static final SharedMemoryEventPoller[] NONE = {};

    /** The pollers to wake; replaced, never changed. Written under this monitor. */
    private volatile SharedMemoryEventPoller[] pollers = NONE;

    /** Whether events wait to be drained; any thread. */
    abstract boolean isReady();

    /** Whether close was called, so that pollers may drop this; any thread. */
    abstract boolean isClosed();

    /** Wakes the pollers that wait for this; after the event can be seen by {@link #isReady}. */
    final void signal() {
        for (SharedMemoryEventPoller poller : pollers) {
            poller.signal();
        }
    }

    /** Takes a poller up. */
    final synchronized void attach(SharedMemoryEventPoller poller) {
        SharedMemoryEventPoller[] more = Arrays.copyOf(pollers, pollers.length + 1);
        more[pollers.length] = poller;
        pollers = more;
    }

    /** Forgets a poller. */
    final synchronized void detach(SharedMemoryEventPoller poller) {
        pollers = Arrays.stream(pollers).filter(p -> p != poller).toArray(SharedMemoryEventPoller[]::new);
    }
}
