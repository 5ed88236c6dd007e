package org.rdmasockets.internal.rsockets;

import org.rdmasockets.verbs.MemoryRegion;

/**
 * Messages that lie where they arrived, in the receives of {@link SendReceive}. A receive is posted again when all of
 * its message was read, and only then gives the peer a credit: so there is always a receive for what it may send.
 */
final class MessageQueue extends Received {
    private final StreamConnection connection;
    private final MessageReceiver receives;
    private final int credits;
    private final int mostBytes;
    /** The receives of messages that were not read to their end, and the lengths; a ring. */
    private final int[] slots;
    private final int[] lengths;
    private int head;
    private int count;
    /** How much of the oldest message was read. */
    private int headOffset;
    /** Messages that arrived, that were read to their end, and that the peer may have sent. */
    private long arrived;
    private long finished;
    private long granted;

    MessageQueue(StreamConnection connection) {
        this.connection = connection;
        receives = connection.receiveQueue;
        credits = connection.settings().credits();
        mostBytes = connection.settings().messageBytes();
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
        add(bytes);
        return null;
    }

    @Override
    int piece() {
        return unread == 0 ? 0 : lengths[head] - headOffset;
    }

    @Override
    void skip(int bytes) {
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
    MemoryRegion viewedRegion() {
        return receives.region();
    }

    @Override
    long viewedOffset() {
        return receives.payloadOffset(slots[head]) + headOffset;
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
