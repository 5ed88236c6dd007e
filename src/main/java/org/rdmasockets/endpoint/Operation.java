package org.rdmasockets.endpoint;

import org.rdmasockets.verbs.SendRequest;

/**
 * Something for the send queue, posted as one request or several, one after the other. Its memory is the device's
 * until all of them have completed, whatever becomes of the operation meanwhile. Protected by the protocol lock.
 */
abstract class Operation {
    /** The hold on the memory that it uses; null for none, and when that is released. */
    private RangeLocks.Hold hold;
    /** Is told of the end; null for none. */
    private final Pending<?> pending;
    private int outstanding;
    private boolean begun;
    private boolean failed;

    /** An operation that was not posted yet, with null for what it does without. */
    Operation(RangeLocks.Hold hold, Pending<?> pending) {
        this.hold = hold;
        this.pending = pending;
    }

    /** Whether it counts as a control message. */
    boolean isControl() {
        return false;
    }

    /** Whether there is anything left to post; most are one request. */
    boolean hasMore() {
        return !begun;
    }

    /** Whether the next request uses up one of the peer's receives. */
    abstract boolean takesReceive();

    /** Whether the peer is done with the memory once all requests have completed. */
    boolean isAnswered() {
        return true;
    }

    /** Makes the next request, which will be posted; the slot is memory of its own until it completes. */
    abstract void fill(SendRequest request, long workRequestId, SendSlot slot);

    /** It has ended well; the slot is that of its last request. */
    void succeed(SendSlot slot) {
        if (pending != null) {
            pending.complete(null);
        }
    }

    /** It has failed; called once. */
    void fail(EndpointException reason) {
        if (pending != null) {
            pending.fail(reason);
        }
    }

    /** Its next request is posted. */
    final void posted() {
        begun = true;
        outstanding++;
    }

    /** The device did not take that: {@link #abandon} follows. */
    final void refused() {
        outstanding--;
    }

    /** One of its requests has completed. */
    final void completed(SendSlot slot, boolean well) {
        outstanding--;
        if (failed || well && !hasMore()) {
            endIfDone(slot);
        }
    }

    /** Ends it, unless the device or the peer may use the memory. */
    final void endIfDone(SendSlot slot) {
        if (outstanding == 0 && isAnswered()) {
            release();
            if (!failed) {
                succeed(slot);
            }
        }
    }

    /** Its connection has failed; requests that the device has go on to their completion. */
    final void abandon(EndpointException reason) {
        if (!failed) {
            failed = true;
            fail(reason);
            endIfDone(null);
        }
    }

    /** The device is done with it. */
    final void release() {
        if (hold != null) {
            hold.release();
            hold = null;
        }
    }
}
