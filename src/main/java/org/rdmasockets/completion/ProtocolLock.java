package org.rdmasockets.completion;

import java.util.concurrent.locks.AbstractQueuedSynchronizer;

/** The protocol lock of an inbox: a {@code ReentrantLock} in one object instead of two, and not reentrant. */
final class ProtocolLock extends AbstractQueuedSynchronizer {
    private static final long serialVersionUID = 1;

    /** Nobody has it. */
    ProtocolLock() {
    }

    @Override
    protected boolean tryAcquire(int unused) {
        boolean taken = compareAndSetState(0, 1);
        if (taken) {
            setExclusiveOwnerThread(Thread.currentThread());
        }
        return taken;
    }

    @Override
    protected boolean tryRelease(int unused) {
        if (!isHeldExclusively()) {
            throw new IllegalMonitorStateException("the calling thread does not have the protocol lock");
        }
        setExclusiveOwnerThread(null);
        setState(0);
        return true;
    }

    @Override
    protected boolean isHeldExclusively() {
        return getExclusiveOwnerThread() == Thread.currentThread();
    }

    /** Takes it, waiting as long as somebody else has it. */
    void lock() {
        if (tryAcquire(1)) {
            return;
        }
        if (isHeldExclusively()) {
            throw new IllegalMonitorStateException("the calling thread has the protocol lock already");
        }
        acquire(1);
    }

    /** Takes it if nobody has it. */
    boolean tryLock() {
        return tryAcquire(1);
    }

    /** Gives it back. */
    void unlock() {
        release(1);
    }

    /** Whether the calling thread has it. */
    boolean isHeldByCurrentThread() {
        return isHeldExclusively();
    }

    /** Whether somebody has it. */
    boolean isLocked() {
        return getState() != 0;
    }
}
