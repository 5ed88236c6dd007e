package org.rdmasockets.provider.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;

/** Memory of the peer that it announced, mapped here. Any thread may use it. */
public interface PeerRegion {
    /**
     * The key that names it.
     *
     * @return {@code rkey}, as the peer said
     */
    int remoteKey();

    /**
     * Where it begins in the peer's process, which is how requests name it.
     *
     * @return a virtual address of the peer, as it said
     */
    long address();

    /**
     * How long it is; that much is mapped, which was checked.
     *
     * @return length in bytes
     */
    long lengthBytes();

    /**
     * What the peer allows.
     *
     * @return the flags it announced
     */
    Set<AccessFlag> access();

    /**
     * The memory. Only between {@link #tryEnter} and {@link #leave}.
     *
     * @return the mapping, of {@link #lengthBytes()} bytes, always writable memory
     */
    MemorySegment segment();

    /**
     * Begins an access: as long as it lasts, the memory stays mapped.
     *
     * @return false if the peer closed the region or the link is dead; then {@link #leave} must not be called
     */
    boolean tryEnter();

    /** Ends an access. */
    void leave();
}
