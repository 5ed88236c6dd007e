package org.rdmasockets.contract;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Waits that end. */
public final class Await {
    /** The longest that anything may take; emulated machines are slow, and may be given more patience. */
    static final long LIMIT_SECONDS = Math.max(40, Integer.getInteger("org.rdmasockets.test.patience", 0));

    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private Await() {
    }

    /**
     * Waits until a condition holds.
     *
     * @param what the awaited condition, for the message
     * @param condition asked again and again
     * @throws Exception thrown by the condition
     */
    public static void until(String what, Callable<Boolean> condition) throws Exception {
        until(what, condition, () -> "");
    }

    /**
     * Waits until a condition holds, and tells how things are if it never does.
     *
     * @param what the awaited condition, for the message
     * @param condition asked again and again
     * @param state asked at the end, for the message
     * @throws Exception thrown by the condition
     */
    public static void until(String what, Callable<Boolean> condition, Callable<?> state) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!condition.call()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("not within " + LIMIT_SECONDS + " s: " + what + " " + state.call());
            }
            LockSupport.parkNanos(STEP_NANOS);
        }
    }
}
