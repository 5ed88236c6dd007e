package org.rdmasockets.provider.sharedmemory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.Arrays;

/**
 * Key to memory region, for the requests of peers. A key is the index in a table and 8 bits that differ each time an
 * index is used again, so that a key of a closed region rarely names another; that it names one of another domain is
 * refused in any case.
 */
final class RegionTable {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(SharedMemoryRegion[].class);
    private static final int INDEX_SHIFT = 8;

    /** Index to region; entries are written under this monitor by release, read by acquire. */
    private volatile SharedMemoryRegion[] regions = new SharedMemoryRegion[64];
    /** The last key of each index; guarded by this. */
    private int[] keys = new int[64];
    /** Indexes given back; guarded by this. */
    private final ArrayDeque<Integer> free = new ArrayDeque<>();
    /** The first index never used; guarded by this. 0 is no index: a key of zero bits names nothing. */
    private int next = 1;

    /** Takes a region up and gives it its key; false if the table is full. */
    synchronized boolean add(SharedMemoryRegion region) {
        if (free.isEmpty() && next > SharedMemoryDevice.MAX_REGIONS) {
            return false;
        }
        int index = free.isEmpty() ? next++ : free.poll();
        if (index >= keys.length) {
            keys = Arrays.copyOf(keys, 2 * keys.length);
            regions = Arrays.copyOf(regions, keys.length);
        }
        int generation = keys[index] + 1 & (1 << INDEX_SHIFT) - 1;
        keys[index] = index << INDEX_SHIFT | generation;
        region.key(keys[index]);
        ELEMENT.setRelease(regions, index, region);
        return true;
    }

    /** Takes a region out: its key names nothing from now on. */
    synchronized void remove(SharedMemoryRegion region) {
        int index = region.remoteKey() >>> INDEX_SHIFT;
        ELEMENT.setRelease(regions, index, (SharedMemoryRegion) null);
        free.add(index);
    }

    /** Finds a region, which may be closing, by any number, or null. */
    SharedMemoryRegion find(int key) {
        SharedMemoryRegion[] all = regions;
        int index = key >>> INDEX_SHIFT;
        if (index >= all.length) {
            return null;
        }
        SharedMemoryRegion region = (SharedMemoryRegion) ELEMENT.getAcquire(all, index);
        return region != null && region.remoteKey() == key ? region : null;
    }
}
