package org.rdmasockets.stream;

/**
 * Tells the peer how many messages it may send and where it may write: credit updates, with a chunk or without, and
 * offers of a small chunk for all that are lent.
 */
final class Lending extends PeerTable {
    private final SendQueue sendQueue;
    private final SendWindow window;
    private final ReceiveBuffer received;
    private boolean peerMovesOn;
    private boolean offering;

    /** Nothing can be told yet. */
    Lending(SendQueue sendQueue, SendWindow window, ReceiveBuffer received) {
        this.sendQueue = sendQueue;
        this.window = window;
        this.received = received;
    }

    @Override
    void start(ConnectData peer) {
        super.start(peer);
        peerMovesOn = peer.movesOn();
    }

    /** Tells whether both ends know offers: false before the start, and with C. */
    boolean peerMovesOn() {
        return peerMovesOn;
    }

    /** Offers a small chunk for all that are lent, if one is large and the peer takes offers, as soon as possible. */
    void offer() {
        offering = peerMovesOn && received.isOfferOfUse();
    }

    private boolean isOfferDue() {
        return received.isOfferOfUse() && window.allowsUpdate();
    }

    /** Tells whether there is something to tell. */
    boolean isDue() {
        return received.isChunkDue() || received.areCreditsDue() || offering && isOfferDue();
    }

    /** Whether it can be told now: updates that the peer can do without wait until it is sure to take them. */
    boolean mayPost() {
        boolean offer = offering && isOfferDue();
        return sendQueue.hasControlSlot(offer || received.isChunkDue())
                && (offer || window.allowsUpdate() || received.isPeerStarved());
    }

    /** Posts one message; gives {@link org.rdmasockets.verbs.QueuePair#POSTED} or an error number. */
    int post() {
        boolean offer = offering && isOfferDue();
        window.controlSent(received.granted());
        if (offer) {
            offering = false;
            return post(received.offer(), offerAddress(), offerKey(), ImmediateData.control(ImmediateData.OFFER));
        }
        if (received.isChunkDue()) {
            return post(received.lend(), nextAddress(), key(), ImmediateData.update(received.grant()));
        }
        return sendQueue.postMessage(WorkRequestId.UPDATE, ImmediateData.update(received.grant()));
    }

    private int post(Chunk chunk, long entryAddress, int entryKey, int message) {
        return announce(chunk, sendQueue, sendQueue.begin(WorkRequestId.UPDATE, entryAddress, entryKey), message);
    }
}
