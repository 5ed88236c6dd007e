package org.rdmasockets.internal.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;

/**
 * An entry that a peer published, reused for the next one. The meaning of all header fields but the payload's length
 * belongs to the users of the link; only that the payload lies inside the ring was checked.
 */
public final class RingEntry {
    private final MemorySegment memory;
    private final ByteBuffer buffer;
    /** The same, for plain accesses: the interpreter is quicker with it. */
    private final LongBuffer words;
    private int offset;
    private int payloadBytes;
    private int kindAndFlags;
    private long slotAndValue;
    private long first;

    /** An entry of a link's memory, as buffers too; nothing in it yet. */
    RingEntry(MemorySegment memory, ByteBuffer buffer, LongBuffer words) {
        this.memory = memory;
        this.buffer = buffer;
        this.words = words;
    }

    /** Copies the header of an entry whose first word was checked; reads each word of the memory once. */
    void load(int newOffset, int lengthBytes, int newKindAndFlags) {
        offset = newOffset;
        payloadBytes = lengthBytes - SegmentLayout.ENTRY_HEADER_BYTES;
        kindAndFlags = newKindAndFlags;
        int word = offset >> SegmentLayout.WORD_SHIFT;
        slotAndValue = words.get(word + 1);
        first = words.get(word + 2);
    }

    /** The kind: 0 to 255 from an honest peer, to 65,534 from another. */
    public int kind() {
        return kindAndFlags & 0xFFFF;
    }

    /** Bits that go with the kind. */
    public int flags() {
        return kindAndFlags >>> 16;
    }

    /** The slot that it is for: an index of {@link LinkSlot#index()}, if the peer is honest. */
    public int slot() {
        return (int) slotAndValue;
    }

    /** A number, such as immediate data. */
    public int value() {
        return (int) (slotAndValue >>> 32);
    }

    /** The argument. */
    public long first() {
        return first;
    }

    /** The second argument, if the kind of entry has one; reads the memory anew. */
    public long second() {
        return words.get((offset >> SegmentLayout.WORD_SHIFT) + SegmentLayout.SECOND_WORD);
    }

    /**
     * Takes an open entry: an honest peer does not change its argument any more after this, see
     * {@link RingWriter#replaceFirst}. The caller sees all that the peer wrote before it last changed the argument.
     * Call this once for an entry.
     */
    public long takeFirst() {
        return (long) SegmentLayout.LONG.getAndSet(buffer, offset + SegmentLayout.ENTRY_FIRST, SegmentLayout.TAKEN);
    }

    /** How much payload there is, 0 to {@link RingWriter#MAX_PAYLOAD_BYTES}. */
    public int payloadBytes() {
        return payloadBytes;
    }

    /**
     * The memory that holds the payload; only {@link #payloadBytes()} from {@link #payloadOffset()} are this entry's.
     */
    public MemorySegment memory() {
        return memory;
    }

    /** Where the payload begins in {@link #memory()}: a multiple of 32. */
    public long payloadOffset() {
        return offset + SegmentLayout.ENTRY_HEADER_BYTES;
    }
}
