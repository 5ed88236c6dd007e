package org.rdmasockets.stream;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * The ring that the peer of a {@link ReadRing} writes to, and the position that it reads: how many bytes were read, and
 * how many messages were taken in with their receives posted again. The position is there twice, the second copy
 * written after the first, so that a read that caught it half changed shows. It is stored in steps, for a position that
 * changes with each small message is seldom caught whole, and its cache line would go to and fro between the two:
 *
 * <pre>
 * +----------------+----------------+----------------+----------------+
 * | bytes released | messages taken | bytes released | messages taken |  8 bytes each, in this end's byte order
 * +----------------+----------------+----------------+----------------+
 * </pre>
 */
final class ReceiveRing implements Received {
    /** Length of the position in bytes. */
    static final int POSITION_BYTES = 4 * Long.BYTES;

    /** In how many steps the position goes around the ring; the peer asks for at most a quarter at once. */
    private static final int STEPS = 16;

    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

    private final MemoryRegion region;
    private final long offset;
    private final long positionOffset;
    final long capacity;
    private final int credits;
    private final ReceiveQueue receives;
    private long arrived;
    private long read;
    private int viewed;
    private boolean discarding;
    private long messages;
    /** What the peer can know of both. */
    private long publishedBytes;
    private long published;

    /** An empty ring. */
    ReceiveRing(Flow.Parts parts) {
        RegionLayout layout = parts.memory().layout();
        region = parts.memory().remote();
        offset = layout.ringOffset();
        positionOffset = offset - RegionLayout.POSITION_BEFORE_RING;
        capacity = parts.settings().ringBytes();
        credits = parts.settings().credits();
        receives = parts.receiveQueue();
    }

    /**
     * Takes a message, whose receive was given back before. Null if all is well, otherwise what the peer did wrong.
     */
    String arrive(int bytes) {
        if (messages - published >= credits) {
            return "sent more than the " + credits + " messages it had credits for";
        }
        long room = Math.min(capacity - (arrived - read), capacity - arrived % capacity);
        if (bytes == 0 || bytes > room) {
            return "sent " + bytes + " bytes where it had room for " + room;
        }
        messages++;
        arrived += bytes;
        if (discarding) {
            discard();
        }
        advance();
        return null;
    }

    /** Shows the peer how far we are, if that is a step further than what it can know. */
    private void advance() {
        if (read - publishedBytes >= Math.max(1, capacity / STEPS)
                || messages - receives.freeCount() - published >= Math.max(1, credits / STEPS)) {
            publish();
        }
    }

    /** Shows the peer how far we are. */
    void publish() {
        publishedBytes = read;
        published = Math.max(published, messages - receives.freeCount());
        MemorySegment memory = region.segment();
        for (int copy = 0; copy < 2; copy++) {
            long at = positionOffset + copy * 2L * Long.BYTES;
            LONG.setRelease(memory, at, read);
            LONG.setRelease(memory, at + Long.BYTES, published);
        }
    }

    @Override
    public int available() {
        return (int) Math.min(arrived - read - viewed, Integer.MAX_VALUE);
    }

    /** How much is free. */
    long free() {
        return capacity - (arrived - read);
    }

    @Override
    public int read(byte[] bytes, int at, int length) {
        DirectReceiver.ensureClosed(viewed);
        int wanted = (int) Math.min(length, arrived - read);
        int done = 0;
        while (done < wanted) {
            int piece = (int) Math.min(wanted - done, capacity - read % capacity);
            MemorySegment.copy(region.segment(), ValueLayout.JAVA_BYTE, viewedOffset(), bytes, at + done, piece);
            read += piece;
            done += piece;
        }
        if (done > 0) {
            advance();
        }
        return done;
    }

    @Override
    public int view() {
        DirectReceiver.ensureClosed(viewed);
        viewed = (int) Math.min(Math.min(arrived - read, capacity - read % capacity), Integer.MAX_VALUE);
        return viewed;
    }

    @Override
    public MemoryRegion viewedRegion() {
        return region;
    }

    @Override
    public long viewedOffset() {
        return offset + read % capacity;
    }

    @Override
    public void endView() {
        read += viewed;
        viewed = 0;
        if (discarding) {
            discard();
        }
        advance();
    }

    @Override
    public void discard() {
        discarding = true;
        if (viewed == 0) {
            read = arrived;
            advance();
        }
    }

    @Override
    public String toString() {
        return "unread=" + (arrived - read) + " messages=" + messages + " published=" + publishedBytes
                + " in " + published;
    }
}
