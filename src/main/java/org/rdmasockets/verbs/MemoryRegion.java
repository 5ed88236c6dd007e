package org.rdmasockets.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * Registered memory ({@code struct ibv_mr}).
 *
 * @since 0.1
 */
public interface MemoryRegion extends AutoCloseable {
    /**
     * The memory, which stays reachable as long as this region is open.
     *
     * @return the segment that was registered; {@link MemorySegment#NULL} for a {@link DmaBuffer}
     */
    MemorySegment segment();

    /**
     * {@return where the memory begins, as a peer must name it: a virtual address, or 0 with {@link
     * AccessFlag#ZERO_BASED}}
     */
    long address();

    /** {@return the length of the memory in bytes} */
    long lengthBytes();

    /** {@return {@code lkey}, the key for local scatter and gather elements} */
    int localKey();

    /**
     * {@return {@code rkey}, the key that a peer needs, valid only through queue pairs of the same protection domain}
     */
    int remoteKey();

    /** {@return the access that the memory allows, as given at registration} */
    Set<AccessFlag> access();

    /**
     * Deregisters the memory ({@code ibv_dereg_mr}): when it returns, the device no longer touches it.
     * <em>May block</em>.
     */
    @Override
    void close();
}
