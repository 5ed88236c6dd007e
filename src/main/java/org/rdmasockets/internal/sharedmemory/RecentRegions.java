package org.rdmasockets.internal.sharedmemory;

import org.rdmasockets.internal.sharedmemory.link.Link;
import org.rdmasockets.internal.sharedmemory.link.PeerMemory;
import org.rdmasockets.internal.sharedmemory.link.PeerSlice;
import org.rdmasockets.internal.sharedmemory.link.ReachableMemory;
import org.rdmasockets.verbs.AccessFlag;

/**
 * Finds regions of the other process, those that were looked up last without asking the link. One thread at a time. To
 * be inherited from, so that a connection has one object less.
 */
abstract class RecentRegions {
    /** A sockets peer writes to three regions in turn: its table, and two chunks. */
    private static final int MOST = 4;

    /** The region that was used last, and others before it if there are any, else null. */
    private PeerMemory recent;
    /** Whether the recent one stays entered, so that the next request need not do that. */
    private boolean inside;
    private PeerMemory[] others;
    private byte oldest;

    /**
     * Finds memory that a request may touch, of the domain of that number, and enters it; null if the other end does
     * not allow this. The link is always the same.
     */
    final PeerMemory enter(Link link, long domain, int key, long address, long bytes, AccessFlag needed) {
        PeerMemory region = enterRecent(key) ? recent : enter(link, domain, key, address);
        if (region != null && !region.allows(address, bytes, needed)) {
            leave(region);
            return null;
        }
        return region;
    }

    /** Ends an access to what {@link #enter} has found. A slice stays entered until {@link #leaveAll}. */
    public final void leave(ReachableMemory region) {
        if (region != recent || !inside) {
            region.leave();
        }
    }

    /** Lets the other side use the memory again that requests have touched. */
    public final void leaveAll() {
        if (inside) {
            inside = false;
            recent.leave();
        }
    }

    /** Whether the recent one is meant, and then it is entered. */
    private boolean enterRecent(int key) {
        if (recent == null || recent.remoteKey() != key
                || !(inside ? ((PeerSlice) recent).isOpen() : recent.tryEnter())) {
            return false;
        }
        inside = recent instanceof PeerSlice;
        return true;
    }

    private PeerMemory enter(Link link, long domain, int key, long address) {
        leaveAll();
        for (int i = 0; others != null && i < others.length; i++) {
            PeerMemory found = others[i];
            if (found != null && found.remoteKey() == key && found.tryEnter()) {
                others[i] = recent; // the next request is mostly for the same
                recent = found;
                inside = found instanceof PeerSlice;
                return found;
            }
        }
        PeerMemory region = link.peerMemory(key, address);
        if (region == null || region.tag() != domain || !region.tryEnter()) {
            return null;
        }
        if (recent != null) {
            others = others == null ? new PeerMemory[MOST - 1] : others;
            others[oldest] = recent;
            oldest = (byte) ((oldest + 1) % others.length);
        }
        recent = region;
        inside = region instanceof PeerSlice;
        return region;
    }
}
