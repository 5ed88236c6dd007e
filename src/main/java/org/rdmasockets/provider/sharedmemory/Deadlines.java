package org.rdmasockets.provider.sharedmemory;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Who waits for something until a deadline: a send for a receive, an identifier for another process. There is no thread
 * for this: whoever polls or waits looks here.
 */
final class Deadlines {
    /** How often waiting threads look while there is a deadline, in milliseconds. */
    static final int STEP_MILLIS = 5;

    private final Set<Expiring> waiting = ConcurrentHashMap.newKeySet();
    /** Whether there may be any; written after {@link #waiting}. */
    private volatile boolean any;

    /** Takes somebody up. */
    synchronized void add(Expiring one) {
        waiting.add(one);
        any = true;
    }

    /** Whether somebody has to look from time to time; cheap. */
    boolean any() {
        return any;
    }

    /** Lets everybody look at the clock, and forgets those that have none any more. No lock is held. */
    void expire() {
        for (Expiring one : waiting) {
            try {
                one.lookAtDeadline();
            } catch (Error e) { // no memory, say: it looks again in a moment, and the others do now
                continue;
            }
            // Who still waits stays where it is: taken out and put back, it could come again and again in this loop.
            if (!one.hasDeadline()) {
                waiting.remove(one);
                if (one.hasDeadline()) {
                    add(one); // since a moment ago
                }
            }
        }
        synchronized (this) {
            any = !waiting.isEmpty();
        }
    }

    /** Somebody in {@link Deadlines}. */
    interface Expiring {
        /** Gives up what has waited for too long; any thread, no lock held. */
        void lookAtDeadline();

        /** Whether there is still something to wait for; any thread. */
        boolean hasDeadline();
    }
}
