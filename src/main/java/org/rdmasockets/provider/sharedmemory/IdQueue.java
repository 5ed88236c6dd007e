package org.rdmasockets.provider.sharedmemory;

import java.util.Arrays;

/**
 * Identifiers of work requests in the order in which they came. Receives mostly have consecutive ones, so what is kept
 * is runs of these: an idle connection takes no room for each receive that waits. Not for several threads at once.
 */
final class IdQueue {
    /** Who posts its receives in turn has the rest of one turn here, and the beginning of the next; a power of two. */
    private static final int FIRST_RUNS = 2;

    /** A ring of runs from {@link #head}: what is left of each begins with this. */
    private long[] firsts = new long[FIRST_RUNS];
    /** How many are left of each. */
    private int[] lengths = new int[FIRST_RUNS];
    private int head;
    private int runs;

    /** Nothing is in it. */
    IdQueue() {
    }

    /** Appends one. Allocates only where there are more runs than ever before. */
    void add(long id) {
        int last = at(runs - 1);
        if (runs > 0 && firsts[last] + lengths[last] == id) {
            lengths[last]++;
            return;
        }
        if (runs == firsts.length) {
            grow();
        }
        int next = at(runs);
        firsts[next] = id;
        lengths[next] = 1;
        runs++;
    }

    /** Takes the oldest out; there must be one. */
    long remove() {
        long id = firsts[head]++;
        if (--lengths[head] == 0) {
            head = at(1);
            runs--;
        }
        return id;
    }

    private int at(int run) {
        return head + run & firsts.length - 1;
    }

    /** Doubles the room of a full ring. */
    private void grow() {
        int all = firsts.length;
        firsts = Arrays.copyOf(firsts, 2 * all);
        lengths = Arrays.copyOf(lengths, 2 * all);
        System.arraycopy(firsts, 0, firsts, all, head);
        System.arraycopy(lengths, 0, lengths, all, head);
    }
}
