package org.rdmasockets.provider.sharedmemory;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.ScatterGatherList;
import org.rdmasockets.verbs.SendRequest;

/** The local pieces of a request, checked and entered, as one range of bytes. Reusable; one thread at a time. */
final class Gather {
    private final SharedMemoryRegion[] regions;
    private final long[] offsets;
    private final int[] lengths;
    private final MemorySegment scratch = MemorySegment.ofArray(new long[1]);
    /** The only piece, if it is not registered memory. */
    private byte[] array;
    private int arrayOffset;
    private int count;
    private long totalBytes;

    /**
     * Room for pieces.
     *
     * @param capacity most pieces
     */
    Gather(int capacity) {
        regions = new SharedMemoryRegion[capacity];
        offsets = new long[capacity];
        lengths = new int[capacity];
    }

    /**
     * Enters all pieces; {@link #leave} has to follow.
     *
     * @param request with not more elements than the capacity
     * @param domain whose regions they must be
     * @param changed whether the pieces will be written to
     * @return false if one is not of the domain, closed, or must not be written to; then nothing is entered
     */
    boolean enter(SendRequest request, SharedMemoryProtectionDomain domain, boolean changed) {
        count = 0;
        totalBytes = 0;
        array = request.bytes();
        if (array != null) {
            arrayOffset = request.bytesOffset();
            totalBytes = request.bytesLength();
            return true;
        }
        ScatterGatherList elements = request.elements();
        for (int i = 0; i < elements.count(); i++) {
            if (!(elements.region(i) instanceof SharedMemoryRegion region) || region.domain() != domain
                    || changed && !region.access().contains(AccessFlag.LOCAL_WRITE) || !region.tryEnter()) {
                leave();
                return false;
            }
            regions[count] = region;
            offsets[count] = elements.address(i) - region.address();
            lengths[count] = elements.lengthBytes(i);
            totalBytes += lengths[count];
            count++;
        }
        return true;
    }

    /** Ends what {@link #enter} began. */
    void leave() {
        for (int i = 0; i < count; i++) {
            regions[i].leave();
        }
        array = null;
        Arrays.fill(regions, 0, count, null);
        count = 0;
    }

    /** All pieces together, in bytes. */
    long totalBytes() {
        return totalBytes;
    }

    /** Copies a part of the range out. */
    void copyTo(long from, MemorySegment target, long offset, long length) {
        if (array != null) {
            MemorySegment.copy(array, arrayOffset + (int) from, target, JAVA_BYTE, offset, (int) length);
            return;
        }
        copy(from, target, offset, length, true);
    }

    /** Copies into a part of the range. */
    void copyFrom(long from, MemorySegment source, long offset, long length) {
        copy(from, source, offset, length, false);
    }

    /** Sets the range, which is 8 bytes, to a number in this machine's byte order. */
    void setLong(long value) {
        scratch.set(JAVA_LONG, 0, value);
        copyFrom(0, scratch, 0, Long.BYTES);
    }

    private void copy(long from, MemorySegment other, long offset, long length, boolean out) {
        long skip = from;
        long done = 0;
        for (int i = 0; i < count && done < length; i++) {
            long here = Math.min(lengths[i] - skip, length - done);
            if (here <= 0) {
                skip -= lengths[i];
                continue;
            }
            MemorySegment piece = regions[i].segment();
            if (out) {
                MemorySegment.copy(piece, offsets[i] + skip, other, offset + done, here);
            } else {
                MemorySegment.copy(other, offset + done, piece, offsets[i] + skip, here);
            }
            done += here;
            skip = 0;
        }
    }
}
