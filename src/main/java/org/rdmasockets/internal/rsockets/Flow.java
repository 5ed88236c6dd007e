package org.rdmasockets.internal.rsockets;

import org.rdmasockets.verbs.SendRequest;

/**
 * How bytes get to the peer, and how each end learns how much room there is at the other. Kinds of stream differ in
 * this alone; everything else about a stream is the same in all of them, and in {@link StreamConnection}. Besides data,
 * an end tells the peer in this order: an answer, SHUTDOWN or DISCONNECT, and the news of this kind.
 */
abstract sealed class Flow permits CreditRing, SendReceive, ReadRing {
    /** The connection of this flow; told when something cannot be posted. */
    final StreamConnection connection;
    /** Has SHUTDOWN and DISCONNECT. */
    final ShutdownState closing;
    /** Where to post. */
    final MessageSender sendQueue;

    /** Of a connection that has all its other parts. */
    Flow(StreamConnection connection) {
        this.connection = connection;
        closing = connection.closing;
        sendQueue = connection.sendQueue;
    }

    /** The flow of a kind. A switch would need a class of its own, which each first connect would load. */
    static Flow of(FlowKind kind, StreamConnection connection) {
        if (kind == FlowKind.CREDIT_RING) {
            return new CreditRing(connection);
        }
        if (kind == FlowKind.SEND_RECEIVE) {
            return SendReceive.of(connection);
        }
        if (kind == FlowKind.READ_RING) {
            return ReadRing.of(connection);
        }
        throw new IllegalArgumentException("no flow is of kind " + kind);
    }

    /** The kind of this flow. */
    abstract FlowKind kind();

    /** Begins with what the peer sent, which was checked. Null if all is well, else what the peer did wrong before. */
    abstract String start(ConnectData peer);

    /** How much may be sent now in one message, if it has a slot: bytes, 0 if no message may be sent. */
    abstract int room();

    /** Notes that a writer waits until {@link #room} is more than 0. */
    void awaitRoom() {}

    /** Begins a data message; the caller adds the payload, at most {@link #room}, and calls {@link #finish}. */
    abstract SendRequest begin();

    /**
     * Posts the data message that was begun, of which {@code kept} bytes stay in the send ring until completion:
     * {@code POSTED}, {@code JOINED} or an error number.
     */
    abstract int finish(int count, int kept);

    abstract Received received();

    /**
     * Takes a message, and posts its receive again when it is free; {@code lengthBytes} came with it, if the device
     * tells. Null if all is well, otherwise what the peer did wrong.
     */
    abstract String arrived(int slot, int message, int lengthBytes);

    /** The mistake of a peer whose message no end of such a flow sends. */
    static String unknown(int message) {
        return "sent a message with the unknown operation " + ImmediateData.operation(message);
    }

    /** A request has completed that this flow has posted to learn something. */
    String learned() {
        return null;
    }

    /** Tells whether an answer to the peer is due, before anything else is said. */
    boolean isAnswerDue() {
        return false;
    }

    /** Answers. */
    int answer() {
        throw new IllegalStateException("nothing was asked");
    }

    /** Tells whether the application may have made something due by what it has read since this was asked last. */
    boolean isFreed() {
        return true;
    }

    /** Tells whether this kind of flow has something to tell or to ask. */
    abstract boolean isNewsDue();

    /** Tells whether that can be done now. */
    boolean mayTellNews() {
        return sendQueue.hasControlSlot(false);
    }

    /** Tells or asks one thing. */
    abstract int tellNews();

    /** Tells whether {@link #shrink} could give memory back. */
    boolean isLarge() {
        return false;
    }

    /** Goes back to little memory, as far as the peer allows. */
    void shrink() {}

    /** Counts a message that costs the peer a receive, and no credit. */
    void noteControl() {}

    private boolean isWordDue() {
        return closing.due() != ShutdownState.NOTHING;
    }

    /** Tells whether what is due can be told now: true if {@link #post} may be called. */
    final boolean mayPost() {
        return isAnswerDue() || isWordDue() ? sendQueue.hasControlSlot(false) : mayTellNews();
    }

    /** Posts one message; gives {@link org.rdmasockets.verbs.QueuePair#POSTED} or an error number. */
    final int post() {
        if (isAnswerDue()) {
            return answer();
        }
        if (isWordDue()) {
            int word = closing.due();
            closing.sent(word);
            return tell(word);
        }
        return tellNews();
    }

    final int tell(int control) {
        noteControl();
        return sendQueue.postMessage(WorkRequestId.CONTROL, ImmediateData.control(control));
    }
}
