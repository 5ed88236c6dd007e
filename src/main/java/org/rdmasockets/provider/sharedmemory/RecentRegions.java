package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.provider.sharedmemory.link.Link;
import org.rdmasockets.provider.sharedmemory.link.PeerMemory;
import org.rdmasockets.verbs.AccessFlag;

/**
 * Finds regions of the other process, those that were looked up last without asking the link. One thread at a time. To
 * be inherited from, so that a connection has one object less.
 */
abstract class RecentRegions {
    /** A sockets peer writes to three regions in turn: its table, and two chunks. */
    private static final int MOST = 4;

    /** The regions that were looked up last: one, and others if there are any, else null. */
    private PeerMemory recent;
    private PeerMemory[] others;
    private byte oldest;

    /** None yet. */
    RecentRegions() {}

    /**
     * Finds memory that a request may touch, of the domain of that number, and enters it; null if the other end does
     * not allow this. The link is always the same.
     */
    final PeerMemory enter(Link link, long domain, int key, long address, long bytes, AccessFlag needed) {
        PeerMemory region = enter(link, domain, key, address);
        if (region != null && !region.allows(address, bytes, needed)) {
            region.leave();
            return null;
        }
        return region;
    }

    private PeerMemory enter(Link link, long domain, int key, long address) {
        if (recent != null && recent.remoteKey() == key && recent.tryEnter()) {
            return recent;
        }
        for (int i = 0; others != null && i < others.length; i++) {
            if (isEntered(others[i], key)) {
                return others[i];
            }
        }
        PeerMemory region = link.peerMemory(key, address);
        if (region == null || region.tag() != domain || !region.tryEnter()) {
            return null;
        }
        if (oldest == 0) {
            recent = region;
        } else {
            others = others == null ? new PeerMemory[MOST - 1] : others;
            others[oldest - 1] = region;
        }
        oldest = (byte) ((oldest + 1) % MOST);
        return region;
    }

    private static boolean isEntered(PeerMemory region, int key) {
        return region != null && region.remoteKey() == key && region.tryEnter();
    }
}
