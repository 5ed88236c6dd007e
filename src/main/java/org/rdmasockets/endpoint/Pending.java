package org.rdmasockets.endpoint;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.waiting.WaitResult;
import org.rdmasockets.internal.lock.StackRoom;

/**
 * An operation that was begun and will end: begin many, then await each. It goes on whether or not a thread waits;
 * memory that it uses stays locked until it has ended. Any thread may wait, one at a time.
 *
 * @param <T> its result
 * @since 0.1
 */
public final class Pending<T> {
    private final SharedWaiter seat;
    private final String what;
    /** Written under the protocol lock, before {@link #done}. */
    private T result;
    /** Likewise; null if all went well. */
    private EndpointException failure;
    private volatile boolean done;
    /** The waiting thread; only that thread writes it. */
    volatile Thread waiter;

    /** An operation that has not ended, with its name for messages and the place where its callers wait. */
    Pending(SharedWaiter seat, String what) {
        this.seat = seat;
        this.what = what;
    }

    /** Protocol lock held: it has ended well; nothing happens if it had ended before. */
    void complete(T value) {
        if (!done) {
            result = value;
            finish();
        }
    }

    /** Protocol lock held: it has failed; likewise. */
    void fail(EndpointException reason) {
        if (!done) {
            failure = reason;
            finish();
        }
    }

    private void finish() {
        done = true;
        Thread parked = waiter;
        if (parked != null && parked != Thread.currentThread()) {
            LockSupport.unpark(parked);
        }
    }

    /**
     * Tells whether it has ended, well or not. First applies what has arrived.
     *
     * @return true if {@link #await} would not wait
     */
    public boolean isDone() {
        StackRoom.ensure();
        return look();
    }

    /** As {@link #isDone}, for a caller that has {@link StackRoom}. */
    boolean look() {
        if (!done) {
            seat.takeIn();
        }
        return done;
    }

    /** The result, without looking for news; null if it has not ended, has failed, or has no result. */
    T result() {
        return done ? result : null;
    }

    /** Whether it has ended, without looking for news. */
    boolean hasEnded() {
        return done;
    }

    /**
     * Waits until it has ended.
     *
     * @return its result
     * @throws EndpointException if it failed
     * @throws InterruptedIOException if this virtual thread was interrupted; the status stays set, and it goes on
     * @throws IOException one of these
     */
    public T await() throws IOException {
        StackRoom.ensure();
        return await(Long.MAX_VALUE);
    }

    /**
     * Waits until it has ended, or for a time.
     *
     * @param limit longest wait
     * @return its result
     * @throws EndpointException if it failed
     * @throws SocketTimeoutException if it has not ended in time; it goes on
     * @throws InterruptedIOException if this virtual thread was interrupted; the status stays set, and it goes on
     * @throws IOException one of these
     */
    public T await(Duration limit) throws IOException {
        StackRoom.ensure();
        return await(NanoTimes.after(limit));
    }

    /** Likewise by {@code System.nanoTime}, {@code Long.MAX_VALUE} for no end; the caller has {@link StackRoom}. */
    T await(long deadlineNanos) throws IOException {
        WaitResult end = done ? WaitResult.READY : seat.await(this, deadlineNanos);
        return outcome(end, () -> what + " has not ended in time; it goes on, and its memory stays locked until then");
    }

    /** Returns the result or throws, by how a wait has ended. */
    T outcome(WaitResult end, Supplier<String> timedOut) throws IOException {
        if (done) {
            if (failure != null) {
                throw failure.again();
            }
            return result;
        }
        throw switch (end) {
            case TIMED_OUT -> new SocketTimeoutException(timedOut.get());
            case INTERRUPTED -> new InterruptedIOException(what + " goes on, but its caller was interrupted");
            default -> new EndpointException(EndpointException.Reason.CLOSED, "the endpoint is closed");
        };
    }

    @Override
    public String toString() {
        return what + (done ? failure == null ? " (done)" : " (failed)" : " (in progress)");
    }
}
