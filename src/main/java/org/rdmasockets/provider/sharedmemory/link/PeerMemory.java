package org.rdmasockets.provider.sharedmemory.link;

import org.rdmasockets.verbs.AccessFlag;

/** Memory that a peer gave access to. Any thread may use it. */
public sealed interface PeerMemory extends ReachableMemory permits PeerRegion, PeerSlice {
    /**
     * The key that names it.
     *
     * @return {@code rkey}, as the peer said
     */
    int remoteKey();

    /**
     * The tag that the owner announced with it; means nothing to the link.
     *
     * @return 64 bits, as the peer said
     */
    long tag();

    /**
     * Whether the peer allows an access; the numbers may be any.
     *
     * @param first the first address
     * @param bytes how many
     * @param needed what is to be done
     * @return true if all of it is inside, and the flag was announced
     */
    boolean allows(long first, long bytes, AccessFlag needed);

    /**
     * Begins an access: as long as it lasts, the memory stays mapped and is given to nobody else.
     *
     * @return false if the peer closed it, the link is dead, or this process had no room to map it; then {@link #leave}
     *         must not be called
     */
    boolean tryEnter();
}
