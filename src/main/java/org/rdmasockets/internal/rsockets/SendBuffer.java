package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.SendRequest;

/**
 * The send ring: written bytes stay here until the device has sent them. Requests complete in the order in which they
 * were posted, so two numbers describe the ring. A device that copies what is posted takes the bytes from the caller's
 * array: then nothing is kept here, and there is always room.
 *
 * <p>The ring is small in the beginning and lies in the connection's own region. While it holds writers up, a larger
 * one is asked for. New bytes go into the larger one at once; the former ring stays until the device has sent all bytes
 * in it.
 */
final class SendBuffer {
    /** Less free room than this is not worth a message of its own (C's low-water mark). */
    private static final int LOW_WATER_BYTES = 2048;
    /** Of all connections whose device copies what is posted: it has nothing in it, and never changes. */
    private static final SendBuffer NOT_NEEDED = new SendBuffer();

    private final MemoryRegion first;
    final boolean copiesAtPost;
    /** See {@link StreamMemory#takeChange}. */
    boolean changed;
    private final int least;
    private final int most;
    private MemoryRegion region;
    /** How large the ring is now. */
    int capacity;
    private int lowWater;
    private int next;
    private int used;
    /** The ring before this one, as long as something is in it; else null. */
    private MemoryRegion former;
    private int formerUsed;
    /** A ring that is not needed any more, for the owner to close; else null. */
    private MemoryRegion retired;
    /** Size of the ring that the owner is to make, or 0. */
    private int wanted;
    /** No larger ring is asked for. */
    private int limit;

    SendBuffer(MemoryRegion first, StreamSettings settings) {
        this.copiesAtPost = false;
        this.first = first;
        this.least = settings.firstSendBytes();
        this.most = settings.sendBufferBytes();
        this.limit = most;
        use(first, least);
    }

    /** For a device that copies what is posted. */
    private SendBuffer() {
        this.copiesAtPost = true;
        this.first = null;
        this.least = Integer.MAX_VALUE;
        this.most = Integer.MAX_VALUE;
        this.limit = most;
        use(null, least);
    }

    /** The send ring of a new connection; all whose device copies what is posted have the same. */
    static SendBuffer of(MemoryRegion first, StreamSettings settings) {
        return settings.copiesAtPost() ? NOT_NEEDED : new SendBuffer(first, settings);
    }

    private void use(MemoryRegion ring, int bytes) {
        region = ring;
        capacity = bytes;
        lowWater = Math.min(LOW_WATER_BYTES, bytes / 2);
        next = 0;
        used = 0;
    }

    /** Tells whether it is worth while to send: true if more than a little is free; an empty ring always says so. */
    boolean hasRoom() {
        return capacity - used >= lowWater;
    }

    int free() {
        return capacity - used;
    }

    /**
     * Copies 1 to {@link #free()} bytes behind what is there, unless the device copies them; the request gets one
     * element, or two where the ring wraps. This and the next are the only places that copy outgoing data.
     */
    void place(byte[] bytes, int offset, int length, SendRequest request) {
        if (copiesAtPost) {
            request.bytes(bytes, offset, length);
            return;
        }
        MemorySegment memory = region.segment();
        int first = Math.min(length, capacity - next);
        MemorySegment.copy(bytes, offset, memory, ValueLayout.JAVA_BYTE, next, first);
        request.add(region, next, first);
        if (first < length) {
            MemorySegment.copy(bytes, offset + first, memory, ValueLayout.JAVA_BYTE, 0, length - first);
            request.add(region, 0, length - first);
        }
    }

    /** Copies 1 to {@link #free()} bytes behind what is there; not for a device that copies them. */
    void place(MemorySegment bytes, long offset, int length, SendRequest request) {
        assert !copiesAtPost;
        MemorySegment memory = region.segment();
        int first = Math.min(length, capacity - next);
        MemorySegment.copy(bytes, offset, memory, next, first);
        request.add(region, next, first);
        if (first < length) {
            MemorySegment.copy(bytes, offset + first, memory, 0, length - first);
            request.add(region, 0, length - first);
        }
    }

    /** Keeps what was placed last until {@link #release}; not inline data, which was copied at the post. */
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

    /** Frees the oldest bytes. */
    void release(int length) {
        if (copiesAtPost) {
            return;
        }
        int ofFormer = Math.min(length, formerUsed);
        formerUsed -= ofFormer;
        used -= length - ofFormer;
        assert used >= 0;
        if (former != null && formerUsed == 0) {
            retire(former);
            former = null;
        }
    }

    private void retire(MemoryRegion ring) {
        if (ring != first) {
            changed = true;
            retired = ring;
        }
    }

    /** Asks for a larger ring, unless it is as large as may be, or one is on its way or has just been replaced. */
    void wantMore() {
        if (wanted == 0 && capacity < limit && former == null && retired == null) {
            wanted = most;
            changed = true;
        }
    }

    /** The size in bytes of the ring that the owner is to make; 0 for none. */
    int wanted() {
        return wanted;
    }

    /** Takes the ring that was asked for, of at least that size; if it is not wanted any more, it goes back at once. */
    void supply(MemoryRegion ring, int bytes) {
        changed = true;
        if (bytes != wanted) {
            retired = ring;
            return;
        }
        wanted = 0;
        replace(ring, bytes);
    }

    private void replace(MemoryRegion ring, int bytes) {
        assert former == null;
        MemoryRegion old = region;
        int oldUsed = used;
        use(ring, bytes);
        if (oldUsed == 0) {
            retire(old);
        } else {
            former = old;
            formerUsed = oldUsed;
        }
    }

    /** Asks no more until the next {@link #shrink}: the owner could not make what was asked for. */
    void refuse() {
        if (!copiesAtPost) {
            changed = true;
            wanted = 0;
            limit = capacity;
        }
    }

    /** Goes back to the small ring if nothing is in the large one. */
    void shrink() {
        if (copiesAtPost) {
            return;
        }
        changed = true;
        wanted = 0;
        limit = most;
        if (region != first && used == 0 && former == null && retired == null) {
            replace(first, least);
        }
    }

    /** A ring for the owner to close: a ring that nothing is in, or null. */
    MemoryRegion takeRetired() {
        MemoryRegion result = retired;
        if (result != null) {
            retired = null;
        }
        return result;
    }

    /** Tells whether the owner has something to make or to close. */
    boolean isDue() {
        return wanted != 0 || retired != null;
    }
}
