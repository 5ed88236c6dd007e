package org.rdmasockets.lock;

import java.util.concurrent.locks.AbstractQueuedSynchronizer;

/** A {@code ReentrantLock} in one object instead of two, and not reentrant. Any thread. */
public sealed class PlainLock extends AbstractQueuedSynchronizer permits ApartLock {
    private static final long serialVersionUID = 1;

    /** Nobody has it. */
    public PlainLock() {}

    @Override
    protected final boolean tryAcquire(int unused) {
        boolean taken = compareAndSetState(0, 1);
        if (taken) {
            setExclusiveOwnerThread(Thread.currentThread());
        }
        return taken;
    }

    @Override
    protected final boolean tryRelease(int unused) {
        if (getExclusiveOwnerThread() != Thread.currentThread()) {
            throw new IllegalMonitorStateException("the calling thread does not have the lock");
        }
        setExclusiveOwnerThread(null);
        setState(0);
        return true;
    }

    @Override
    protected final boolean isHeldExclusively() {
        return getExclusiveOwnerThread() == Thread.currentThread();
    }

    /** Takes it, waiting as long as somebody else has it. */
    public final void lock() {
        if (compareAndSetState(0, 1)) {
            setExclusiveOwnerThread(Thread.currentThread());
            return;
        }
        if (isHeldExclusively()) {
            throw new IllegalMonitorStateException("the calling thread has the lock already");
        }
        acquire(1);
    }

    /** Takes it if nobody has it. */
    public final boolean tryLock() {
        return tryAcquire(1);
    }

    /** Takes it, waiting until a time of {@code System.nanoTime}, also when interrupted; false if that is over. */
    public final boolean lockUntil(long deadlineNanos) {
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                try {
                    return tryAcquireNanos(1, deadlineNanos - System.nanoTime());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Gives it back. */
    public final void unlock() {
        release(1);
    }

    /** Whether the calling thread has it. */
    public final boolean isHeldByCurrentThread() {
        return isHeldExclusively();
    }

    /** Whether somebody has it. */
    public final boolean isLocked() {
        return getState() != 0;
    }
}
