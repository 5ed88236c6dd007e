package org.rdmasockets.provider.sharedmemory;

import java.lang.foreign.MemorySegment;

/**
 * Memory that a request may touch now, because its key, bounds and access flags were checked and the access was begun.
 * {@link #leave} has to follow; until then it is not given to anybody else.
 */
interface ReachableMemory {
    /** The memory. */
    MemorySegment segment();

    /** The address that requests use for its first byte. */
    long address();

    /** Ends the access. */
    void leave();
}
