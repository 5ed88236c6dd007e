package org.rdmasockets.provider.sharedmemory;

import java.util.Arrays;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.ScatterGatherList;

/**
 * Receives in the order in which they were posted, with the pieces of memory that each has. Guarded by the lock of whom
 * they belong to. It makes arrays when they are first needed: most queues never have receives with memory, their data
 * comes with immediate data, elsewhere.
 */
final class PostedReceives {
    private final int most;
    private final int maxElements;
    /** Of all receives. */
    private final IdQueue ids = new IdQueue();
    /** A ring of receives from {@link #head}: the elements of i begin at i * maxElements. */
    private SharedMemoryRegion[] regions;
    private long[] offsets;
    private int[] lengths;
    /** How many elements each receive has; null, as the three before, until one has any. */
    private int[] counts;
    private int head;
    private int size;

    /**
     * None yet.
     *
     * @param most most receives
     * @param maxElements most elements of one
     */
    PostedReceives(int most, int maxElements) {
        this.most = most;
        this.maxElements = maxElements;
    }

    /** How many there are. */
    int size() {
        return size;
    }

    /** How many there can be. */
    int most() {
        return most;
    }

    /** How many elements one can have. */
    int maxElements() {
        return maxElements;
    }

    /** Appends one, which fits. */
    void add(ReceiveRequest request, long id) {
        ScatterGatherList elements = request.elements();
        int index = append(id, elements.count());
        for (int i = 0; i < elements.count(); i++) {
            int at = index * maxElements + i;
            regions[at] = elements.region(i) instanceof SharedMemoryRegion own ? own : null;
            offsets[at] = regions[at] == null ? 0 : elements.address(i) - regions[at].address();
            lengths[at] = elements.lengthBytes(i);
        }
    }

    /** Makes the oldest of others, which have as many elements at most, the newest here, where there is room. */
    void takeOldestOf(PostedReceives others) {
        int count = others.elements();
        int from = others.head * others.maxElements;
        int index = append(others.ids.remove(), count);
        for (int i = 0; i < count; i++) {
            int at = index * maxElements + i;
            regions[at] = others.regions[from + i];
            offsets[at] = others.offsets[from + i];
            lengths[at] = others.lengths[from + i];
        }
        others.forgetOldest();
    }

    /** Appends an identifier; the index of its elements, which there is room for. */
    private int append(long id, int elements) {
        int index = (head + size) % most;
        ids.add(id);
        if (counts == null && elements > 0) {
            counts = new int[most];
            regions = new SharedMemoryRegion[most * maxElements];
            offsets = new long[most * maxElements];
            lengths = new int[most * maxElements];
        }
        if (counts != null) {
            counts[index] = elements;
        }
        size++;
        return index;
    }

    /** How many elements the oldest has. */
    int elements() {
        return counts == null ? 0 : counts[head];
    }

    /** The region of an element of the oldest; null if it belongs to another device. */
    SharedMemoryRegion region(int element) {
        return regions[head * maxElements + element];
    }

    /** Where an element of the oldest begins in its region. */
    long offset(int element) {
        return offsets[head * maxElements + element];
    }

    /** How long an element of the oldest is. */
    int length(int element) {
        return lengths[head * maxElements + element];
    }

    /** How long all elements of the oldest are. */
    long capacity() {
        long capacity = 0;
        for (int i = 0; i < elements(); i++) {
            capacity += length(i);
        }
        return capacity;
    }

    /** Takes the oldest out; its identifier. */
    long remove() {
        long id = ids.remove();
        forgetOldest();
        return id;
    }

    private void forgetOldest() {
        if (counts != null) {
            Arrays.fill(regions, head * maxElements, (head + 1) * maxElements, null);
        }
        head = head + 1 == most ? 0 : head + 1;
        size--;
    }
}
