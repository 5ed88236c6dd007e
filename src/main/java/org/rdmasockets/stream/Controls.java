package org.rdmasockets.stream;

/**
 * What this end has to tell the peer besides data, in this order: that it moved to the chunk that was offered, SHUTDOWN
 * or DISCONNECT, and what it lends.
 */
final class Controls {
    private final SendQueue sendQueue;
    private final SendWindow window;
    private final ReceiveBuffer received;
    private final Closing closing;
    private final Borrowing borrowing;
    private final Lending lending;

    /**
     * Speaks for all who have something to tell.
     *
     * @param sendQueue where to post
     * @param window counts what is posted
     * @param received knows what the peer was granted
     * @param closing has SHUTDOWN and DISCONNECT
     * @param borrowing has the answer to an offer
     * @param lending has updates and offers
     */
    Controls(SendQueue sendQueue, SendWindow window, ReceiveBuffer received, Closing closing, Borrowing borrowing,
            Lending lending) {
        this.sendQueue = sendQueue;
        this.window = window;
        this.received = received;
        this.closing = closing;
        this.borrowing = borrowing;
        this.lending = lending;
    }

    private boolean isAnswerDue() {
        return borrowing.isOffered() && !closing.isFinished();
    }

    private boolean isWordDue() {
        return closing.due() != Closing.NOTHING;
    }

    private boolean isLendingDue() {
        return !closing.isFinished() && !closing.isInputEnded() && lending.isDue();
    }

    /**
     * Tells whether there is something to tell.
     *
     * @return true if so
     */
    boolean isDue() {
        return isAnswerDue() || isWordDue() || isLendingDue();
    }

    /**
     * Tells whether there is something to tell that can be told now.
     *
     * @return true if {@link #post} may be called
     */
    boolean mayPost() {
        return isAnswerDue() || isWordDue() ? sendQueue.hasControlSlot(false) : isLendingDue() && lending.mayPost();
    }

    /**
     * Posts one message.
     *
     * @return {@link org.rdmasockets.verbs.QueuePair#POSTED} or an error number
     */
    int post() {
        if (isAnswerDue()) {
            // Data that was posted before goes to the old chunks, data posted later to the one that was offered.
            borrowing.moveOn();
            return tell(ImmediateData.MOVED_ON);
        }
        if (isWordDue()) {
            int word = closing.due();
            closing.sent(word);
            return tell(word);
        }
        return lending.post();
    }

    private int tell(int control) {
        window.controlSent(received.granted());
        return sendQueue.postMessage(WorkRequestId.CONTROL, ImmediateData.control(control));
    }
}
