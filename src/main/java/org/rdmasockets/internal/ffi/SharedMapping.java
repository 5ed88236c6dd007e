package org.rdmasockets.internal.ffi;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.rdmasockets.verbs.VerbsException;

/**
 * Shared memory mapped into this process. A thread that touches it has entered, or owns an object that keeps it open.
 *
 * <p>An application may have seen memory of this process: once that is closed, there is harmless private memory in its
 * place, until the segment is out of reach. Memory of a peer is seen by this library only.
 */
public class SharedMapping extends Guard {
    private final MemorySegment memory;
    /**
     * The first word of the last page, null if all is shown; for a caller that has entered or knows that this is open.
     */
    protected final ByteBuffer behind;
    /** Whether the range lives as long as the segment. */
    private final boolean own;

    /** Takes over what {@link Mappings} mapped. */
    SharedMapping(long address, long bytes) {
        memory = shown(address, bytes, bytes, false);
        behind = null;
        own = false;
    }

    /**
     * Maps a descriptor, which stays the caller's, as {@link SealedMemory#map} does: {@link #mappedBytes} has to tell
     * its size, and {@link #memory} shows the beginning. {@code own} if this process made it, and shows it to
     * applications.
     */
    protected SharedMapping(int descriptor, long mappedBytes, long bytes, boolean own) throws VerbsException {
        long address = SealedMemory.mapAt(descriptor, mappedBytes);
        behind = mappedBytes == bytes ? null : behind(address, mappedBytes);
        memory = shown(address, mappedBytes, bytes, own);
        this.own = own;
    }

    /**
     * A segment of memory that was mapped just now; without a segment, no code has seen the memory and it goes at once.
     */
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

    private static ByteBuffer behind(long address, long mappedBytes) {
        try {
            return Posix.buffer(Posix.memoryAt(address + mappedBytes - PageSize.BYTES, Long.BYTES));
        } catch (Throwable e) {
            Mappings.unmap(address, mappedBytes);
            throw e;
        }
    }

    /**
     * Memory that could not be mapped: it is closed, and no thread can enter; {@link #memory} pretends to show so much.
     */
    protected SharedMapping(long bytes) {
        memory = Posix.memoryAt(0, bytes);
        behind = null;
        own = false;
        super.close();
    }

    /** The part of the memory that is shown. */
    public final MemorySegment memory() {
        return memory;
    }

    /** How much is mapped, from the beginning of {@link #memory} on. */
    protected long mappedBytes() {
        return memory.byteSize();
    }

    /** All of it, of less than 2 GiB, in the order of this host; for a caller that keeps it mapped. */
    public final ByteBuffer asBuffer() {
        return Posix.buffer(memory);
    }

    /** Empties a range, and gives its whole pages back to the kernel: it reads as zero then. False if that refused. */
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
