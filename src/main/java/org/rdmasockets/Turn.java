package org.rdmasockets;

import java.io.InterruptedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.SocketTimeoutException;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import org.rdmasockets.lock.Field;
import org.rdmasockets.transport.Patience;

/**
 * The turn to read, or to write, of every socket: a field of it says who has it. Null for nobody, {@link #TAKEN} for a
 * caller who came alone; from the first time that two have met it is a {@link CallerLock}, which most sockets never
 * need.
 */
record Turn(VarHandle field) {
    private static final Object TAKEN = new Object();

    /** The turn that a field is for. */
    static Turn of(MethodHandles.Lookup lookup, String name) {
        return new Turn(Field.of(lookup, name, Object.class));
    }

    /**
     * Takes the turn, waiting until a time of {@code System.nanoTime}, {@code Long.MAX_VALUE} for no end; throws as
     * {@link CallerLock#lock}.
     */
    void take(RdmaSocketImpl socket, long deadlineNanos) throws SocketTimeoutException, InterruptedIOException {
        while (true) {
            if (field.compareAndSet(socket, (Object) null, TAKEN)) {
                return;
            }
            Object now = (Object) field.getVolatile(socket);
            CallerLock lock = now == null ? null : lockOf(socket, now);
            if (lock != null) {
                lock.lock(deadlineNanos);
                return;
            }
        }
    }

    /** The lock of a socket, made now if the turn was TAKEN by who came alone; null if that one has just gone. */
    private CallerLock lockOf(RdmaSocketImpl socket, Object now) {
        if (now instanceof CallerLock lock) {
            return lock;
        }
        // Who has the turn finds the lock when it gives the turn back.
        CallerLock made = CallerLock.taken();
        return field.compareAndSet(socket, TAKEN, (Object) made) ? made : null;
    }

    /** Gives the turn, which the caller has, to the next caller. */
    void give(RdmaSocketImpl socket) {
        if (!field.compareAndSet(socket, TAKEN, (Object) null)) {
            ((CallerLock) field.getVolatile(socket)).unlock();
        }
    }

    /**
     * Lets one caller at a time read, or write, and may be held while waiting. Waiting for it is part of the operation:
     * it counts for the timeout, and an interrupt ends it for a virtual thread and does nothing to a platform thread.
     */
    private static final class CallerLock extends AbstractQueuedSynchronizer {
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
         * out" at the deadline, which only reads have, {@code InterruptedIOException} if this is a virtual thread and
         * was interrupted; the status stays set.
         */
        void lock(long deadlineNanos) throws SocketTimeoutException, InterruptedIOException {
            if (!tryAcquire(TAKEN)
                    && Patience.await(nanos -> tryAcquireNanos(TAKEN, nanos) ? true : null, deadlineNanos) == null) {
                throw new SocketTimeoutException("Read timed out");
            }
        }

        /** Lets the next caller in. */
        void unlock() {
            release(TAKEN);
        }
    }
}
