package org.rdmasockets.fault;

import java.io.IOException;
import java.net.SocketException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** The promises of the fault commands: each prints its outcome and whether it held. */
final class Promises {
    /** Something that should work. */
    @FunctionalInterface
    interface Work {
        void run() throws IOException, InterruptedException;
    }

    /** Longest wait for anything, so that a broken promise ends, too. */
    private static final long WAIT_MILLIS = 90_000;

    private int broken;

    /** A call that must end in time and in a certain way. */
    void ends(String what, Attempt attempt, long since, long withinMillis, Predicate<Attempt.Outcome> as)
            throws InterruptedException {
        try {
            Attempt.Outcome outcome = attempt.await(WAIT_MILLIS);
            long millis = outcome.millisSince(since);
            report(millis <= withinMillis && as.test(outcome), what + " ended after " + millis + " ms: "
                    + (outcome.failure() == null ? "returned " + outcome.value() : outcome.failure()));
        } catch (AssertionError e) {
            report(false, what + ": " + e.getMessage());
        }
    }

    /** Something that must still work. */
    void works(String what, Work work) throws InterruptedException {
        long start = System.nanoTime();
        try {
            work.run();
            report(true, what + " (" + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start) + " ms)");
        } catch (IOException | AssertionError e) {
            report(false, what + ": " + e);
        }
    }

    private void report(boolean held, String what) {
        System.out.println((held ? "ok      " : "FAILED  ") + what);
        if (!held) {
            broken++;
        }
    }

    /** Ends the process: 0 if all held. */
    void exit() {
        System.out.println(broken == 0 ? "all promises held" : broken + " promises broken");
        System.exit(broken == 0 ? 0 : 1);
    }

    /** End of stream, or an exception of a connection that is gone. */
    static boolean isGone(Attempt.Outcome outcome) {
        return outcome.failure() instanceof SocketException || outcome.failure() == null && outcome.value() == -1;
    }
}
