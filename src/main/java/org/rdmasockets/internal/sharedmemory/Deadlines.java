package org.rdmasockets.internal.sharedmemory;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * The waits that end at a deadline: of a send for a receive, of an identifier for another process. They have no thread
 * of their own: pollers sleep until the nearest deadline at most, and each thread that polls looks here.
 *
 * <p>A nearer deadline wakes the pollers: a thread notes it and then looks whether a poller sleeps; a poller says that
 * it sleeps and then reads the nearest.
 */
final class Deadlines {
    /** Stands for no deadline. */
    static final long NEVER = Long.MAX_VALUE;
    /** How long after a look that failed for lack of memory the next one comes. */
    private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final List<SharedMemoryEventPoller> pollers = new CopyOnWriteArrayList<>();
    private final Set<Expiring> waiting = ConcurrentHashMap.newKeySet();
    /** No deadline is earlier, by nanoTime; may be too early. Written under this. */
    private volatile long nearest = NEVER;
    /** How often one was added; guarded by this. */
    private int added;

    /** Wakes a poller for a nearer deadline from now on. */
    void attach(SharedMemoryEventPoller poller) {
        pollers.add(poller);
    }

    /** Undoes {@link #attach}. */
    void detach(SharedMemoryEventPoller poller) {
        pollers.remove(poller);
    }

    /** Adds a wait; again if its deadline has become nearer. */
    void add(Expiring one, long deadlineNanos) {
        boolean nearer;
        synchronized (this) {
            waiting.add(one);
            added++;
            nearer = deadlineNanos < nearest;
            if (nearer) {
                nearest = deadlineNanos;
            }
        }
        if (nearer) {
            for (SharedMemoryEventPoller poller : pollers) {
                poller.signal();
            }
        }
    }

    /** Forgets a wait that is over; without this the next look does. */
    void remove(Expiring one) {
        waiting.remove(one);
    }

    /** When to look next at the latest, {@link #NEVER} if nothing waits. */
    long nearest() {
        return nearest;
    }

    /** Whether it is time for {@link #expire}; cheap while nothing waits. */
    boolean isDue() {
        long at = nearest;
        return at != NEVER && System.nanoTime() - at >= 0;
    }

    /** Calls {@link Expiring#lookAtDeadline} of every wait, and forgets those that are over. No lock is held. */
    void expire() {
        int seen;
        synchronized (this) {
            seen = added;
        }
        long next = NEVER;
        for (Expiring one : waiting) {
            next = Math.min(next, look(one));
        }
        synchronized (this) {
            if (added == seen) { // else the next look follows at once
                nearest = next;
            }
        }
    }

    private long look(Expiring one) {
        try {
            one.lookAtDeadline();
            if (one.deadline() == NEVER) {
                waiting.remove(one);
            }
            long deadline = one.deadline();
            if (deadline != NEVER) {
                waiting.add(one); // it may wait again since a moment ago
            }
            return deadline;
        } catch (Error e) { // perhaps no memory: this one is looked at again in a moment, and the others now
            return System.nanoTime() + AGAIN_NANOS;
        }
    }

    /** A wait that may be in {@link Deadlines}. */
    interface Expiring {
        /** Gives up what has waited for too long; any thread, no lock held. */
        void lookAtDeadline();

        /** When to look at it next, by nanoTime, {@link #NEVER} if it waits for nothing; any thread. */
        long deadline();
    }
}
