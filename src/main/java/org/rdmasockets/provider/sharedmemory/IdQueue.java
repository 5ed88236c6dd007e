package org.rdmasockets.provider.sharedmemory;

import java.util.Arrays;

/**
 * Identifiers of work requests in the order in which they came. Receives mostly have consecutive ones, so what is kept
 * is a ring of runs of these: an idle connection takes no room for each receive that waits. Not for several threads at
 * once.
 */
class IdQueue {
    /** Whoever posts its receives in turn has the rest of one turn and the beginning of the next. */
    private static final int FIRST_ROOM = 2;

    /** With what each run begins; as many as a power of two. */
    private long[] firsts = new long[FIRST_ROOM];
    private int[] lengths = new int[FIRST_ROOM];
    /** The oldest run, and how many there are. */
    private int head;
    private int count;

    private int at(int run) {
        return head + run & firsts.length - 1;
    }

    /** Appends one. Allocates only where there are more runs than ever before. */
    final void add(long id) {
        int last = at(count - 1);
        if (count > 0 && firsts[last] + lengths[last] == id) {
            lengths[last]++;
            return;
        }
        if (count == firsts.length) {
            grow();
        }
        firsts[at(count)] = id;
        lengths[at(count)] = 1;
        count++;
    }

    /** Takes the oldest out; there must be one. */
    long remove() {
        long id = firsts[head]++;
        if (--lengths[head] == 0) {
            head = at(1);
            count--;
        }
        return id;
    }

    /** Doubles the room of a full ring. */
    private void grow() {
        int all = firsts.length;
        long[] moreFirsts = Arrays.copyOf(firsts, 2 * all);
        lengths = Arrays.copyOf(lengths, 2 * all); // both or none
        firsts = moreFirsts;
        System.arraycopy(firsts, 0, firsts, all, head);
        System.arraycopy(lengths, 0, lengths, all, head);
    }
}
