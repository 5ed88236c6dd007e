package org.rdmasockets.endpoint;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.OptionalInt;
import org.rdmasockets.internal.lock.StackRoom;

/**
 * A message that has arrived, in registered memory of this end: what has come can be sent on without a copy. Close it
 * when it is of no use any more.
 *
 * <p>A short one stays where it has come until {@link #segment} or {@link #region} is called, which give it memory of
 * its own. Any thread may call anything.
 *
 * @since 0.1
 */
public final class Message implements AutoCloseable {
    private final EndpointProtocol link;
    private final long length;
    private final OptionalInt immediate;
    /** Null while there are no bytes, or these are in the fragment; guarded by this, as all below. */
    private LocalRegion region;
    /** The receive buffer with all of it, which goes back to the peer as a credit; null for none. */
    private ReceiveSide.Fragment fragment;
    private boolean closed;

    /** A message of so many bytes in a region that is perhaps longer; null if there is none. */
    Message(EndpointProtocol link, LocalRegion region, long length, OptionalInt immediate) {
        this.link = link;
        this.region = region;
        this.length = length;
        this.immediate = immediate;
    }

    /** A message that is still in its receive buffer, and not empty. */
    Message(EndpointProtocol link, ReceiveSide.Fragment fragment, OptionalInt immediate) {
        this(link, null, fragment.bytes().byteSize(), immediate);
        this.fragment = fragment;
    }

    /** {@return how many bytes the message has, 0 for one that is nothing but its immediate data} */
    public long length() {
        return length;
    }

    /** {@return the 32 bits that the sender has put beside the bytes, or empty if none} */
    public OptionalInt immediate() {
        return immediate;
    }

    /**
     * The bytes, where they are.
     *
     * @return a segment of {@link #length} bytes that throws once this is closed
     * @throws IllegalStateException if this is closed
     * @throws UncheckedIOException if there is no memory for them
     */
    public MemorySegment segment() {
        return length == 0 ? MemorySegment.NULL : own().segment().asSlice(0, length);
    }

    /**
     * The bytes as a region, to be sent on or written elsewhere.
     *
     * @return a part of {@link #length} bytes of this message's memory
     * @throws IllegalStateException if there are none, or this is closed
     * @throws UncheckedIOException if there is no memory for them
     */
    public LocalRegion region() {
        if (length == 0) {
            throw new IllegalStateException("a message without bytes has no region");
        }
        return own().slice(0, length);
    }

    /** Memory of its own. */
    private synchronized LocalRegion own() {
        if (region == null) {
            StackRoom.ensure();
            ensureOpen();
            LocalRegion made;
            try {
                made = link.domain.allocateForMessage(length);
            } catch (EndpointException e) {
                throw new IllegalStateException("the endpoint is closed", e);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            boolean copied = false;
            try {
                read(bytes -> MemorySegment.copy(bytes, 0, made.memory(), 0, length));
                copied = true;
            } finally {
                if (!copied) {
                    made.block.close();
                }
            }
            region = made;
            giveBack();
        }
        return region;
    }

    /**
     * The bytes on the heap. A caller that uses only this and {@link #copyTo} avoids the cost of {@link #segment}.
     *
     * @return a copy
     * @throws IllegalStateException if this, or its endpoint, is closed
     */
    public byte[] toArray() {
        byte[] all = new byte[Math.toIntExact(length)];
        copyTo(0, all, 0, all.length);
        return all;
    }

    /**
     * Copies a part of the bytes into an array.
     *
     * @param from the first byte to be copied
     * @param into where they go
     * @param at where the first goes in it
     * @param size how many
     * @throws IndexOutOfBoundsException if there are not so many, or they do not fit
     * @throws IllegalStateException if this, or its endpoint, is closed
     */
    public synchronized void copyTo(long from, byte[] into, int at, int size) {
        Objects.checkFromIndexSize(from, size, length);
        Objects.checkFromIndexSize(at, size, into.length);
        if (size == 0) {
            return;
        }
        StackRoom.ensure();
        if (region == null) {
            ensureOpen();
            read(bytes -> MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, from, into, at, size));
            return;
        }
        RangeLocks.Hold hold = region.hold(false, "copy"); // the memory stays this message's meanwhile
        try {
            MemorySegment.copy(region.memory(), ValueLayout.JAVA_BYTE, from, into, at, size);
        } finally {
            hold.release();
        }
    }

    /** Something that is done with the bytes where they have come. */
    private interface Reading {
        void read(MemorySegment bytes);
    }

    /** Reads the receive buffer with the protocol lock, which keeps a close from giving it to others meanwhile. */
    private void read(Reading reading) {
        try {
            link.<Void, EndpointException>compute(unused -> {
                link.ensureNotDiscarded();
                reading.read(fragment.bytes());
                return null;
            });
        } catch (EndpointException e) {
            throw new IllegalStateException("the endpoint is closed", e);
        }
    }

    private void ensureOpen() {
        if (closed) {
            throw new IllegalStateException("the message is closed");
        }
    }

    /** The receive buffer goes back, once. */
    private void giveBack() {
        ReceiveSide.Fragment used = fragment;
        fragment = null;
        if (used != null) {
            link.compute(unused -> {
                link.messageSide().takeBack(used);
                return null;
            });
        }
    }

    /** Gives the memory back. Idempotent. */
    @Override
    public synchronized void close() {
        StackRoom.ensure();
        closed = true;
        giveBack();
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
