package org.rdmasockets.transport;

import java.io.InterruptedIOException;
import org.rdmasockets.lock.PlainLock;

/** Waiting as {@code java.net} wants it: an interrupt ends the wait of a virtual thread, and only of such. */
public final class Patience {
    private Patience() {}

    /** A wait of the JDK that takes a time. */
    public interface Wait<T> {
        /** Waits so long at most: null when the time is over. If the thread was interrupted, its status is clear. */
        T within(long nanos) throws InterruptedException;
    }

    /**
     * Waits until a time of {@code System.nanoTime}, {@code Long.MAX_VALUE} for no end; null at the deadline. Throws if
     * this is a virtual thread and was interrupted; the status stays set.
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

    /** Waits for a lock as {@link #await}: true if this thread has it now, false at the deadline. */
    public static boolean lock(PlainLock lock, long deadlineNanos) throws InterruptedIOException {
        return await(nanos -> lock.tryLock(nanos) ? true : null, deadlineNanos) != null;
    }

    /** Nanoseconds until a time of {@code System.nanoTime}, 0 when it is over, {@code Long.MAX_VALUE} for no end. */
    public static long remaining(long deadlineNanos) {
        return deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE : Math.max(0, deadlineNanos - System.nanoTime());
    }
}
