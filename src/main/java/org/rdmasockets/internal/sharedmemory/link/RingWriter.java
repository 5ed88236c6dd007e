package org.rdmasockets.internal.sharedmemory.link;

import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.INT;
import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.LONG;
import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.RING_BYTES;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import org.rdmasockets.internal.lock.SmallMutex;

/**
 * Puts entries into a link's ring for the peer. Several threads of this process may, one after another:
 *
 * <pre>{@code
 * writer.lock();
 * try {
 *     if (!writer.begin(payloadBytes)) {
 *         return false; // no room: the peer rings when there is, see LinkHandler.onDoorbell
 *     }
 *     writer.header(kind, flags, slot, value, first);
 *     MemorySegment.copy(source, from, writer.memory(), writer.payloadOffset(), payloadBytes);
 *     writer.publish();
 * } finally {
 *     writer.unlock();
 * }
 * writer.notifyPeer(); // once after the last of several, without the lock
 * }</pre>
 */
public final class RingWriter {
    /** Longest payload of one entry, in bytes. */
    public static final int MAX_PAYLOAD_BYTES = 16 << 10;

    private static final int MASK = RING_BYTES - 1;

    private final Link link;
    private final MemorySegment memory;
    /** The same, for ordered accesses. */
    private final ByteBuffer buffer;
    /** The same, for plain accesses: the interpreter is quicker with it. */
    private final LongBuffer words;
    private final int control;
    private final int ring;
    private final SmallMutex lock = new SmallMutex();
    /** Whether the holder of the lock has entered the memory; guarded by lock. */
    private boolean entered;
    /** Whether the memory cannot go while the lock is held; guarded by lock. */
    private boolean mapped;
    /** Bytes ever published; guarded by lock. */
    private long tail;
    /** Bytes ever consumed, as last claimed by the peer and checked; guarded by lock. */
    private long head;
    /** Length of the padding before the entry begun, of the entry, and of its place; guarded by lock. */
    private int padding;
    private int length;
    private int bytes;
    /** Where the entry begun is in the memory, or -1; guarded by lock. */
    private int offset = -1;
    /** Bytes ever published, or written for an entry that was dropped; guarded by lock. */
    private long touched;
    /** As touched, but up to the last bytes that may be other than entries without payload; guarded by lock. */
    private long mixed;
    /** Upper half of the first word of the entry begun; guarded by lock. */
    private int kindAndFlags;

    RingWriter(Link link, MemorySegment memory, ByteBuffer buffer, int direction) {
        this.link = link;
        this.memory = memory;
        this.buffer = buffer;
        words = buffer.asLongBuffer();
        control = SegmentLayout.control(direction);
        ring = SegmentLayout.ring(direction);
    }

    /** Waits for the other producers of this process, each of which holds the lock for one entry or a few. */
    public void lock() {
        lockMapped();
        entered = link.mapping.enter();
        mapped = entered;
    }

    /** As {@link #lock}, for callers who keep the link's memory mapped until after {@link #unlock}, by an open slot. */
    public void lockMapped() {
        lock.lock();
        mapped = true;
    }

    /** Lets the next producer in; an entry begun and not published is dropped. */
    public void unlock() {
        offset = -1;
        mapped = false;
        if (entered) {
            entered = false;
            link.mapping.leave();
        }
        lock.unlock();
    }

    /**
     * Begins an entry with a payload of 0 to {@link #MAX_PAYLOAD_BYTES}. When there is no room, the peer is asked to
     * ring as soon as there is, and room is looked for once more after that, so that no ring is missed. False if there
     * is no room now, or the link is dead ({@link Link#isOpen}).
     */
    public boolean begin(int payloadBytes) {
        assert lock.isHeldByCurrentThread();
        if (payloadBytes < 0 || payloadBytes > MAX_PAYLOAD_BYTES) {
            throw new IndexOutOfBoundsException(payloadBytes);
        }
        if (!mapped || !link.isOpen() || link.announced.heldUp) {
            return false;
        }
        length = SegmentLayout.ENTRY_HEADER_BYTES + payloadBytes;
        int position = (int) tail & MASK;
        bytes = SegmentLayout.aligned(length);
        padding = bytes <= RING_BYTES - position ? 0 : RING_BYTES - position;
        if (!hasRoom(padding + bytes)) {
            return false;
        }
        offset = ring + (position + padding & MASK);
        touched = Math.max(touched, tail + padding + bytes);
        if (padding + payloadBytes > 0) {
            mixed = touched;
        }
        kindAndFlags = 0;
        return true;
    }

    /** Whether the peer has left at most half of the ring unread. The memory is mapped. */
    public boolean isHalfEmpty() {
        assert lock.isHeldByCurrentThread() && mapped;
        return tail - head <= RING_BYTES / 2 || learnHead() && tail - head <= RING_BYTES / 2;
    }

