package org.rdmasockets.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Set;

/** Registered memory ({@code struct ibv_mr}). */
public interface MemoryRegion extends AutoCloseable {
    /**
     * The memory, which stays reachable as long as this region is open.
     *
     * @return the segment that was registered; {@link MemorySegment#NULL} for a {@link DmaBuffer}
     */
    MemorySegment segment();

    /**
     * Where the memory begins, as a peer must name it.
     *
     * @return the virtual address of the first byte, or 0 with {@link AccessFlag#ZERO_BASED}
     */
    long address();

    /**
     * How much memory it is.
     *
     * @return the length in bytes
     */
    long lengthBytes();

    /**
     * The key for local scatter and gather elements.
     *
     * @return {@code lkey}
     */
    int localKey();

    /**
     * The key that a peer needs, valid only through queue pairs of the same protection domain.
     *
     * @return {@code rkey}
     */
    int remoteKey();

    /**
     * What may be done to the memory.
     *
     * @return the flags given at registration
     */
    Set<AccessFlag> access();

    /**
     * Deregisters the memory ({@code ibv_dereg_mr}): when it returns, the device no longer touches it.
     * <em>May block</em>.
     */
    @Override
    void close();
}
