package org.rdmasockets.internal.sharedmemory;

import java.util.Arrays;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.ScatterGatherList;

/**
 * Receives in the order in which they were posted, by their identifiers, with the pieces of memory that each has.
 * Guarded by the lock of their owner.
 *
 * <p>Receives mostly have consecutive identifiers, so what is kept is a ring of runs of these: an idle connection takes
 * no room for each receive that waits. Arrays for the pieces are made when they are first needed: most queues never
 * have receives with memory, their data comes with immediate data, elsewhere.
 */
final class PostedReceives {
    /** A queue pair that posts its receives in turn has the rest of one turn and the beginning of the next. */
    private static final int FIRST_RUNS = 2;

    final int most;
    final int maxElements;
    /** The first identifier of each run, and its length after it; as many runs as a power of two. */
    private long[] runs = new long[2 * FIRST_RUNS];
    /** The oldest run, and how many there are. */
    private int oldestRun;
    private int runCount;
    /** Null until a receive has one. */
    private Elements elements;
    private int size;

    /** A ring of receives from {@link #head}: the elements of i begin at i * maxElements. */
    private static final class Elements {
        /** Where each element is. */
        private final SharedMemoryRegion[] regions;
        /** Where it begins there. */
        private final long[] offsets;
        /** How long it is. */
        private final int[] lengths;
        /** How many elements each receive has. */
        private final int[] counts;
        private int head;

        Elements(int receives, int most) {
            regions = new SharedMemoryRegion[receives * most];
            offsets = new long[receives * most];
            lengths = new int[receives * most];
            counts = new int[receives];
        }
    }

    PostedReceives(int most, int maxElements) {
        this.most = most;
        this.maxElements = maxElements;
    }

    /** How many there are. */
    int size() {
        return size;
    }

    /** Appends one, which fits. */
    void add(ReceiveRequest request, long id) {
        ScatterGatherList pieces = request.elements();
        int index = append(id, pieces.count());
        for (int i = 0; i < pieces.count(); i++) {
            int at = index * maxElements + i;
            SharedMemoryRegion region = pieces.region(i) instanceof SharedMemoryRegion own ? own : null;
            elements.regions[at] = region;
            elements.offsets[at] = region == null ? 0 : pieces.address(i) - region.address();
            elements.lengths[at] = pieces.lengthBytes(i);
        }
    }

    /** Makes the oldest of others, which have as many elements at most, the newest here, where there is room. */
    void takeOldestOf(PostedReceives others) {
        int count = others.elements();
        int from = count == 0 ? 0 : others.first();
        int index = append(others.removeId(), count);
        for (int i = 0; i < count; i++) {
            int at = index * maxElements + i;
            elements.regions[at] = others.elements.regions[from + i];
            elements.offsets[at] = others.elements.offsets[from + i];
            elements.lengths[at] = others.elements.lengths[from + i];
        }
        others.forgetOldest();
    }

    /** Appends an identifier; the index of its elements, which there is room for. */
    private int append(long id, int count) {
        addId(id);
        if (elements == null && count > 0) {
            elements = new Elements(most, maxElements);
        }
        int index = 0;
        if (elements != null) {
            index = (elements.head + size) % most;
            elements.counts[index] = count;
        }
        size++;
        return index;
    }

    /** How many elements the oldest has. */
    int elements() {
        return elements == null ? 0 : elements.counts[elements.head];
    }

    /** The region of an element of the oldest; null if it belongs to another device. */
    SharedMemoryRegion region(int element) {
        return elements.regions[first() + element];
    }

    /** Where an element of the oldest begins in its region. */
    long offset(int element) {
        return elements.offsets[first() + element];
    }

    /** How long an element of the oldest is. */
    int length(int element) {
        return elements.lengths[first() + element];
    }

    /** How long all elements of the oldest are. */
    long capacity() {
        long capacity = 0;
        for (int i = 0; i < elements(); i++) {
            capacity += length(i);
        }
        return capacity;
    }

    /** Where the elements of the oldest begin. */
    private int first() {
        return elements.head * maxElements;
    }

    /** Takes the oldest out, of which there must be one: its identifier. */
    long remove() {
        forgetOldest();
        return removeId();
    }

    /** Where a run begins in the array. */
    private int at(int run) {
        return 2 * (oldestRun + run) & runs.length - 1;
    }

    /** Allocates only where there are more runs than ever before. */
    private void addId(long id) {
        int last = at(runCount - 1);
        if (runCount > 0 && runs[last] + runs[last + 1] == id) {
            runs[last + 1]++;
            return;
        }
        if (2 * runCount == runs.length) {
            doubleRuns();
        }
        runs[at(runCount)] = id;
        runs[at(runCount) + 1] = 1;
        runCount++;
    }

    private void doubleRuns() {
        int all = runs.length;
        runs = Arrays.copyOf(runs, 2 * all);
        System.arraycopy(runs, 0, runs, all, 2 * oldestRun);
    }

    /** Takes the oldest identifier out, but not its elements. */
    private long removeId() {
        int oldest = at(0);
        long id = runs[oldest]++;
        if (--runs[oldest + 1] == 0) {
            oldestRun = at(1) / 2;
            runCount--;
        }
        return id;
    }

    private void forgetOldest() {
        if (elements != null) {
            Arrays.fill(elements.regions, first(), first() + maxElements, null);
            elements.head = elements.head + 1 == most ? 0 : elements.head + 1;
        }
        size--;
    }
}
