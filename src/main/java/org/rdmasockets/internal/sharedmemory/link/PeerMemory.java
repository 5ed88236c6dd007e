package org.rdmasockets.internal.sharedmemory.link;

import org.rdmasockets.verbs.AccessFlag;

/** Memory that a peer gave access to. Any thread may use it. */
public sealed interface PeerMemory extends ReachableMemory permits PeerRegion, PeerSlice {
    /** The key that names it, as the peer said. */
    int remoteKey();

    /** The 64 bits that the owner announced with it; they mean nothing to the link. */
    long tag();

    /** Whether the peer allows an access: all of it is inside, and the flag was announced. The numbers may be any. */
    boolean allows(long first, long bytes, AccessFlag needed);

    /**
     * Begins an access: as long as it lasts, the memory stays mapped and is not reused. False if the peer closed it,
     * the link is dead, or this process had no room to map it; then {@link #leave} must not be called.
     */
    boolean tryEnter();
}
