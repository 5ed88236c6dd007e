package org.rdmasockets.provider.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;

/** Memory of this process, cut from {@link Slabs}. */
public final class Slice implements OwnMemory {
    private final Slabs slabs;
    private final Slabs.Slab slab;
    private final int page;
    private final int pages;
    private final long serial;
    private final MemorySegment segment;
    /** Guarded by the slabs. */
    private boolean closed;

    /** Pages that are taken. */
    Slice(Slabs slabs, Slabs.Slab slab, int page, int pages, long serial, MemorySegment segment) {
        this.slabs = slabs;
        this.slab = slab;
        this.page = page;
        this.pages = pages;
        this.serial = serial;
        this.segment = segment;
    }

    /** Where it is from. */
    Slabs.Slab slab() {
        return slab;
    }

    /** Its first page. */
    int page() {
        return page;
    }

    /** How many pages it has. */
    int pages() {
        return pages;
    }

    /** The number that tells it from all others of the link. */
    long serial() {
        return serial;
    }

    @Override
    public MemorySegment segment() {
        return segment;
    }

    /**
     * Lets the peer in.
     *
     * @param key the key that names it
     * @param access what the peer may do
     * @param tag 64 bits that the peer gets with it, see {@link PeerMemory#tag}
     */
    public void publish(int key, Set<AccessFlag> access, long tag) {
        slabs.publish(this, key, access, tag);
    }

    /** Closes this; false if it was closed before. The slabs are locked. */
    boolean shut() {
        boolean first = !closed;
        closed = true;
        return first;
    }

    @Override
    public void close() {
        slabs.free(this);
    }
}
