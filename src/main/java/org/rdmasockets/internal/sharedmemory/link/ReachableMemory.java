package org.rdmasockets.internal.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Memory that a request may touch now, because its key, bounds and access flags were checked and the access was begun.
 * {@link #leave} has to follow; until then the memory is not reused.
 */
public interface ReachableMemory {
    /** The memory. */
    MemorySegment segment();

    /** Where it begins: the address that requests use for its first byte. */
    long address();

    /** Copies bytes of an array to an address of it. */
    default void put(long address, byte[] bytes, int from, int length) {
        MemorySegment.copy(bytes, from, segment(), ValueLayout.JAVA_BYTE, address - address(), length);
    }

    /** Ends the access. */
    void leave();
}
