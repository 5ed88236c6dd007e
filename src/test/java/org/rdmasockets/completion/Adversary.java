package org.rdmasockets.completion;

import java.util.ArrayDeque;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Makes bad timing likely: pauses at the points where a wake-up could get lost. Subclasses leave one step of the
 * algorithm out each. Pauses burn time or yield; parking here would take a permit that is meant for the algorithm.
 */
class Adversary extends Faults {
    private static final int MAX_PAUSE_NANOS = 20_000;

    /** One pause in so many calls. */
    private final int odds;

    Adversary(int odds) {
        this.odds = odds;
    }

    /** Sometimes lets others get ahead. */
    final void pause() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        if (random.nextInt(odds) != 0) {
            return;
        }
        if (random.nextInt(4) == 0) {
            Thread.yield();
            return;
        }
        long until = System.nanoTime() + random.nextInt(MAX_PAUSE_NANOS);
        while (System.nanoTime() - until < 0) {
            Thread.onSpinWait();
        }
    }

    @Override
    void afterWaiters() {
        pause();
    }

    @Override
    void beforeLeave() {
        pause();
    }

    @Override
    void beforePark() {
        pause();
    }

    @Override
    void beforePoll() {
        pause();
    }

    /**
     * A processor's store buffer as large as the memory model allows: what is offered is seen by others only after the
     * fence, or without one, after the look at the waiters. A thread sees its own stores at once, so what it has put
     * into its own inbox is there when it looks.
     */
    static class StoreBuffer extends Adversary {
        private final boolean fence;
        private final ThreadLocal<ArrayDeque<Runnable>> stores = ThreadLocal.withInitial(ArrayDeque::new);

        StoreBuffer(int odds, boolean fence) {
            super(odds);
            this.fence = fence;
        }

        @Override
        void offer(CompletionInbox inbox, Completion completion) {
            stores.get().addLast(() -> super.offer(inbox, completion));
        }

        @Override
        void fenceBeforeWaiters() {
            if (fence) {
                pause();
                flush();
                super.fenceBeforeWaiters();
            }
        }

        @Override
        void afterWaiters() {
            super.afterWaiters();
            flush();
        }

        @Override
        void beforeOwnLook() {
            pause();
            flush();
        }

        private void flush() {
            ArrayDeque<Runnable> own = stores.get();
            for (Runnable store = own.pollFirst(); store != null; store = own.pollFirst()) {
                store.run();
            }
        }
    }

    /** The poller goes back to sleep when somebody else holds the lock. */
    static final class PollerTriesLock extends Adversary {
        PollerTriesLock(int odds) {
            super(odds);
        }

        @Override
        boolean pollerWaitsForLock() {
            return false;
        }
    }

    /** A thread that posts takes its event to be handled when somebody else holds the lock. */
    static final class PosterDropsEvent extends Adversary {
        PosterDropsEvent(int odds) {
            super(odds);
        }

        @Override
        boolean posterLeavesEvent() {
            return false;
        }
    }

    /** Who handles an event forgets that it has disarmed the queue. */
    static final class ForgetsArmed extends Adversary {
        ForgetsArmed(int odds) {
            super(odds);
        }

        @Override
        boolean clearsArmed() {
            return false;
        }
    }

    /** A waiter that arms does not look whether something came before. */
    static final class NoPollAfterArming extends Adversary {
        NoPollAfterArming(int odds) {
            super(odds);
        }

        @Override
        boolean pollsAfterArming() {
            return false;
        }

        /** Whoever waits first shall be the one to arm, as often as possible. */
        @Override
        boolean armsNewQueues() {
            return false;
        }
    }

    /** A waiter leaves without a last look. */
    static final class NoDrainWhenLeaving extends Adversary {
        NoDrainWhenLeaving(int odds) {
            super(odds);
        }

        @Override
        boolean drainsWhenLeaving() {
            return false;
        }
    }

    /** A reader that owes credit sleeps through send completions. */
    static final class NoWakeForCredit extends Adversary {
        NoWakeForCredit(int odds) {
            super(odds);
        }

        @Override
        boolean wakesForCreditOwed() {
            return false;
        }
    }

    /** Waiters sleep beside the poller's thread whenever the place is free. */
    static class Watching extends Adversary {
        Watching(int odds) {
            super(odds);
        }

        @Override
        boolean alwaysWatches() {
            return true;
        }
    }

    /** Who sleeps there is unparked instead of woken. */
    static final class WatcherSleepsOn extends Watching {
        WatcherSleepsOn(int odds) {
            super(odds);
        }

        @Override
        boolean wakesWatcher() {
            return false;
        }
    }
}