    /** Whether there is room for an entry, and for a word behind it that says that nothing follows yet. */
    private boolean hasRoom(int entryBytes) {
        int bytes = entryBytes + SegmentLayout.ENTRY_ALIGNMENT;
        if (RING_BYTES - (tail - head) >= bytes) {
            return true;
        }
        if (!learnHead()) {
            return false;
        }
        if (RING_BYTES - (tail - head) >= bytes) {
            return true;
        }
        // The fence is between our word and the peer's head; see RingReader.takeBlocked.
        INT.setVolatile(buffer, control + SegmentLayout.BLOCKED, 1);
        VarHandle.fullFence();
        return learnHead() && RING_BYTES - (tail - head) >= bytes;
    }

    /** Learns how far the peer is. Its release store of the head pairs with this acquire. */
    private boolean learnHead() {
        long claimed = (long) LONG.getAcquire(buffer, control + SegmentLayout.HEAD);
        if (claimed - head < 0 || claimed - tail > 0) {
            link.fail("the peer claims to have consumed " + (claimed - head) + " of " + (tail - head) + " bytes");
            return false;
        }
        head = claimed;
        return true;
    }

    /**
     * Sets the header of the entry begun: a kind of 0 to 255, flags of 0 to 65,535, the peer's slot and two
     * arguments. Without this it is all zero.
     */
    public void header(int kind, int flags, int slot, int value, long first) {
        assert offset >= 0 && kind >>> 8 == 0 && flags >>> 16 == 0;
        kindAndFlags = kind | flags << 16;
        int word = offset >> SegmentLayout.WORD_SHIFT;
        words.put(word + 1, slot & 0xFFFFFFFFL | (long) value << 32);
        words.put(word + 2, first);
    }

    /** Sets the second argument of the entry begun, which has one only then. */
    public void second(long second) {
        assert offset >= 0;
        words.put((offset >> SegmentLayout.WORD_SHIFT) + SegmentLayout.SECOND_WORD, second);
    }

    /** Where the entry begun is, for {@link #replaceFirst} after it was published. */
    public long position() {
        assert offset >= 0;
        return tail + padding;
    }

    /**
     * Changes the first argument of an entry that was published, unless the peer has taken it; see
     * {@link RingEntry#takeFirst}. Neither argument is -1. A peer that takes the new one sees all that was copied to
     * its regions before. The caller need not notify the peer: if it has not taken the entry, it is still going to.
     * False if nothing was changed: the entry was taken or has gone, or nothing may be published now.
     */
    public boolean replaceFirst(long position, long expected, long replacement) {
        assert lock.isHeldByCurrentThread() && expected != SegmentLayout.TAKEN && replacement != SegmentLayout.TAKEN;
        // Bytes touched since may lie where the entry was, and look like it.
        return mapped && link.isOpen() && !link.announced.heldUp && touched - position <= RING_BYTES
                && LONG.compareAndSet(buffer, ring + ((int) position & MASK) + SegmentLayout.ENTRY_FIRST, expected,
                        replacement);
    }

    /** The ring, into which the payload of the entry begun, and only that, may be put. */
    public MemorySegment memory() {
        return memory;
    }

    /** Where the payload of the entry begun belongs in {@link #memory()}: a multiple of 32. */
    public long payloadOffset() {
        assert offset >= 0;
        return offset + SegmentLayout.ENTRY_HEADER_BYTES;
    }

    /** The index in words of a position of the ring. */
    private int word(long position) {
        return ring + ((int) position & MASK) >> SegmentLayout.WORD_SHIFT;
    }

    /** Publishes the entry begun, by one store behind a fence: copies to the peer's regions are seen first. */
    public void publish() {
        assert lock.isHeldByCurrentThread() && offset >= 0;
        long position = tail + padding;
        long next = position + bytes;
        if (next - RING_BYTES < mixed) {
            words.put(word(next), 0);
        }
        int entry = offset >> SegmentLayout.WORD_SHIFT;
        if (padding > 0) {
            words.put(entry, SegmentLayout.firstWord(position, length, kindAndFlags));
            VarHandle.releaseFence();
            words.put(word(tail), SegmentLayout.firstWord(tail, padding, SegmentLayout.PADDING));
        } else {
            VarHandle.releaseFence();
            words.put(entry, SegmentLayout.firstWord(position, length, kindAndFlags));
        }
        tail = next;
        offset = -1;
    }

    /** Rings though the peer is not armed, for what must not wait. Without the lock; after {@link #publish}. */
    public void ringPeer() {
        link.socket.ring();
    }

    /** Rings if the peer is armed. Without the lock; after {@link #publish}. */
    public void notifyPeer() {
        if (link.mapping.enter()) {
            try {
                notifyPeerMapped();
            } finally {
                link.mapping.leave();
            }
        }
    }

    /** As {@link #notifyPeer()}, for callers who keep the link's memory mapped, by an open slot. */
    public void notifyPeerMapped() {
        // The fence is between our entry and its word; in RingReader.arm there is one between its word and our entry.
        VarHandle.fullFence();
        if ((int) words.get(control + SegmentLayout.ARMED >> SegmentLayout.WORD_SHIFT) != 0
                && (int) INT.getAndSet(buffer, control + SegmentLayout.ARMED, 0) != 0) { // one ring for all entries
            try {
                link.socket.ring();
            } catch (Throwable e) { // the peer sleeps and asks no more: the next entry of any connection rings
                INT.setVolatile(buffer, control + SegmentLayout.ARMED, 1);
                throw e;
            }
        }
    }
}
