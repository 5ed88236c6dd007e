package org.rdmasockets;

import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import org.rdmasockets.transport.Patience;

/**
 * Lets one caller at a time read, or write, and may be held while waiting. Waiting for it is part of the operation: it
 * counts for the timeout, and an interrupt ends it for a virtual thread and does nothing to a platform thread.
 */
final class CallerLock extends AbstractQueuedSynchronizer {
    private static final long serialVersionUID = 1;
    private static final int FREE = 0;
    private static final int TAKEN = 1;

    /** One that somebody has: the caller's caller, who has not heard of it. */
    static CallerLock taken() {
        CallerLock lock = new CallerLock();
        lock.setState(TAKEN);
        return lock;
    }

    @Override
    protected boolean tryAcquire(int taken) {
        return compareAndSetState(FREE, taken);
    }

    @Override
    protected boolean tryRelease(int taken) {
        setState(FREE);
        return true;
    }

    /**
     * Takes the lock until a time of {@code System.nanoTime}, {@code Long.MAX_VALUE} for no end. Throws "Read timed
     * out" at the deadline, which only reads have, {@code InterruptedIOException} if this is a virtual thread and was
     * interrupted; the status stays set.
     */
    void lock(long deadlineNanos) throws SocketTimeoutException, InterruptedIOException {
        if (tryAcquire(TAKEN)) {
            return;
        }
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    if (tryAcquireNanos(TAKEN, Patience.remaining(deadlineNanos))) {
                        return;
                    }
                    throw new SocketTimeoutException("Read timed out");
                } catch (InterruptedException e) {
                    interrupted = true;
                    if (Thread.currentThread().isVirtual()) {
                        throw new InterruptedIOException("Closed by interrupt");
                    }
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Lets the next caller in. */
    void unlock() {
        release(TAKEN);
    }
}
