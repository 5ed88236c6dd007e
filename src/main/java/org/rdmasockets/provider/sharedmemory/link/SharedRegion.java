package org.rdmasockets.provider.sharedmemory.link;

import java.lang.foreign.MemorySegment;

/**
 * Memory of this process that peers can be given access to: a sealed memfd of its own, mapped over a range of addresses
 * that is never unmapped. After {@link #close} there is harmless private memory at the range, and later another region.
 */
public interface SharedRegion extends AutoCloseable {
    /**
     * The memory, of exactly as many bytes as were asked for, zeroed, aligned to a page.
     *
     * @return a segment of the global scope
     */
    MemorySegment segment();

    /**
     * Begins an access: as long as it lasts, the memory is not given to anybody else. For copies by threads of this
     * process that do not otherwise know that the region stays open.
     *
     * @return false if the region is closed; then {@link #leave} must not be called
     */
    boolean tryEnter();

    /** Ends an access. */
    void leave();

    /**
     * Revokes the memory: peers are told, their accesses are refused from now on, and one in progress ends in memory
     * that is nobody's. The range is used again when the last access of this process has ended. Never blocks;
     * idempotent.
     */
    @Override
    void close();
}
