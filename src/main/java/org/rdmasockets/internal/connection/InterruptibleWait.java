package org.rdmasockets.internal.connection;

import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.SmallMutex;

/** Waiting as {@code java.net} wants it: an interrupt ends the wait of a virtual thread, and only of such. */
public final class InterruptibleWait {
    /** How long an interrupt that came before a wait leaves to an answer that is on its way. */
    private static final long ANSWER_NANOS = TimeUnit.SECONDS.toNanos(1);

    private InterruptibleWait() {}

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
                    return wait.within(NanoTimes.remaining(deadlineNanos));
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
     * Waits as {@link #await} for what another thread does at once, and the kernel does within the call of the JDK,
     * which then need not wait: an interrupt that came before ends this only after a second. One that comes meanwhile
     * ends it at once.
     */
    public static <T> T awaitAnswer(Wait<T> wait, long deadlineNanos) throws InterruptedIOException {
        if (!Thread.currentThread().isVirtual() || !Thread.interrupted()) {
            return await(wait, deadlineNanos);
        }
        try {
            long answered = System.nanoTime() + ANSWER_NANOS;
            boolean longer = deadlineNanos == Long.MAX_VALUE || deadlineNanos - answered > 0;
            T answer = await(wait, longer ? answered : deadlineNanos);
            if (answer == null && longer) {
                throw NetErrors.interrupted();
            }
            return answer;
        } finally {
            Thread.currentThread().interrupt();
        }
    }

    /** Throws if this is a virtual thread that was interrupted; the status stays set. */
    public static void ensureNotInterrupted() throws InterruptedIOException {
        if (Thread.currentThread().isVirtual() && Thread.currentThread().isInterrupted()) {
            throw NetErrors.interrupted();
        }
    }

    /** Waits for a lock as {@link #await}: true if this thread has it now, false at the deadline. */
    public static boolean lock(SmallMutex lock, long deadlineNanos) throws InterruptedIOException {
        return await(nanos -> lock.tryLock(nanos) ? true : null, deadlineNanos) != null;
    }
}
