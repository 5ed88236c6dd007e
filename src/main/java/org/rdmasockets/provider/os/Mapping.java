package org.rdmasockets.provider.os;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.rdmasockets.verbs.VerbsException;

/** Shared memory mapped into this process. Whoever touches it has entered, or owns what keeps it open. */
public class Mapping extends Guard {
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    /** Every address: a segment of its own would cost each mapping more than the rest of it. */
    private static final MemorySegment EVERYTHING = Posix.memoryAt(0, Long.MAX_VALUE);

    private final MemorySegment memory;

    /** Takes over a range of {@link AddressRanges}. */
    Mapping(long address, long bytes) {
        memory = Posix.memoryAt(address, bytes);
    }

    /**
     * Maps a descriptor as {@link SealedMemory#map} does, and shows the beginning.
     *
     * @param descriptor any descriptor; stays the caller's
     * @param mappedBytes the size it must have, which {@link #mappedBytes} has to tell
     * @param bytes how much of it {@link #memory} shows
     * @throws VerbsException as {@link SealedMemory#map}
     */
    protected Mapping(int descriptor, long mappedBytes, long bytes) throws VerbsException {
        memory = Posix.memoryAt(SealedMemory.mapAt(descriptor, mappedBytes), bytes);
    }

    /**
     * Memory that could not be mapped: it is closed, and nobody gets in.
     *
     * @param bytes how much {@link #memory} pretends to show
     */
    protected Mapping(long bytes) {
        memory = Posix.memoryAt(0, bytes);
        shut();
    }

    /**
     * The memory.
     *
     * @return what is shown of it, of the global scope
     */
    public final MemorySegment memory() {
        return memory;
    }

    /**
     * How much is mapped.
     *
     * @return bytes from the beginning of {@link #memory} on
     */
    protected long mappedBytes() {
        return memory.byteSize();
    }

    /**
     * Reads a word of what is mapped, by acquire. As for the next method, the caller has entered or knows that this is
     * open.
     *
     * @param offset where it is, also behind what is shown; a multiple of 8 within {@link #mappedBytes}
     * @return the word
     */
    protected final long getAcquire(long offset) {
        return (long) LONG.getAcquire(EVERYTHING, memory.address() + offset);
    }

    /**
     * Writes a word of what is mapped, in an order with all that is volatile.
     *
     * @param offset as for {@link #getAcquire}
     * @param value the word
     */
    protected final void setVolatile(long offset, long value) {
        LONG.setVolatile(EVERYTHING, memory.address() + offset, value);
    }

    @Override
    protected void free() {
        if (memory.address() != 0) {
            AddressRanges.unmap(memory.address(), mappedBytes());
        }
    }
}
