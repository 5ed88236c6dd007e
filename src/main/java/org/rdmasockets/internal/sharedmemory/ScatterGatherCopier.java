package org.rdmasockets.internal.sharedmemory;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.ScatterGatherList;
import org.rdmasockets.verbs.SendRequest;

/**
 * The local pieces of a request, checked and entered, as one range of bytes. The request has to stay as it is between
 * {@link #enter} and {@link #leave}.
 */
final class ScatterGatherCopier {
    private ScatterGatherCopier() {}

    /**
     * Enters all pieces, which may be written to if they will be {@code changed}; {@link #leave} has to follow. False
     * if one is not of the domain, closed, or must not be written to; then nothing is entered.
     */
    static boolean enter(SendRequest request, SharedMemoryProtectionDomain domain, boolean changed) {
        int count = pieces(request);
        for (int i = 0; i < count; i++) {
            if (!(request.elements().region(i) instanceof SharedMemoryRegion region) || region.domain != domain
                    || changed && !region.access().contains(AccessFlag.LOCAL_WRITE) || !region.tryEnter()) {
                leave(request, i);
                return false;
            }
        }
        return true;
    }

    /** Ends what {@link #enter} began. */
    static void leave(SendRequest request) {
        leave(request, pieces(request));
    }

    private static void leave(SendRequest request, int count) {
        for (int i = 0; i < count; i++) {
            region(request, i).leave();
        }
    }

    /** How many pieces of registered memory there are. */
    private static int pieces(SendRequest request) {
        return request.bytes() != null ? 0 : request.elements().count();
    }

    private static SharedMemoryRegion region(SendRequest request, int piece) {
        return (SharedMemoryRegion) request.elements().region(piece);
    }

    /** Copies a part of the range out. */
    static void copyTo(SendRequest request, long from, MemorySegment target, long offset, long length) {
        byte[] bytes = request.bytes();
        if (bytes != null) {
            MemorySegment.copy(bytes, request.bytesOffset() + (int) from, target, JAVA_BYTE, offset, (int) length);
            return;
        }
        ScatterGatherList elements = request.elements();
        long skip = from;
        long done = 0;
        for (int i = 0; i < elements.count() && done < length; i++) {
            long here = Math.min(elements.lengthBytes(i) - skip, length - done);
            if (here <= 0) {
                skip -= elements.lengthBytes(i);
                continue;
            }
            MemorySegment.copy(region(request, i).segment(), offset(request, i) + skip, target, offset + done, here);
            done += here;
            skip = 0;
        }
    }

    /** Where a piece begins in its region. */
    private static long offset(SendRequest request, int piece) {
        return request.elements().address(piece) - region(request, piece).address();
    }

    /** Copies into the range, which is not of a Java array. */
    static void copyFrom(SendRequest request, MemorySegment source, long offset) {
        ScatterGatherList elements = request.elements();
        long done = 0;
        for (int i = 0; i < elements.count(); i++) {
            long here = elements.lengthBytes(i);
            MemorySegment.copy(source, offset + done, region(request, i).segment(), offset(request, i), here);
            done += here;
        }
    }

    /** Sets the range, which is 8 bytes in one piece or several, to a number in this machine's byte order. */
    static void setLong(SendRequest request, long value) {
        ScatterGatherList elements = request.elements();
        long left = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? value : Long.reverseBytes(value);
        for (int i = 0; i < elements.count(); i++) {
            MemorySegment piece = region(request, i).segment();
            for (int at = 0; at < elements.lengthBytes(i); at++) {
                piece.set(JAVA_BYTE, offset(request, i) + at, (byte) left);
                left >>>= Byte.SIZE;
            }
        }
    }
}
