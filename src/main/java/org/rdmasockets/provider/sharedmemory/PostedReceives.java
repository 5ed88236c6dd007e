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
    /** Null until a receive has one. */
    private Elements elements;
    private int head;
    private int size;

    /**
     * A ring of receives from {@link #head}: the elements of i begin at i * maxElements.
     *
     * @param regions where each element is
     * @param offsets where it begins there
     * @param lengths how long it is
     * @param counts how many elements each receive has
     */
    private record Elements(SharedMemoryRegion[] regions, long[] offsets, int[] lengths, int[] counts) {
        Elements(int receives, int most) {
            this(new SharedMemoryRegion[receives * most], new long[receives * most], new int[receives * most],
                    new int[receives]);
        }
    }

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
        int from = others.head * others.maxElements;
        int index = append(others.ids.remove(), count);
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
        int index = (head + size) % most;
        ids.add(id);
        if (elements == null && count > 0) {
            elements = new Elements(most, maxElements);
        }
        if (elements != null) {
            elements.counts[index] = count;
        }
        size++;
        return index;
    }

    /** How many elements the oldest has. */
    int elements() {
        return elements == null ? 0 : elements.counts[head];
    }

    /** The region of an element of the oldest; null if it belongs to another device. */
    SharedMemoryRegion region(int element) {
        return elements.regions[head * maxElements + element];
    }

    /** Where an element of the oldest begins in its region. */
    long offset(int element) {
        return elements.offsets[head * maxElements + element];
    }

    /** How long an element of the oldest is. */
    int length(int element) {
        return elements.lengths[head * maxElements + element];
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
        if (elements != null) {
            Arrays.fill(elements.regions, head * maxElements, (head + 1) * maxElements, null);
        }
        head = head + 1 == most ? 0 : head + 1;
        size--;
    }
}
