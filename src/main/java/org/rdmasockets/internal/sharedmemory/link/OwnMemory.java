package org.rdmasockets.internal.sharedmemory.link;

import java.lang.foreign.MemorySegment;

/** Memory of this process that other processes can be given access to. */
public sealed interface OwnMemory extends AutoCloseable permits SharedRegion, Slabs.Slice {
    /** The memory, which can be touched for as long as it can be reached. */
    MemorySegment segment();

    /** Revokes the memory: accesses of peers are refused from now on. Never blocks; idempotent. */
    @Override
    void close();
}
