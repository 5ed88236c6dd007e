package org.rdmasockets.internal.lock;

/**
 * A lock that callers of the library take first, and inside which they wait and take others: it asks for the room of a
 * whole call, so that no lock inside it finds the stack at its end.
 */
public final class CallerLock extends SmallMutex {
    private static final long serialVersionUID = 1;

    /** Free. */
    public CallerLock() {}

    @Override
    public void lock() {
        StackRoom.ensure();
        super.lock();
    }

    @Override
    public boolean tryLock() {
        StackRoom.ensure(); // the room of a section, too
        return tryAcquire(1);
    }

    @Override
    public boolean tryLock(long nanos) throws InterruptedException {
        StackRoom.ensure();
        return super.tryLock(nanos);
    }
}
