package org.rdmasockets.provider.sharedmemory;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Send queues whose oldest request fails unless the peer posts a receive in time. There is no thread for this: whoever
 * polls or waits looks here.
 */
final class Deadlines {
    /** How often waiting threads look while there is a deadline, in milliseconds. */
    static final int STEP_MILLIS = 5;

    private final Set<SendQueue> queues = ConcurrentHashMap.newKeySet();
    /** Whether there may be any; written after {@link #queues}. */
    private volatile boolean any;

    /** Nobody waits. */
    Deadlines() {
    }

    /** Takes a queue up. */
    synchronized void add(SendQueue queue) {
        queues.add(queue);
        any = true;
    }

    /** Whether somebody has to look from time to time; cheap. */
    boolean any() {
        return any;
    }

    /** Lets every queue look at its deadline, and forgets those that have none any more. No lock is held. */
    void expire() {
        for (SendQueue queue : queues) {
            queue.resume();
            queues.remove(queue);
            if (queue.hasDeadline()) {
                add(queue);
            }
        }
        synchronized (this) {
            any = !queues.isEmpty();
        }
    }
}
