package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.provider.sharedmemory.link.Link;
import org.rdmasockets.provider.sharedmemory.link.PeerRegion;
import org.rdmasockets.verbs.AccessFlag;

/** Finds regions of the other process, those that were looked up last without asking the link. One thread at a time. */
final class RecentRegions {
    /** A sockets peer writes to three regions in turn: its table, and two chunks. */
    private static final int MOST = 4;

    private final Link link;
    private final LinkMemory[] recent = new LinkMemory[MOST];
    private int oldest;

    /** None yet. */
    RecentRegions(Link link) {
        this.link = link;
    }

    /**
     * Finds memory that a request may touch.
     *
     * @param key the key that the request names
     * @param domain the number of the protection domain that the memory must be of
     * @param address the first address that it names
     * @param bytes how many
     * @param needed what it wants to do
     * @return the memory, entered, or null if the other end does not allow this
     */
    LinkMemory enter(int key, long domain, long address, long bytes, AccessFlag needed) {
        LinkMemory memory = enter(key, domain);
        if (memory != null && !memory.allows(address, bytes, needed)) {
            memory.leave();
            return null;
        }
        return memory;
    }

    private LinkMemory enter(int key, long domain) {
        for (LinkMemory memory : recent) {
            if (memory != null && memory.key() == key && memory.tryEnter()) {
                return memory;
            }
        }
        PeerRegion region = link.peerRegion(key);
        if (region == null || region.tag() != domain || !region.tryEnter()) {
            return null;
        }
        LinkMemory memory = new LinkMemory(region);
        recent[oldest] = memory;
        oldest = (oldest + 1) % MOST;
        return memory;
    }
}
