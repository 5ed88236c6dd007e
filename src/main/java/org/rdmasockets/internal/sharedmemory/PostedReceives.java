package org.rdmasockets.internal.sharedmemory;

import java.util.Arrays;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.ScatterGatherList;

/**
 * Receives in the order in which they were posted, by their identifiers, with the pieces of memory that each has.
 * Guarded by the lock of their owner. It makes arrays when they are first needed: most queues never have receives with
 * memory, their data comes with immediate data, elsewhere.
 */
final class PostedReceives extends IdQueue {
    final int most;
    final int maxElements;
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
        add(id);
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

    @Override
    long remove() {
        forgetOldest();
        return removeId();
    }

    /** Takes the oldest out but for its elements; its identifier. */
    private long removeId() {
        return super.remove();
    }

    private void forgetOldest() {
        if (elements != null) {
            Arrays.fill(elements.regions, first(), first() + maxElements, null);
            elements.head = elements.head + 1 == most ? 0 : elements.head + 1;
        }
        size--;
    }
}
