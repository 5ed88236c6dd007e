package org.rdmasockets.internal.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.rdmasockets.internal.ffi.SealedMemory;
import org.rdmasockets.verbs.VerbsException;

/**
 * Memory of this process that peers can be given access to: a sealed memfd of its own. After {@link #close} there is
 * harmless private memory in its place, for as long as the segment can be reached.
 *
 * <p>The descriptor stays open as long as the region, because further peers may need it.
 */
public final class SharedRegion extends RegionMemory implements OwnMemory {
    private static final Link[] NO_LINKS = {};

    final int descriptor;
    /** Links that know this region, mostly one; replaced, never changed; null once this is closed; guarded by this. */
    private Link[] links = NO_LINKS;
    /** The key by which they know it; guarded by this. */
    private int remoteKey;

    private SharedRegion(int descriptor, long lengthBytes) throws VerbsException {
        super(descriptor, lengthBytes, true);
        this.descriptor = descriptor;
    }

    /** Allocates zeroed memory, which takes up room only where it is touched. */
    static SharedRegion allocate(long bytes) throws VerbsException {
        if (bytes < 1 || bytes > Link.MOST_REGION_BYTES) {
            throw new IllegalArgumentException("cannot allocate " + bytes + " bytes");
        }
        int descriptor = SealedMemory.open(totalBytes(bytes));
        try {
            SharedRegion region = new SharedRegion(descriptor, bytes);
            SegmentLayout.LONG.setVolatile(region.behind, 0, VALID); // lets peers in
            return region;
        } catch (Throwable e) {
            SealedMemory.close(descriptor);
            throw e;
        }
    }

    /** The memory, aligned to a page, as long as it can be reached. */
    @Override
    public MemorySegment segment() {
        return memory();
    }

    /** Notes that one more link knows this region, by the one key; false if this is closed. */
    synchronized boolean attach(Link link, int key) {
        remoteKey = key;
        if (links == null) {
            return false;
        }
        if (links.length == 0) {
            links = link.alone;
        } else {
            links = Arrays.copyOf(links, links.length + 1);
            links[links.length - 1] = link;
        }
        return true;
    }

    /** Forgets a link that is dead. */
    synchronized void detach(Link link) {
        if (links == link.alone) {
            links = NO_LINKS;
        } else if (links != null) {
            links = Arrays.stream(links).filter(known -> known != link).toArray(Link[]::new);
        }
    }

    /**
     * Revokes the memory: peers are told, later accesses of theirs are refused, and one in progress ends in memory that
     * is not used again. Never blocks; idempotent.
     */
    @Override
    public void close() {
        Link[] told;
        int key;
        synchronized (this) {
            if (links == null) {
                return;
            }
            told = links;
            key = remoteKey;
            links = null;
        }
        SegmentLayout.LONG.setVolatile(behind, 0, 0L); // keeps peers out
        try {
            for (Link link : told) {
                link.announced.retract(key);
            }
        } finally {
            super.close();
        }
    }

    @Override
    protected void free() {
        try {
            super.free();
        } finally {
            SealedMemory.close(descriptor);
        }
    }
}
