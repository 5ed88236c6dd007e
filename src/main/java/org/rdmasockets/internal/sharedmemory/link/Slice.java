package org.rdmasockets.internal.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;

/** Memory of this process, cut from {@link Slabs}. */
public final class Slice implements OwnMemory {
    final Slabs.Slab slab;
    /** The first page, its complement once this is closed; changed by the slabs only, guarded by them. */
    private int page;
    final long serial;
    private final MemorySegment segment;

    /** Pages that are taken: as many as the segment touches. Each connection has one of these, so it is small. */
    Slice(Slabs.Slab slab, int page, long serial, MemorySegment segment) {
        this.slab = slab;
        this.page = page;
        this.serial = serial;
        this.segment = segment;
    }

    /** Its first page. */
    int page() {
        return page < 0 ? ~page : page;
    }

    /** How many pages it has. */
    int pages() {
        return Slabs.pagesOf(segment.byteSize());
    }

    @Override
    public MemorySegment segment() {
        return segment;
    }

    /** Lets the peer in, by a key and with 64 bits that it gets with it, see {@link PeerMemory#tag}. */
    public void publish(int key, Set<AccessFlag> access, long tag) {
        slab.owner.publish(this, key, access, tag);
    }

    /** Closes this; false if it was closed before. The slabs are locked. */
    boolean shut() {
        boolean first = page >= 0;
        page = first ? ~page : page;
        return first;
    }

    @Override
    public void close() {
        slab.owner.free(this);
    }
}
