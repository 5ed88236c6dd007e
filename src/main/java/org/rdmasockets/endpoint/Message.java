package org.rdmasockets.endpoint;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.OptionalInt;

/**
 * A message that has arrived, in registered memory of this end: what has come can be sent on without a copy. Close it
 * when it is of no use any more.
 *
 * @since 0.1
 */
public final class Message implements AutoCloseable {
    /** Null if there are no bytes and no memory for them. */
    private final LocalRegion region;
    private final long length;
    private final OptionalInt immediate;

    /** A message of so many bytes in a region that is perhaps longer; null if there is none. */
    Message(LocalRegion region, long length, OptionalInt immediate) {
        this.region = region;
        this.length = length;
        this.immediate = immediate;
    }

    /** {@return how many bytes the message has, 0 for one that is nothing but its immediate data} */
    public long length() {
        return length;
    }

    /** {@return the 32 bits that the sender has put beside the bytes, or empty if none} */
    public OptionalInt immediate() {
        return immediate;
    }

    /** {@return the bytes, where they are: a segment of {@link #length} bytes that throws once this is closed} */
    public MemorySegment segment() {
        return length == 0 ? MemorySegment.NULL : region.segment().asSlice(0, length);
    }

    /**
     * The bytes as a region, to be sent on or written elsewhere.
     *
     * @return a part of {@link #length} bytes of this message's memory
     * @throws IllegalStateException if there are none
     */
    public LocalRegion region() {
        if (length == 0) {
            throw new IllegalStateException("a message without bytes has no region");
        }
        return region.slice(0, length);
    }

    /**
     * The bytes on the heap. A caller that uses only this avoids the cost of {@link #segment} when this is closed.
     *
     * @return a copy
     */
    public byte[] toArray() {
        if (length == 0) {
            return new byte[0];
        }
        RangeLocks.Hold hold = region.hold(false, "copy"); // the memory stays this message's meanwhile
        try {
            return region.memory().asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
        } finally {
            hold.release();
        }
    }

    /** Gives the memory back. Idempotent. */
    @Override
    public void close() {
        if (region != null) {
            region.close();
        }
    }

    @Override
    public String toString() {
        return "Message[" + length + " bytes" + (immediate.isPresent() ? ", immediate=" + immediate.getAsInt() : "")
                + "]";
    }
}
