package org.rdmasockets.internal.sharedmemory.link;

import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.internal.ffi.SharedMapping;
import org.rdmasockets.verbs.VerbsException;

/** The memory of a link, and with it the slabs of the peer: a thread that has entered this may touch all of them. */
final class LinkMemory extends SharedMapping {
    /** Slabs that were entered and are left when this is freed; guarded by itself. */
    private final List<PeerRegion> slabs;

    LinkMemory(int descriptor) throws VerbsException {
        slabs = new ArrayList<>(); // before there is something to lose
        super(descriptor, SegmentLayout.BYTES, SegmentLayout.BYTES, false);
    }

    /** Keeps a slab mapped as long as this; false if one of them is closed. */
    boolean keep(PeerRegion slab) {
        if (!enter()) {
            return false;
        }
        try {
            synchronized (slabs) {
                slabs.add(slab);
                if (slab.enter()) {
                    return true;
                }
                slabs.removeLast();
                return false;
            }
        } finally {
            leave();
        }
    }

    @Override
    protected void free() {
        try {
            super.free();
        } finally {
            synchronized (slabs) {
                while (!slabs.isEmpty()) {
                    slabs.removeLast().leave();
                }
            }
        }
    }
}
