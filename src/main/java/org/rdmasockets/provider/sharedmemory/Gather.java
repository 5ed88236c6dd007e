package org.rdmasockets.provider.sharedmemory;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.ScatterGatherList;
import org.rdmasockets.verbs.SendRequest;

/**
 * The local pieces of a request, checked and entered, as one range of bytes. Reusable; one thread at a time, and only
 * while the request stays as it is.
 */
final class Gather {
    /** Whose pieces they are; null before {@link #enter} and after {@link #leave}. */
    private SendRequest request;
    /** How many pieces of registered memory there are. */
    private int count;
    private long totalBytes;
    /** A piece of 8 bytes for atomic operations; made when first needed. */
    private MemorySegment scratch;

    /** No pieces yet. */
    Gather() {
    }

    /**
     * Enters all pieces; {@link #leave} has to follow.
     *
     * @param posted the request
     * @param domain whose regions they must be
     * @param changed whether the pieces will be written to
     * @return false if one is not of the domain, closed, or must not be written to; then nothing is entered
     */
    boolean enter(SendRequest posted, SharedMemoryProtectionDomain domain, boolean changed) {
        request = posted;
        count = 0;
        if (posted.bytes() != null) {
            totalBytes = posted.bytesLength();
            return true;
        }
        totalBytes = posted.elements().totalBytes();
        while (count < posted.elements().count()) {
            if (!(posted.elements().region(count) instanceof SharedMemoryRegion region) || region.domain() != domain
                    || changed && !region.access().contains(AccessFlag.LOCAL_WRITE) || !region.tryEnter()) {
                leave();
                return false;
            }
            count++;
        }
        return true;
    }

    /** Ends what {@link #enter} began. */
    void leave() {
        for (int i = 0; i < count; i++) {
            region(i).leave();
        }
        request = null;
        count = 0;
    }

    private SharedMemoryRegion region(int piece) {
        return (SharedMemoryRegion) request.elements().region(piece);
    }

    /** All pieces together, in bytes. */
    long totalBytes() {
        return totalBytes;
    }

    /** Copies a part of the range out. */
    void copyTo(long from, MemorySegment target, long offset, long length) {
        if (request.bytes() != null) {
            MemorySegment.copy(request.bytes(), request.bytesOffset() + (int) from, target, JAVA_BYTE, offset,
                    (int) length);
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
        if (scratch == null) {
            scratch = MemorySegment.ofArray(new long[1]);
        }
        scratch.set(JAVA_LONG, 0, value);
        copyFrom(0, scratch, 0, Long.BYTES);
    }

    private void copy(long from, MemorySegment other, long offset, long length, boolean out) {
        ScatterGatherList elements = request.elements();
        long skip = from;
        long done = 0;
        for (int i = 0; i < count && done < length; i++) {
            long here = Math.min(elements.lengthBytes(i) - skip, length - done);
            if (here <= 0) {
                skip -= elements.lengthBytes(i);
                continue;
            }
            MemorySegment piece = region(i).segment();
            long offsetInPiece = elements.address(i) - region(i).address() + skip;
            if (out) {
                MemorySegment.copy(piece, offsetInPiece, other, offset + done, here);
            } else {
                MemorySegment.copy(other, offset + done, piece, offsetInPiece, here);
            }
            done += here;
            skip = 0;
        }
    }
}
