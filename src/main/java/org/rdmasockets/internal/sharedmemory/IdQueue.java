package org.rdmasockets.internal.sharedmemory;

import java.util.Arrays;

/**
 * Identifiers of work requests in the order in which they came. Receives mostly have consecutive ones, so what is kept
 * is a ring of runs of these: an idle connection takes no room for each receive that waits. Not for several threads at
 * once.
 */
class IdQueue {
    /** A queue pair that posts its receives in turn has the rest of one turn and the beginning of the next. */
    private static final int FIRST_ROOM = 2;

    /** The first identifier of each run, and its length after it; as many runs as a power of two. */
    private long[] runs = new long[2 * FIRST_ROOM];
    /** The oldest run, and how many there are. */
    private int head;
    private int count;

    /** Where a run begins in the array. */
    private int at(int run) {
        return 2 * (head + run) & runs.length - 1;
    }

    /** Appends one. Allocates only where there are more runs than ever before. */
    final void add(long id) {
        int last = at(count - 1);
        if (count > 0 && runs[last] + runs[last + 1] == id) {
            runs[last + 1]++;
            return;
        }
        if (2 * count == runs.length) {
            grow();
        }
        runs[at(count)] = id;
        runs[at(count) + 1] = 1;
        count++;
    }

    /** Takes the oldest out; there must be one. */
    long remove() {
        int oldest = at(0);
        long id = runs[oldest]++;
        if (--runs[oldest + 1] == 0) {
            head = at(1) / 2;
            count--;
        }
        return id;
    }

    /** Doubles the room of a full ring. */
    private void grow() {
        int all = runs.length;
        runs = Arrays.copyOf(runs, 2 * all);
        System.arraycopy(runs, 0, runs, all, 2 * head);
    }
}
