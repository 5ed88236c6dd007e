package org.rdmasockets.stream;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The receive ring, lent to the peer in two halves, and the credits given to it. The peer fills the halves in turn;
 * a message never crosses the border between them. Credits are counted when data arrives: a byte stream
 * needs no record of where messages end.
 */
final class ReceiveBuffer {
    private final MemorySegment memory;
    private final int half;
    private final int credits;

    /** Where the next byte is read, relative to the ring. */
    private int readOffset;
    /** Arrived and not yet read. */
    private int unread;
    /** What the peer may still write into its current half. */
    private int room;
    /** Halves lent beyond the current one. */
    private int halvesAhead;
    /** Read and not yet lent again. */
    private int free;
    /** Where the half lies that is lent next, relative to the ring. */
    private int nextHalf;
    /** True once nobody will read: what arrives is free at once. */
    private boolean discarding;
    /** Data messages that arrived. */
    private long received;
    /** Data messages that the peer may have sent. */
    private long granted;

    /**
     * A ring whose first half is lent to the peer.
     *
     * @param memory the remote region
     * @param settings the sizes
     */
    ReceiveBuffer(MemorySegment memory, StreamSettings settings) {
        this.memory = memory;
        this.half = settings.receiveBufferBytes() / 2;
        this.credits = settings.credits();
        this.room = half;
        this.free = half;
        this.nextHalf = half;
        this.granted = credits;
    }

    /**
     * Counts a message that costs a credit.
     *
     * @return null if all is well, otherwise what the peer did wrong
     */
    String messageArrived() {
        if (received == granted) {
            return "sent more than the " + granted + " messages it had credits for";
        }
        received++;
        return null;
    }

    /**
     * Takes data that arrived.
     *
     * @param bytes how many, as the peer says
     * @return null if all is well, otherwise what the peer did wrong
     */
    String dataArrived(int bytes) {
        if (room == 0 && halvesAhead > 0) {
            halvesAhead--;
            room = half;
        }
        if (bytes > room) {
            return "sent " + bytes + " bytes where it had room for " + room;
        }
        room -= bytes;
        unread += bytes;
        if (discarding) {
            discard();
        }
        return null;
    }

    /**
     * Reads what is there.
     *
     * @param bytes where to
     * @param offset the first
     * @param length most bytes
     * @return how many bytes were read, perhaps 0
     */
    int read(byte[] bytes, int offset, int length) {
        int count = Math.min(length, unread);
        int first = Math.min(count, 2 * half - readOffset);
        long ring = RegionLayout.RING_OFFSET;
        MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, ring + readOffset, bytes, offset, first);
        if (first < count) {
            MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, ring, bytes, offset + first, count - first);
        }
        consume(count);
        return count;
    }

    private void consume(int bytes) {
        unread -= bytes;
        free += bytes;
        readOffset += bytes;
        if (readOffset >= 2 * half) {
            readOffset -= 2 * half;
        }
    }

    /** Throws away what is there and what will come. */
    void discard() {
        discarding = true;
        consume(unread);
    }

    /**
     * How much can be read.
     *
     * @return bytes
     */
    int available() {
        return unread;
    }

    /**
     * Tells whether a half can be lent again.
     *
     * @return true if all of it was read
     */
    boolean isHalfDue() {
        return free >= half;
    }

    /**
     * Tells whether the peer should get credits.
     *
     * @return true if half of them were used
     */
    boolean areCreditsDue() {
        return received + credits - granted >= Math.max(1, credits / 2);
    }

    /**
     * Tells whether the peer may be unable to send without an update.
     *
     * @return true if it has no byte left, or half of its credits, of which it may keep the other half in reserve
     */
    boolean isPeerStarved() {
        return room == 0 && halvesAhead == 0 || areCreditsDue();
    }

    /**
     * Where the half lies that {@link #lendHalf} will lend.
     *
     * @return an offset in the remote region
     */
    long nextHalfOffset() {
        return (long) RegionLayout.RING_OFFSET + nextHalf;
    }

    /**
     * How large a half is.
     *
     * @return bytes
     */
    int halfBytes() {
        return half;
    }

    /** Counts a half as lent. */
    void lendHalf() {
        free -= half;
        halvesAhead++;
        nextHalf = half - nextHalf;
    }

    /**
     * Grants what can be granted.
     *
     * @return the new limit, for the peer
     */
    long grant() {
        granted = received + credits;
        return granted;
    }

    /**
     * The limit that the peer has.
     *
     * @return data messages since the start
     */
    long granted() {
        return granted;
    }

    /**
     * How many messages arrived that cost a credit.
     *
     * @return data messages since the start
     */
    long received() {
        return received;
    }

    @Override
    public String toString() {
        return "unread=" + unread + " room=" + room + "+" + halvesAhead + "*" + half + " free=" + free + " received="
                + received + " granted=" + granted;
    }
}
