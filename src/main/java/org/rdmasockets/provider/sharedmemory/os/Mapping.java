package org.rdmasockets.provider.sharedmemory.os;

import java.lang.foreign.MemorySegment;

/** Shared memory mapped into this process. Whoever touches it has entered, or owns what keeps it open. */
public final class Mapping extends Guard {
    private final MemorySegment memory;

    /** Takes over a range of {@link AddressRanges}. */
    Mapping(long address, long bytes) {
        memory = Posix.memoryAt(address, bytes);
    }

    /**
     * The memory.
     *
     * @return all that is mapped, of the global scope
     */
    public MemorySegment memory() {
        return memory;
    }

    @Override
    protected void free() {
        AddressRanges.unmap(memory.address(), memory.byteSize());
    }
}
