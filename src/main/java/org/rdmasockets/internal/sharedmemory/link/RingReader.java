package org.rdmasockets.internal.sharedmemory.link;

import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.INT;
import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.RING_BYTES;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;

/**
 * Takes entries out of the ring that the peer fills. Its position is private, and each entry's length is copied out and
 * then checked. The consumer lock of the link is held while entries are read, and its memory is mapped in every call:
 * readers keep it mapped, a thread that only looks or arms has entered it.
 */
final class RingReader {
    private static final int MASK = RING_BYTES - 1;
    private static final int MAX_LENGTH = SegmentLayout.ENTRY_HEADER_BYTES + RingWriter.MAX_PAYLOAD_BYTES;

    private final Link link;
    private final ByteBuffer buffer;
    /** The same, for plain accesses: the interpreter is quicker with it. */
    private final LongBuffer words;
    private final int control;
    private final int ring;
    private final RingEntry entry;
    /** Bytes ever consumed; a thread that only looks reads it without the lock. */
    private long head;
    /** Where the head was when the producer was last asked whether it waits for room; guarded by the consumer lock. */
    private long asked;
    /** Whether the peer broke the rules of the ring, so that it is never read again. */
    private boolean broken;

    RingReader(Link link, MemorySegment memory, ByteBuffer buffer, int direction) {
        this.link = link;
        this.buffer = buffer;
        words = buffer.asLongBuffer();
        control = SegmentLayout.control(direction);
        ring = SegmentLayout.ring(direction);
        entry = new RingEntry(memory, buffer, words);
    }

    /** Hands entries to the handler; returns how many, padding included, so that padding holds no reader up. */
    int read(int limit) {
        int taken = 0;
        while (taken < limit && !broken && takeOne()) {
            taken++;
        }
        return taken;
    }

    /**
     * Whether everything that the peer has published by now was taken. Without the lock, but with the memory entered:
     * if another thread takes entries meanwhile, the answer may be wrong for a moment, so it is not enough after
     * {@link #arm}.
     */
    boolean isEmpty() {
        long position = head;
        long word = words.get(ring + ((int) position & MASK) >> SegmentLayout.WORD_SHIFT);
        VarHandle.acquireFence(); // a later call reads both anew
        return !SegmentLayout.isFirstWord(word, position);
    }

    /** Looks as often as told, spinning in between; true as soon as there is something. As {@link #isEmpty}. */
    boolean spin(int looks) {
        boolean some = !isEmpty();
        for (int i = 1; i < looks && !some; i++) {
            Thread.onSpinWait();
            some = !isEmpty();
        }
        return some;
    }

    /**
     * Takes the entry at the head; false if there is none yet, or it is malformed. The fence after its first word pairs
     * with the peer's before that.
     */
    private boolean takeOne() {
        int position = (int) head & MASK;
        long firstWord = words.get(ring + position >> SegmentLayout.WORD_SHIFT);
        VarHandle.acquireFence();
        if (!SegmentLayout.isFirstWord(firstWord, head)) {
            return false;
        }
        int length = SegmentLayout.length(firstWord);
        int kindAndFlags = (int) (firstWord >>> Integer.SIZE);
        boolean padding = (kindAndFlags & 0xFFFF) == SegmentLayout.PADDING;
        int longest = padding ? RING_BYTES : MAX_LENGTH;
        if (length < SegmentLayout.ENTRY_HEADER_BYTES || length > longest
                || SegmentLayout.aligned(length) > RING_BYTES - position) {
            broken = true;
            link.fail("the peer published an entry of " + length + " bytes");
            return false;
        }
        if (!padding) {
            entry.load(ring + position, length, kindAndFlags);
            link.handler().onEntry(link, entry);
        }
        advance(SegmentLayout.aligned(length));
        return true;
    }

    /** Gives the room back; the peer's acquire of the head pairs with this fence. */
    private void advance(int bytes) {
        head += bytes;
        VarHandle.releaseFence();
        words.put(control + SegmentLayout.HEAD >> SegmentLayout.WORD_SHIFT, head);
    }

    /**
     * Whether the producer has to be rung because there is room again. The fence is between our head and its word; in
     * {@link RingWriter#begin} there is one between its word and our head. So a producer that this has overlooked saw
     * that head, and waits with a ring that is all but full: it is enough to ask once for each quarter of it.
     */
    boolean takeBlocked() {
        if (head - asked < RING_BYTES / 4) {
            return false;
        }
        asked = head;
        VarHandle.fullFence();
        return (int) INT.getOpaque(buffer, control + SegmentLayout.BLOCKED) != 0
                && (int) INT.getAndSet(buffer, control + SegmentLayout.BLOCKED, 0) != 0;
    }

    /** Asks the producer to ring at its next entry; see {@link RingWriter#notifyPeer} for the other fence. */
    void arm() {
        INT.setVolatile(buffer, control + SegmentLayout.ARMED, 1);
        VarHandle.fullFence();
    }
}
