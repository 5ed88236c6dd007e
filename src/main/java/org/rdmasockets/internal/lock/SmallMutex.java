package org.rdmasockets.internal.lock;

import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.Condition;

/**
 * A {@code ReentrantLock} in one object instead of two, and not reentrant. Any thread.
 *
 * <p>It asks for {@link StackRoom} before it is taken: an overflow in its section would leave half a change behind, one
 * in {@code unlock} the lock itself. A caller without room gets a {@code StackOverflowError}, and the lock stays as is.
 * A section that fails otherwise marks what the lock protects as failed, and gives the lock back.
 */
public sealed class SmallMutex extends AbstractQueuedSynchronizer permits PaddedLock, CallerLock {
    private static final long serialVersionUID = 1;

    /** Free. */
    public SmallMutex() {}

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

    /** Takes it, waiting as long as another thread has it. */
    public void lock() {
        StackRoom.ensureSection();
        if (compareAndSetState(0, 1)) {
            setExclusiveOwnerThread(Thread.currentThread());
            return;
        }
        if (isHeldExclusively()) {
            throw new IllegalMonitorStateException("the calling thread has the lock already");
        }
        acquire(1);
    }

    /** Takes it if it is free. */
    public boolean tryLock() {
        StackRoom.ensureSection();
        return tryAcquire(1);
    }

    /** Takes it, waiting at most so long; false if another thread still has it. */
    public boolean tryLock(long nanos) throws InterruptedException {
        StackRoom.ensureSection();
        return tryAcquireNanos(1, nanos);
    }

    /** Takes it, waiting until a time of {@code System.nanoTime}, also when interrupted; false if that is over. */
    public final boolean lockUntil(long deadlineNanos) {
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                try {
                    return tryLock(deadlineNanos - System.nanoTime());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            LibraryThreads.restore(interrupted);
        }
    }

    /** Gives it back. */
    public final void unlock() {
        release(1);
    }

    /** Makes a condition, for the holder to wait for: the room stays, as the waiter comes back at the same depth. */
    public final Condition newCondition() {
        return new ConditionObject();
    }

    /** Whether the calling thread has it. */
    public final boolean isHeldByCurrentThread() {
        return isHeldExclusively();
    }

    /** Whether any thread has it. */
    public final boolean isLocked() {
        return getState() != 0;
    }
}
