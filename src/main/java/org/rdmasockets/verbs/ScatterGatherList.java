package org.rdmasockets.verbs;

import java.util.Objects;

/**
 * The pieces of registered memory that a request reads or fills ({@code struct ibv_sge} array), reusable.
 *
 * @since 0.1
 */
public final class ScatterGatherList {
    /** Of requests without memory; never changed. */
    static final ScatterGatherList NONE = new ScatterGatherList(0);

    private final long[] addresses;
    private final int[] lengths;
    private final int[] keys;
    private final MemoryRegion[] regions;
    private int count;

    private ScatterGatherList(int capacity) {
        addresses = new long[capacity];
        lengths = new int[capacity];
        keys = new int[capacity];
        regions = new MemoryRegion[capacity];
    }

    /** A list for at least one element, this one if it is. Many requests never have one. */
    ScatterGatherList withRoom(int capacity) {
        return this == NONE ? new ScatterGatherList(capacity) : this;
    }

    /** Forgets all elements. */
    void clear() {
        if (count > 0) { // or all connections would write to one object
            count = 0;
        }
    }

    /** Appends a piece of a region; refused when it leaves the region or there is no room. */
    void add(MemoryRegion region, long offsetBytes, int lengthBytes) {
        Objects.checkFromIndexSize(offsetBytes, lengthBytes, region.lengthBytes());
        Objects.checkIndex(count, addresses.length);
        addresses[count] = region.address() + offsetBytes;
        lengths[count] = lengthBytes;
        keys[count] = region.localKey();
        regions[count] = region;
        count++;
    }

    /** {@return the number of elements} */
    public int count() {
        return count;
    }

    /**
     * Where a piece begins.
     *
     * @param index 0 to {@link #count()} - 1
     * @return a virtual address of this process
     */
    public long address(int index) {
        return addresses[index];
    }

    /**
     * How long a piece is.
     *
     * @param index 0 to {@link #count()} - 1
     * @return the length in bytes
     */
    public int lengthBytes(int index) {
        return lengths[index];
    }

    /**
     * The key of a piece.
     *
     * @param index 0 to {@link #count()} - 1
     * @return {@code lkey}
     */
    public int key(int index) {
        return keys[index];
    }

    /**
     * The region of a piece, which keeps its memory reachable as long as the request is not filled anew.
     *
     * @param index 0 to {@link #count()} - 1
     * @return the region that was added
     */
    public MemoryRegion region(int index) {
        return regions[index];
    }

    /** {@return the sum of the lengths in bytes} */
    public long totalBytes() {
        long total = 0;
        for (int i = 0; i < count; i++) {
            total += lengths[i];
        }
        return total;
    }
}
