package org.rdmasockets.completion;

import java.lang.invoke.VarHandle;

/**
 * The points at which tests interleave threads, and the steps that tests leave out to see whether that is noticed. In
 * production only this class is loaded, so that the compiler inlines its methods to what they say here.
 */
class Faults {
    /** The algorithm as it is. */
    static final Faults NONE = new Faults();

    /** Puts something into an inbox. */
    void offer(CompletionInbox inbox, Completion completion) {
        inbox.push(completion);
    }

    /** Orders what was offered before the look at the waiters. */
    void fenceBeforeWaiters() {
        VarHandle.fullFence();
    }

    /** Called when the waiters of a batch have been looked at. */
    void afterWaiters() {}

    /** Called when a waiter has polled for itself and is about to look into its inbox, whose lock it may have. */
    void beforeOwnLook() {}

    /** Called when a waiter is ready and about to withdraw. */
    void beforeLeave() {}

    /** Called when a waiter has decided to park. */
    void beforePark() {}

    /** Called with cqLock held, before the queue is polled. */
    void beforePoll() {}

    /** Tells whether the poller waits for cqLock instead of giving up when it is taken. */
    boolean pollerWaitsForLock() {
        return true;
    }

    /** Tells whether a thread that posts leaves an event to the poller when cqLock is taken. */
    boolean posterLeavesEvent() {
        return true;
    }

    /** Tells whether who handles an event notes that it has disarmed the queue. */
    boolean clearsArmed() {
        return true;
    }

    /** Tells whether who arms the queue polls it afterwards. */
    boolean pollsAfterArming() {
        return true;
    }

    /** Tells whether a waiter drains its inbox once more when it leaves. */
    boolean drainsWhenLeaving() {
        return true;
    }

    /** Tells whether a full batch after arming is followed up by the poller. */
    boolean kicksAfterFullBatch() {
        return true;
    }

    /** Tells whether a queue is armed as soon as it is made. */
    boolean armsNewQueues() {
        return true;
    }

    /** Tells whether a send completion wakes a reader that owes credit. */
    boolean wakesForCreditOwed() {
        return true;
    }

    /** Tells whether a waiter sleeps beside the poller's thread, if it has the time, whatever speaks against it. */
    boolean alwaysWatches() {
        return false;
    }

    /** Tells whether who sleeps there is woken there. */
    boolean wakesWatcher() {
        return true;
    }

    /** Tells whether the poller comes by after a waiter has left the queue unarmed. */
    boolean looksAfterUnarmed() {
        return true;
    }
}
