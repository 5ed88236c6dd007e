package org.rdmasockets.internal.rsockets;

/** The peer's ring, as far as it is known here. Positions are bytes and messages since the start, 64 bits wide. */
final class PeerRing {
    private static final int PARTS = 8;

    private final long address;
    final int key;
    private final long capacity;
    private final int credits;
    private long sent;
    private long sentMessages;
    /** The bytes that the peer had read, and the messages that it had taken in, at our last look. */
    private long released;
    private long taken;
    /** The bytes and messages that we had sent when we last decided to look. */
    private long sentAtLook;
    private long sentMessagesAtLook;

    PeerRing(ConnectData peer) {
        address = peer.chunkAddress();
        key = peer.chunkKey();
        capacity = peer.flowBytes();
        credits = peer.credits();
    }

    int room() {
        long room = Math.min(capacity - (sent - released), capacity - sent % capacity);
        return hasCredit() ? (int) Math.min(room, ImmediateData.MAX_ARGUMENT) : 0;
    }

    /** Whether a message may be sent, if there is room for bytes. */
    boolean hasCredit() {
        return sentMessages - taken < credits;
    }

    long nextAddress() {
        return address + sent % capacity;
    }

    void write(int bytes) {
        sent += bytes;
        sentMessages++;
    }

    /** Where the peer stores its position. */
    long positionAddress() {
        return address - RegionLayout.POSITION_BEFORE_RING;
    }

    /** Takes what the peer says; null if all is well, otherwise what it did wrong. */
    String advance(long newReleased, long newTaken) {
        if (newReleased < released || newReleased > sent || newTaken < taken || newTaken > sentMessages) {
            return "said it had read " + newReleased + " of " + sent + " bytes (" + released + " before) and taken "
                    + newTaken + " of " + sentMessages + " messages (" + taken + " before)";
        }
        released = newReleased;
        taken = newTaken;
        return null;
    }

    /** Whether the ring may be full soon, and enough was sent since the last look to look again. */
    boolean isLookOfUse() {
        boolean low = sent - released > capacity / 2 || sentMessages - taken > credits / 2;
        return low && (sent - sentAtLook >= Math.max(1, capacity / PARTS)
                || sentMessages - sentMessagesAtLook >= Math.max(1, credits / PARTS));
    }

    boolean hasSentSinceLook() {
        return sentMessages != sentMessagesAtLook;
    }

    void look() {
        sentAtLook = sent;
        sentMessagesAtLook = sentMessages;
    }

    @Override
    public String toString() {
        return "sent=" + sent + " in " + sentMessages + " messages, released=" + released + " taken=" + taken;
    }
}
