package org.rdmasockets.provider.sharedmemory.link;

import java.lang.foreign.MemorySegment;

/**
 * Memory that a request may touch now, because its key, bounds and access flags were checked and the access was begun.
 * {@link #leave} has to follow; until then it is not given to anybody else.
 */
public interface ReachableMemory {
    /** The memory. */
    MemorySegment segment();

    /** Where it begins: the address that requests use for its first byte. */
    long address();

    /** Ends the access. */
    void leave();
}
