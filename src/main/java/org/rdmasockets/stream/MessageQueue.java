package org.rdmasockets.stream;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * Messages that lie where they arrived, in the receives of {@link SendReceive}. A receive is posted again when all of
 * its message was read, and only then gives the peer a credit: so there is always a receive for what it may send.
 */
final class MessageQueue implements Received {
    private final StreamConnection connection;
    private final ReceiveQueue receives;
    private final int credits;
    private final int mostBytes;
    /** The receives of messages that were not read to their end, and the lengths; a ring. */
    private final int[] slots;
    private final int[] lengths;
    private int head;
    private int count;
    /** How much of the oldest message was read. */
    private int headOffset;
    private int unread;
    private int viewed;
    private boolean discarding;
    /** Messages that arrived, that were read to their end, and that the peer may have sent. */
    private long arrived;
    private long finished;
    private long granted;

    /** An empty queue. */
    MessageQueue(Flow.Parts parts) {
        connection = parts.connection();
        receives = parts.receiveQueue();
        credits = parts.settings().credits();
        mostBytes = parts.settings().messageBytes();
        granted = credits;
        slots = new int[credits];
        lengths = new int[credits];
    }

    /** Takes a message. Null if all is well, otherwise what the peer did wrong. */
    String arrive(int slot, int bytes) {
        if (arrived == granted) {
            return "sent more than the " + granted + " messages it had credits for";
        }
        if (bytes < 1 || bytes > mostBytes) {
            return "sent a message of " + bytes + " bytes, where 1 to " + mostBytes + " fit";
        }
        arrived++;
        int tail = (head + count++) % slots.length;
        slots[tail] = slot;
        lengths[tail] = bytes;
        unread += bytes;
        if (discarding) {
            discard();
        }
        return null;
    }

    @Override
    public int available() {
        return unread - viewed;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) {
        DirectReceiver.ensureClosed(viewed);
        int wanted = Math.min(length, unread);
        int done = 0;
        while (done < wanted) {
            int piece = Math.min(wanted - done, lengths[head] - headOffset);
            MemorySegment.copy(receives.region().segment(), ValueLayout.JAVA_BYTE, viewedOffset(), bytes,
                    offset + done, piece);
            skip(piece);
            done += piece;
        }
        return wanted;
    }

    private void skip(int bytes) {
        headOffset += bytes;
        unread -= bytes;
        if (headOffset == lengths[head]) {
            int slot = slots[head];
            head = (head + 1) % slots.length;
            count--;
            headOffset = 0;
            finished++;
            connection.repost(slot);
        }
    }

    @Override
    public int view() {
        DirectReceiver.ensureClosed(viewed);
        viewed = unread == 0 ? 0 : lengths[head] - headOffset;
        return viewed;
    }

    @Override
    public MemoryRegion viewedRegion() {
        return receives.region();
    }

    @Override
    public long viewedOffset() {
        return receives.payloadOffset(slots[head]) + headOffset;
    }

    @Override
    public void endView() {
        int bytes = viewed;
        viewed = 0;
        skip(bytes);
        if (discarding) {
            discard();
        }
    }

    @Override
    public void discard() {
        discarding = true;
        while (unread > 0 && viewed == 0) {
            skip(lengths[head] - headOffset);
        }
    }

    /** Tells whether the peer should get credits: half of them were used, and their receives are posted again. */
    boolean areCreditsDue() {
        return finished + credits - granted >= Math.max(1, credits / 2);
    }

    /** Grants what can be granted; returns the new limit, in messages since the start. */
    long grant() {
        granted = finished + credits;
        return granted;
    }

    @Override
    public String toString() {
        return "unread=" + unread + " in " + count + " messages, arrived=" + arrived + " granted=" + granted;
    }
}
