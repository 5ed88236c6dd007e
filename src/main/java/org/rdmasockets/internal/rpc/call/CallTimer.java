package org.rdmasockets.internal.rpc.call;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.lock.LibraryThreads;

/**
 * Ends what takes too long, in one daemon thread of the process: calls whose deadline is over, and the turn of readers
 * whose method is not quick this time. It looks as each tick of a wheel begins, and between ticks at what is over by
 * then, a millisecond after the last look at the soonest; what comes and is over within a tick waits for the next one.
 * It parks when there is nothing to do.
 */
final class CallTimer {
    private static final CallTimer INSTANCE = new CallTimer();
    /** How long a reader may run a method before another reads. */
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /** One slot of the wheel. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(8);
    private static final int SLOTS = 256;
    /** After so many looks that found nothing it parks until it is woken. */
    private static final int IDLE_LOOKS = 200;

    /** Something that ends at a time. */
    static final class Entry {
        private final Runnable atEnd;
        private final long deadlineNanos;
        /** Its neighbours in a slot, guarded by the timer; null when it is in none. */
        private Entry previous;
        private Entry following;

        private Entry(Runnable atEnd, long deadlineNanos) {
            this.atEnd = atEnd;
            this.deadlineNanos = deadlineNanos;
        }

        /** Removes this: it has ended before. Idempotent. */
        void cancel() {
            INSTANCE.remove(this);
        }

        private void unlink() {
            previous.following = following;
            following.previous = previous;
            previous = null;
            following = null;
        }
    }

    /** Heads of circular lists; guarded by this. */
    private final Entry[] wheel = new Entry[SLOTS];
    private int entries;
    /** The last tick that was handled; its slot is looked at again. */
    private long lastTick;
    /** When the next look is due; the timer's thread only. */
    private long nextNanos;
    private final Set<ServerConnection> watched = ConcurrentHashMap.newKeySet();
    /** Whether it looks by itself; written before it looks once more and parks. */
    private volatile boolean awake;
    private Thread thread;

    private CallTimer() {
        for (int i = 0; i < SLOTS; i++) {
            wheel[i] = new Entry(null, 0);
            wheel[i].previous = wheel[i];
            wheel[i].following = wheel[i];
        }
    }

    /** Runs something at a time; it must not block. */
    static Entry at(long deadlineNanos, Runnable what) {
        Entry entry = new Entry(what, deadlineNanos);
        INSTANCE.add(entry);
        return entry;
    }

    /** Watches a connection whose reader may run methods, until {@link #forget}. */
    static void watch(ServerConnection connection) {
        INSTANCE.watched.add(connection);
    }

    /** Ends {@link #watch}. */
    static void forget(ServerConnection connection) {
        INSTANCE.watched.remove(connection);
    }

    /** A reader runs a method, and has noted that. */
    static void wake() {
        if (!INSTANCE.awake) {
            INSTANCE.start();
        }
    }

    private synchronized void add(Entry entry) {
        if (!awake) {
            start();
        }
        long now = System.nanoTime();
        if (entries++ == 0) {
            lastTick = Math.floorDiv(now, TICK_NANOS);
        }
        long tick = Math.max(lastTick, Math.floorDiv(entry.deadlineNanos, TICK_NANOS));
        Entry head = wheel[Math.floorMod(tick, SLOTS)];
        entry.previous = head.previous;
        entry.following = head;
        head.previous.following = entry;
        head.previous = entry;
    }

    private synchronized void remove(Entry entry) {
        if (entry.previous != null) {
            entry.unlink();
            entries--;
        }
    }

    private synchronized void start() {
        if (thread == null) {
            Runnable loop = this::run;
            Thread made = LibraryThreads.unstarted("rdma-rpc-timer",
                    LibraryThreads.insisting(loop, LibraryThreads::report));
            made.start(); // may fail: the next one tries again
            thread = made;
        }
        awake = true;
        LockSupport.unpark(thread);
    }

    private void run() {
        int idle = 0;
        while (true) {
            try {
                boolean running = look();
                idle = running | tick() ? 0 : idle + 1;
                if (idle < IDLE_LOOKS) {
                    LockSupport.parkNanos(this, running ? LOOK_NANOS : nextNanos - System.nanoTime());
                } else {
                    sleep();
                    idle = 0;
                }
            } catch (Throwable e) {
                // The failure is one call's; the timer serves all.
                LockSupport.parkNanos(this, LOOK_NANOS);
            }
        }
    }

    /** Parks until an entry is added or a reader runs a method, unless there is one already. */
    private void sleep() {
        awake = false; // before the last look: pairs with the write before wake
        boolean something;
        synchronized (this) {
            something = entries > 0;
        }
        if (something | look()) {
            awake = true;
            return;
        }
        while (!awake) {
            LockSupport.park(this);
        }
    }

    private boolean look() {
        boolean busy = false;
        for (ServerConnection connection : watched) {
            busy |= connection.look();
        }
        return busy;
    }

    /** Handles all that is due; true while anything waits. */
    private boolean tick() {
        long now = System.nanoTime();
        long end = Math.floorDiv(now, TICK_NANOS);
        nextNanos = (end + 1) * TICK_NANOS;
        Entry due = null;
        synchronized (this) {
            if (entries == 0) {
                return false;
            }
            for (long tick = Math.max(lastTick, end - SLOTS + 1); tick <= end; tick++) {
                Entry head = wheel[Math.floorMod(tick, SLOTS)];
                for (Entry entry = head.following; entry != head;) {
                    Entry following = entry.following;
                    if (entry.deadlineNanos - now <= 0) {
                        entry.unlink();
                        entries--;
                        entry.following = due; // not in the wheel: previous is null
                        due = entry;
                    } else if (entry.deadlineNanos - nextNanos < 0) {
                        nextNanos = entry.deadlineNanos;
                    }
                    entry = following;
                }
            }
            lastTick = Math.max(lastTick, end);
        }
        nextNanos = Math.max(nextNanos, now + LOOK_NANOS);
        while (due != null) {
            Entry entry = due;
            due = entry.following;
            runOne(entry);
        }
        return true;
    }

    private static void runOne(Entry entry) {
        try {
            entry.atEnd.run();
        } catch (RuntimeException | Error e) {
            // The others are due as well.
        }
    }
}
