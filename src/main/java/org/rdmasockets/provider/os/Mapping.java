package org.rdmasockets.provider.os;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.rdmasockets.verbs.VerbsException;

/**
 * Shared memory mapped into this process. Whoever touches it has entered, or owns what keeps it open.
 *
 * <p>An application may have seen memory of this process: once that is closed, there is harmless private memory in its
 * place, until nobody can reach the segment any more. Memory of a peer is seen by this library only.
 */
public class Mapping extends Guard {
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    /** Every address: a segment of its own would cost each mapping more than the rest of it. */
    private static final MemorySegment EVERYTHING = Posix.memoryAt(0, Long.MAX_VALUE);

    private final MemorySegment memory;
    /** Whether the range lives as long as the segment. */
    private final boolean own;

    /** Takes over what {@link Mappings} mapped. */
    Mapping(long address, long bytes) {
        memory = shown(address, bytes, bytes, false);
        own = false;
    }

    /**
     * Maps a descriptor, which stays the caller's, as {@link SealedMemory#map} does: {@link #mappedBytes} has to tell
     * its size, and {@link #memory} shows the beginning. {@code own} if this process made it, and shows it to
     * applications.
     */
    protected Mapping(int descriptor, long mappedBytes, long bytes, boolean own) throws VerbsException {
        memory = shown(SealedMemory.mapAt(descriptor, mappedBytes), mappedBytes, bytes, own);
        this.own = own;
    }

    /** A segment of what was mapped just now; without one, nobody has seen it and it goes at once. */
    private static MemorySegment shown(long address, long mappedBytes, long bytes, boolean own) {
        if (own) {
            return Posix.memoryWhileReachable(address, mappedBytes).asSlice(0, bytes);
        }
        try {
            return Posix.memoryAt(address, bytes);
        } catch (Throwable e) {
            Mappings.unmap(address, mappedBytes);
            throw e;
        }
    }

    /** Memory that could not be mapped: it is closed, and nobody gets in; {@link #memory} pretends to show so much. */
    protected Mapping(long bytes) {
        memory = Posix.memoryAt(0, bytes);
        own = false;
        shut();
    }

    /** The part of the memory that is shown. */
    public final MemorySegment memory() {
        return memory;
    }

    /** How much is mapped, from the beginning of {@link #memory} on. */
    protected long mappedBytes() {
        return memory.byteSize();
    }

    /**
     * Reads a word of what is mapped, also behind what is shown, by acquire; the offset is a multiple of 8. As for the
     * next method, the caller has entered or knows that this is open.
     */
    protected final long getAcquire(long offset) {
        return (long) LONG.getAcquire(EVERYTHING, memory.address() + offset);
    }

    /** Writes a word of what is mapped, in an order with all that is volatile. */
    protected final void setVolatile(long offset, long value) {
        LONG.setVolatile(EVERYTHING, memory.address() + offset, value);
    }

    /** Gives whole pages back to the kernel, which read as zero then. False if the kernel refused. */
    public final boolean discard(long offset, long bytes) {
        return Mappings.discard(memory.address() + offset, bytes);
    }

    @Override
    protected void free() {
        if (own) {
            Mappings.empty(memory.address(), mappedBytes());
        } else if (memory.address() != 0) {
            Mappings.retire(memory.address(), mappedBytes());
        }
    }
}
