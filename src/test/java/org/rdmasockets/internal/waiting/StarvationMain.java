package org.rdmasockets.internal.waiting;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Two saturated ping-pong pairs of virtual threads, which wake each other, and a third virtual thread that a platform
 * thread wakes now and then: how long does that one wait for a carrier? Arguments: {@code true} or {@code false} for
 * the valve, and the seconds to run. Prints the longest wait in milliseconds as {@code maxMillis=N}.
 */
final class StarvationMain {
    private static final long PAUSE_MILLIS = 3;
    /** When the third thread was woken, by {@link System#nanoTime}; 0 when it has run since. */
    private static volatile long wokenAtNanos;
    private static final List<Long> WAITS = Collections.synchronizedList(new ArrayList<>());

    private StarvationMain() {
    }

    /** One thread's end of a ping-pong: a token in, a token out. */
    private static final class End implements CompletionClient {
        private CompletionInbox inbox;
        private int arrived;

        @Override
        public void apply(Completion completion) {
            arrived++;
        }

        @Override
        public boolean ready(Role role) {
            return arrived > 0;
        }

        @Override
        public boolean beforeExit() {
            return false;
        }

        void answerForEver(End peer) {
            while (inbox.await(Role.READER, Long.MAX_VALUE) == WaitResult.READY) {
                inbox.enter();
                arrived--;
                inbox.exit();
                peer.inbox.offerToken("ping");
            }
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Integer.parseInt(args[1]));
        SimulatedEvents events = new SimulatedEvents();
        SimulatedDevice device = new SimulatedDevice(events, true);
        CompletionPoller poller = new CompletionPoller(events, Settings.withValve(
                PollerSettings.defaults().withSpinBudgetNanos(0), Boolean.parseBoolean(args[0])));
        Thread third = Thread.ofVirtual().start(StarvationMain::measure);
        for (int i = 0; i < 2; i++) {
            End a = new End();
            End b = new End();
            a.inbox = poller.openInbox(device, ConnectionRole.ACTIVE, a, 1);
            b.inbox = poller.openInbox(device, ConnectionRole.ACTIVE, b, 1);
            a.inbox.offerToken("start");
            Thread.ofVirtual().start(() -> a.answerForEver(b));
            Thread.ofVirtual().start(() -> b.answerForEver(a));
        }
        while (System.nanoTime() - end < 0) {
            wokenAtNanos = System.nanoTime();
            LockSupport.unpark(third);
            awaitThird(end);
        }
        List<Long> waits = List.copyOf(WAITS);
        System.out.println("waits=" + waits.size() + " maxMillis=" + Collections.max(waits) / 1_000_000);
        System.out.flush();
        // The pairs run for ever.
        Runtime.getRuntime().halt(0);
    }

    /** Waits until the third thread has run, or the time is over, which counts as a wait as well. */
    private static void awaitThird(long end) throws InterruptedException {
        do {
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        } while (wokenAtNanos != 0 && System.nanoTime() - end < 0);
        long woken = wokenAtNanos;
        if (woken != 0) {
            WAITS.add(System.nanoTime() - woken);
        }
    }

    private static void measure() {
        while (true) {
            LockSupport.park();
            long woken = wokenAtNanos;
            if (woken != 0) {
                WAITS.add(System.nanoTime() - woken);
                wokenAtNanos = 0;
            }
        }
    }
}
