package org.rdmasockets.provider.sharedmemory;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.provider.sharedmemory.link.PeerRegion;
import org.rdmasockets.verbs.AccessFlag;

/** A region of another process that is mapped here. */
final class LinkMemory implements ReachableMemory {
    private final PeerRegion region;
    private final int key;
    private final long address;
    private final long lengthBytes;

    /** A region that was found by its key. */
    LinkMemory(PeerRegion region) {
        this.region = region;
        key = region.remoteKey();
        address = region.address();
        lengthBytes = region.lengthBytes();
    }

    /** The key that names it. */
    int key() {
        return key;
    }

    /** Begins an access; false if the peer closed the region, or died. */
    boolean tryEnter() {
        return region.tryEnter();
    }

    /** Whether the peer allows this; the numbers may be any. */
    boolean allows(long first, long bytes, AccessFlag needed) {
        long offset = first - address;
        return region.access().contains(needed) && offset >= 0 && bytes >= 0 && offset <= lengthBytes - bytes;
    }

    @Override
    public MemorySegment segment() {
        return region.segment();
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public void leave() {
        region.leave();
    }
}
