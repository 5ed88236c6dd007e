package org.rdmasockets.internal.sharedmemory.link;

import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The regions that a peer announced, by key. Finding is for any thread, changing for the holder of the link's receive
 * lock.
 */
final class PeerRegions {
    /** Most regions, and most bytes, of all peers of this process: a quarter of what the kernel allows of each. */
    static final int MOST_OF_PROCESS = 1 << 14;
    static final long MOST_BYTES_OF_PROCESS = 1L << 45;

    /** Regions of all peers that are mapped, and their sizes in bytes; guarded by the class. */
    private static int allOpen;
    private static long allBytes;

    private final Map<Integer, PeerRegion> regions = new ConcurrentHashMap<>();
    private final Collection<PeerRegion> all = regions.values();
    /** Their sizes in bytes; receive lock. */
    private long openBytes;

    /** Finds an open region, or null. */
    PeerRegion find(int remoteKey) {
        return regions.get(remoteKey);
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
        return regions.size();
    }

    /** How large the open ones are together, in bytes. */
    long openBytes() {
        return openBytes;
    }

    /** Adds a region whose key no open one has, or throws: then it is not added. */
    void add(PeerRegion region) {
        Integer key = region.remoteKey();
        try {
            regions.put(key, region);
        } catch (Throwable e) {
            regions.remove(key);
            throw e;
        }
        openBytes += region.lengthBytes();
    }

    /** Closes a region, and removes it if it was added. */
    void remove(PeerRegion region) {
        try {
            if (regions.remove(region.remoteKey(), region)) {
                openBytes -= region.lengthBytes();
            }
        } finally {
            region.close();
        }
    }

    /** Closes and removes all, even if the close of one throws. */
    void clear() {
        Error failure = null;
        for (PeerRegion region : all) {
            try {
                region.close();
            } catch (Error e) {
                failure = e;
            }
        }
        regions.clear();
        openBytes = 0;
        if (failure != null) {
            throw failure;
        }
    }
}
