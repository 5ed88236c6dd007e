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
    /** Whether events wait to be drained; written under the lock of the events. */
    volatile boolean ready;
    /** Whether close was called, so that pollers may drop this. */
    volatile boolean closed;

    /** Wakes the pollers that wait for this; after {@link #ready} was set. */
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
