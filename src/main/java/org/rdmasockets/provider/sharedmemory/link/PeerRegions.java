package org.rdmasockets.provider.sharedmemory.link;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The regions that a peer announced, by key: a hash table with open addressing, so that finding one takes neither a
 * lock nor memory. Finding is for any thread, changing for the holder of the link's receive lock.
 */
final class PeerRegions {
    private static final VarHandle ELEMENTS = MethodHandles.arrayElementVarHandle(PeerRegion[].class);
    private static final int FIRST_CAPACITY = 16;
    /** Most regions, and most bytes, of all peers of this process: a quarter of what the kernel allows of each. */
    static final int MOST_OF_PROCESS = 1 << 14;
    static final long MOST_BYTES_OF_PROCESS = 1L << 45;
    /** Spreads keys, of which neighbours are likely, over the table (2 to the 32 divided by the golden ratio). */
    static final int SPREAD = 0x9E3779B9;

    /** Regions of all peers that are mapped, and their sizes in bytes; guarded by the class. */
    private static int allOpen;
    private static long allBytes;

    /** At most half full; closed regions stay until the table is made anew. */
    private volatile PeerRegion[] table = new PeerRegion[FIRST_CAPACITY];
    /** Places of {@link #table} that are taken; receive lock. */
    private int taken;
    /** Regions that are open; receive lock. */
    private int open;
    /** Their sizes in bytes; receive lock. */
    private long openBytes;

    /** Finds an open region, or null. */
    PeerRegion find(int remoteKey) {
        PeerRegion[] places = table;
        int mask = places.length - 1;
        for (int i = remoteKey * SPREAD >>> 8 & mask;; i = i + 1 & mask) {
            PeerRegion region = (PeerRegion) ELEMENTS.getAcquire(places, i);
            if (region == null || region.remoteKey() == remoteKey && !region.isGone()) {
                return region;
            }
        }
    }

    /** Takes room for a region to map, of what this process has for all its peers; false if there is none. */
    static synchronized boolean reserve(long lengthBytes) {
        if (allOpen >= MOST_OF_PROCESS || lengthBytes > MOST_BYTES_OF_PROCESS - allBytes) {
            return false;
        }
        allOpen++;
        allBytes += lengthBytes;
        return true;
    }

    /** Gives the room of a region back, which is mapped no more. */
    static synchronized void release(long lengthBytes) {
        allOpen--;
        allBytes -= lengthBytes;
    }

    /** How many are open. */
    int open() {
        return open;
    }

    /** How large the open ones are together, in bytes. */
    long openBytes() {
        return openBytes;
    }

    /** Adds a region whose key no open one has. */
    void add(PeerRegion region) {
        if (2 * (taken + 1) > table.length) {
            renew();
        }
        put(table, region);
        taken++;
        open++;
        openBytes += region.lengthBytes();
    }

    /** Makes the table anew, without those that were closed and with room for as many again. */
    private void renew() {
        PeerRegion[] places = new PeerRegion[Math.max(FIRST_CAPACITY, Integer.highestOneBit(open + 1) * 8)];
        taken = 0;
        for (PeerRegion region : table) {
            if (region != null && !region.isGone()) {
                put(places, region);
                taken++;
            }
        }
        table = places;
    }

    private static void put(PeerRegion[] places, PeerRegion region) {
        int mask = places.length - 1;
        int i = region.remoteKey() * SPREAD >>> 8 & mask;
        while (places[i] != null) {
            i = i + 1 & mask;
        }
        ELEMENTS.setRelease(places, i, region);
    }

    /** Closes and removes an open region. */
    void remove(PeerRegion region) {
        region.close();
        open--;
        openBytes -= region.lengthBytes();
    }

    /** Closes and removes all. */
    void clear() {
        for (PeerRegion region : table) {
            if (region != null) {
                region.close();
            }
        }
        open = 0;
        openBytes = 0;
    }
}
