package org.rdmasockets.provider.sharedmemory.link;

import static org.rdmasockets.provider.sharedmemory.link.SegmentLayout.LONG;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.provider.sharedmemory.os.Mapping;
import org.rdmasockets.provider.sharedmemory.os.SealedMemory;

/**
 * How a region lies in its memfd: whole pages for the data, then one page whose first word is 1 as long as the owner
 * lets peers in. Owner and peer map both as one.
 */
final class RegionMemory {
    private static final long CONTROL_BYTES = 4096;
    private static final long VALID = 1;

    private final Mapping mapping;
    private final MemorySegment data;
    private final long validOffset;

    private RegionMemory(Mapping mapping, long lengthBytes) {
        this.mapping = mapping;
        data = mapping.memory().asSlice(0, lengthBytes);
        validOffset = mapping.memory().byteSize() - CONTROL_BYTES;
    }

    /** The size of the memfd for a region of so many bytes. */
    static long totalBytes(long lengthBytes) {
        return SealedMemory.wholePages(lengthBytes) + CONTROL_BYTES;
    }

    /** A region of so many bytes in memory of {@link #totalBytes}. */
    static RegionMemory in(Mapping mapping, long lengthBytes) {
        return new RegionMemory(mapping, lengthBytes);
    }

    /** The data. */
    MemorySegment data() {
        return data;
    }

    /** Lets peers in; the memory is open. */
    void validate() {
        LONG.setRelease(mapping.memory(), validOffset, VALID);
    }

    /** Keeps peers out; the memory is open. */
    void invalidate() {
        LONG.setVolatile(mapping.memory(), validOffset, 0L);
    }

    /** Begins an access of this process to memory of its own. */
    boolean enter() {
        return mapping.enter();
    }

    /** Begins an access to a peer's memory, if the peer lets us in. */
    boolean enterIfValid() {
        if (!mapping.enter()) {
            return false;
        }
        if ((long) LONG.getAcquire(mapping.memory(), validOffset) == VALID) {
            return true;
        }
        mapping.leave();
        return false;
    }

    /** Ends an access. */
    void leave() {
        mapping.leave();
    }

    /** Frees the memory after the last access. */
    void close() {
        mapping.close();
    }
}
