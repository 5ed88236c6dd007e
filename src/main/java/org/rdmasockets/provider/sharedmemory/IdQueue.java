package org.rdmasockets.provider.sharedmemory;

import java.util.Arrays;

/**
 * Identifiers of work requests in the order in which they came. Receives mostly have consecutive ones, so what is kept
 * is runs of these: an idle connection takes no room for each receive that waits. Not for several threads at once.
 */
class IdQueue {
    /** The oldest run: who posts its receives in turn has the rest of one turn here; empty if all are. */
    private long first;
    private int length;
    /** The run after it: the beginning of the next turn; empty if there is none. */
    private long secondFirst;
    private int secondLength;
    /** All further runs; null if there were never any. */
    private Runs more;

    /** Nothing is in it. */
    IdQueue() {}

    /** Appends one. Allocates only where there are more runs than ever before. */
    final void add(long id) {
        if (secondLength == 0) {
            addToFirst(id);
        } else if (more != null && more.count > 0) {
            more.add(id);
        } else if (secondFirst + secondLength == id) {
            secondLength++;
        } else {
            more = more == null ? new Runs() : more;
            more.add(id);
        }
    }

    private void addToFirst(long id) {
        if (length == 0) {
            first = id;
            length = 1;
        } else if (first + length == id) {
            length++;
        } else {
            secondFirst = id;
            secondLength = 1;
        }
    }

    /** Takes the oldest out; there must be one. */
    long remove() {
        long id = first++;
        if (--length == 0) {
            first = secondFirst;
            length = secondLength;
            secondLength = 0;
            if (more != null && more.count > 0) {
                secondFirst = more.first();
                secondLength = more.removeFirst();
            }
        }
        return id;
    }

    /** A ring of runs. */
    private static final class Runs {
        /** A power of two. */
        private static final int FIRST_ROOM = 2;

        /** With what each run begins. */
        private long[] firsts = new long[FIRST_ROOM];
        private int[] lengths = new int[FIRST_ROOM];
        private int head;
        private int count;

        private int at(int run) {
            return head + run & firsts.length - 1;
        }

        void add(long id) {
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

        long first() {
            return firsts[head];
        }

        /** Takes the oldest out; its length. */
        int removeFirst() {
            int removed = lengths[head];
            head = at(1);
            count--;
            return removed;
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
}
