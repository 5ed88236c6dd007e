package org.rdmasockets.transport;

import java.io.InterruptedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;

/** Waiting as {@code java.net} wants it: an interrupt ends the wait of a virtual thread, and only of such. */
public final class Patience {
    private Patience() {
    }

    /** A wait of the JDK that takes a time. */
    public interface Wait<T> {
        /**
         * Waits.
         *
         * @param nanos longest time in nanoseconds
         * @return what was waited for, or null when the time is over
         * @throws InterruptedException if the thread was interrupted; its status is clear then
         */
        T within(long nanos) throws InterruptedException;
    }

    /**
     * Waits until a deadline.
     *
     * @param <T> what is waited for
     * @param wait how to wait
     * @param deadlineNanos end of the wait by {@code System.nanoTime}, {@code Long.MAX_VALUE} for none
     * @return what was waited for, or null at the deadline
     * @throws InterruptedIOException if this is a virtual thread and was interrupted; the status stays set
     */
    public static <T> T await(Wait<T> wait, long deadlineNanos) throws InterruptedIOException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return wait.within(remaining(deadlineNanos));
                } catch (InterruptedException e) {
                    interrupted = true;
                    if (Thread.currentThread().isVirtual()) {
                        throw NetErrors.interrupted();
                    }
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Waits for a lock.
     *
     * @param lock which one
     * @param deadlineNanos end of the wait by {@code System.nanoTime}, {@code Long.MAX_VALUE} for none
     * @return true if this thread has it now, false at the deadline
     * @throws InterruptedIOException as {@link #await}
     */
    public static boolean lock(Lock lock, long deadlineNanos) throws InterruptedIOException {
        return await(nanos -> lock.tryLock(nanos, TimeUnit.NANOSECONDS) ? true : null, deadlineNanos) != null;
    }

    /**
     * Waits for the outcome of a task.
     *
     * @param outcome a result or a failure
     * @param nanos longest time in nanoseconds
     * @return true when there is one, which the caller then asks for; null when the time is over
     * @throws InterruptedException if the thread was interrupted
     */
    static Boolean completed(CompletableFuture<?> outcome, long nanos) throws InterruptedException {
        try {
            outcome.get(nanos, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            return true;
        } catch (TimeoutException e) {
            return null;
        }
        return true;
    }

    /**
     * The time left.
     *
     * @param deadlineNanos by {@code System.nanoTime}, {@code Long.MAX_VALUE} for none
     * @return nanoseconds, 0 when it has passed
     */
    public static long remaining(long deadlineNanos) {
        return deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE : Math.max(0, deadlineNanos - System.nanoTime());
    }
}
