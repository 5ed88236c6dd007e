package org.rdmasockets;

import java.io.InterruptedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.SocketTimeoutException;

/**
 * The turn to read, or to write, of every socket: a field of it says who has it. Null for nobody, {@link #TAKEN} for a
 * caller who came alone; from the first time that two have met it is a {@link CallerLock}, which most sockets never
 * need.
 */
record Turn(VarHandle field) {
    private static final Object TAKEN = new Object();

    /** The turn that a field is for. */
    static Turn of(MethodHandles.Lookup lookup, String name) {
        try {
            return new Turn(lookup.findVarHandle(RdmaSocketImpl.class, name, Object.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
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
}
