package org.rdmasockets.stream;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.SendRequest;

/**
 * The send ring: written bytes stay here until the device has sent them. Requests complete in the order in which they
 * were posted, so two numbers describe the ring. A device that copies what is posted takes the bytes from the caller's
 * array: then nothing is kept here, and there is always room.
 */
final class SendBuffer {
    /** Less free room than this is not worth a message of its own (C's low-water mark). */
    private static final int LOW_WATER_BYTES = 2048;

    private final MemoryRegion region;
    private final MemorySegment memory;
    private final boolean copiesAtPost;
    private final int capacity;
    private final int lowWater;
    private int next;
    private int used;

    /**
     * An empty ring at the beginning of a region.
     *
     * @param region the send region
     * @param settings the sizes
     */
    SendBuffer(MemoryRegion region, StreamSettings settings) {
        this.copiesAtPost = settings.copiesAtPost();
        this.region = region;
        this.memory = region.segment();
        this.capacity = copiesAtPost ? Integer.MAX_VALUE : settings.sendBufferBytes();
        this.lowWater = Math.min(LOW_WATER_BYTES, capacity / 2);
    }

    /**
     * Tells whether it is worth while to send.
     *
     * @return true if more than a little is free; an empty ring always says so
     */
    boolean hasRoom() {
        return capacity - used >= lowWater;
    }

    /**
     * How much is free.
     *
     * @return bytes
     */
    int free() {
        return capacity - used;
    }

    /**
     * Copies bytes behind what is there, unless the device copies them. The only place that copies outgoing data.
     *
     * @param bytes where from
     * @param offset the first
     * @param length how many, 1 to {@link #free()}
     * @param request gets one element, or two where the ring wraps
     */
    void place(byte[] bytes, int offset, int length, SendRequest request) {
        if (copiesAtPost) {
            request.bytes(bytes, offset, length);
            return;
        }
        int first = Math.min(length, capacity - next);
        MemorySegment.copy(bytes, offset, memory, ValueLayout.JAVA_BYTE, next, first);
        request.add(region, next, first);
        if (first < length) {
            MemorySegment.copy(bytes, offset + first, memory, ValueLayout.JAVA_BYTE, 0, length - first);
            request.add(region, 0, length - first);
        }
    }

    /**
     * Keeps what was placed last until {@link #release}. Not called for inline data, which the device copies when it is
     * posted.
     *
     * @param length how many bytes
     * @return how many of them are kept
     */
    int keep(int length) {
        if (copiesAtPost) {
            return 0;
        }
        used += length;
        next += length;
        if (next >= capacity) {
            next -= capacity;
        }
        return length;
    }

    /**
     * Frees the oldest bytes.
     *
     * @param length how many
     */
    void release(int length) {
        used -= length;
        assert used >= 0;
    }
}
