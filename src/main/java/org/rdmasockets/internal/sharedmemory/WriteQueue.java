package org.rdmasockets.internal.sharedmemory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.rdmasockets.internal.lock.PaddedLock;

/**
 * Writes with immediate data that senders of this process made to queue pairs of one completion queue: the thread that
 * polls it takes them in. So sender and receiver share no memory that either writes for each message, but the entry: to
 * move a cache line between processors costs more than all else that a message takes.
 *
 * <p>A ring of entries for which senders have found a receive. The first word of an entry has its number, counted from
 * the beginning, so that a reader needs to look at nothing else. Words that different processors write are
 * {@link #APART}.
 *
 * <p>While the completion queue is armed, perhaps no thread polls it, so senders fill the receives themselves: they
 * look at the flag once more after they have left an entry, and a thread that arms takes in what was left before.
 *
 * <p>Two locks: a reader takes the monitor {@link #reading} and under it that of a receive queue; a sender that leaves
 * an entry has {@link #lock}, under which nothing waits. {@link #forget} alone takes both, in this order.
 */
final class WriteQueue {
    private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int CAPACITY = 256;
    private static final int ENTRY_WORDS = 2;
    /** Two lines of memory, as words: a processor often takes the neighbour as well. */
    private static final int APART = 16;
    /** Whether the completion queue is armed; an index of {@link #words}, as all that follow. */
    private static final int ARMED = APART;
    /** How many entries were taken in; written by readers. */
    private static final int HEAD = 2 * APART;
    /** How many entries were left, and the head as it was looked at last; for senders. */
    private static final int TAIL = 3 * APART;
    private static final int SEEN_HEAD = TAIL + 1;
    /** Where the entries begin. The first word: number of the entry, from 1, above the length; the other: immediate. */
    private static final int ENTRIES = 4 * APART;

    private final long[] words = new long[ENTRIES + CAPACITY * ENTRY_WORDS + APART];
    /** The receive queue that each entry is for; seldom changed if few connections are busy. */
    private final ReceiveQueue[] targets = new ReceiveQueue[CAPACITY + 2 * APART];
    /** The monitor of readers, with nothing next to it. */
    private final long[] reading = new long[APART];
    /** The lock of senders. */
    private final PaddedLock writing = new PaddedLock();

    WriteQueue() {
        this(0);
    }

    /** An empty queue, for tests, whose first entry has this number: none within a lap below a multiple of 2^32. */
    WriteQueue(long first) {
        words[HEAD] = first;
        words[TAIL] = first;
        words[SEEN_HEAD] = first;
    }

    /** Whether the completion queue is armed, as far as is known since the last fence or lock. */
    boolean isArmed() {
        boolean armed = words[ARMED] != 0;
        VarHandle.acquireFence(); // the next look reads it anew
        return armed;
    }

    /** Says whether the completion queue is armed. */
    void armed(boolean now) {
        WORD.setVolatile(words, ARMED, now ? 1L : 0L);
    }

    /** Waits for the other senders, each of which has the lock for a message. */
    void lock() {
        writing.lock();
    }

    /** Ends that. */
    void unlock() {
        writing.unlock();
    }

    /**
     * Waits for the sender that has the lock now: its entry is then found, and later senders see what the caller has
     * set.
     */
    void awaitSender() {
        lock();
        unlock();
    }

    /**
     * Leaves an entry for a receive of the target; the caller has the lock, and has promised the receive to no other
     * entry. Gives the number of the entry, for {@link #isTaken}, or -1 if there is no room.
     */
    long leave(ReceiveQueue target, int length, int immediate) {
        long tail = words[TAIL];
        if (tail - words[SEEN_HEAD] == CAPACITY) {
            words[SEEN_HEAD] = (long) WORD.getAcquire(words, HEAD);
            if (tail - words[SEEN_HEAD] == CAPACITY) {
                return -1;
            }
        }
        int slot = slot(tail);
        if (targets[slot] != target) {
            targets[slot] = target;
        }
        words[at(tail) + 1] = immediate;
        WORD.setRelease(words, at(tail), firstWord(tail) | length);
        words[TAIL] = tail + 1;
        return tail;
    }

    private static long firstWord(long entry) {
        return entry + 1 << Integer.SIZE;
    }

    /** Whether an entry was taken in. */
    boolean isTaken(long entry) {
        return (long) WORD.getAcquire(words, HEAD) > entry;
    }

    /** Whether there is nothing to take in; a hint, without a lock. */
    boolean isEmpty() {
        long head = words[HEAD];
        long first = words[at(head)];
        VarHandle.acquireFence(); // the next look reads both anew
        return !isThere(first, head);
    }

    private static int slot(long entry) {
        return (int) (entry % CAPACITY);
    }

    private static int at(long entry) {
        return ENTRIES + slot(entry) * ENTRY_WORDS;
    }

    private static boolean isThere(long firstWord, long entry) {
        return firstWord >>> Integer.SIZE == firstWord(entry) >>> Integer.SIZE;
    }

    /**
     * Takes in what is there, and no more than the ring can hold. Waits for another thread that does so. True if the
     * completion queue was armed: then it has to be reported.
     */
    boolean takeIn() {
        boolean report = false;
        synchronized (reading) {
            long head = words[HEAD];
            for (long last = head + CAPACITY; head < last; head++) {
                long first = (long) WORD.getAcquire(words, at(head));
                if (!isThere(first, head)) {
                    break;
                }
                ReceiveQueue target = targets[slot(head)];
                int immediate = (int) words[at(head) + 1];
                try {
                    report |= target != null && target.arrived((int) first, immediate);
                } finally {
                    WORD.setRelease(words, HEAD, head + 1);
                }
            }
        }
        return report;
    }

    /** Forgets a receive queue that takes nothing any more. */
    void forget(ReceiveQueue gone) {
        synchronized (reading) {
            lock();
            try {
                Arrays.setAll(targets, i -> targets[i] == gone ? null : targets[i]);
            } finally {
                unlock();
            }
        }
    }
}
