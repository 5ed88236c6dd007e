package org.rdmasockets.internal.ffi;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rdmasockets.internal.lock.VarHandles;

/**
 * A native object that is freed when it is closed and its last use has ended. Any thread may call. Neither entering nor
 * leaving waits, allocates or takes a lock.
 */
public abstract class Guard implements AutoCloseable {
    private static final VarHandle USERS = VarHandles.of(MethodHandles.lookup(), "users", int.class);
    /** The sign bit of {@link #users}. */
    private static final int CLOSED = Integer.MIN_VALUE;

    /** How many are inside, plus {@link #CLOSED}; changed through {@link #USERS} only. */
    private volatile int users;

    /** Open, with no thread inside. */
    protected Guard() {}

    /** Frees what is guarded. Called once, by the last to leave or by the thread that closes. Must not throw. */
    protected abstract void free();

    /** Begins a use; false if this is closed: then {@link #leave} must not be called. */
    public final boolean enter() {
        int now = users;
        while (now >= 0) {
            int seen = (int) USERS.compareAndExchange(this, now, now + 1);
            if (seen == now) {
                return true;
            }
            now = seen;
        }
        return false;
    }

    /** Ends a use. */
    public final void leave() {
        if ((int) USERS.getAndAdd(this, -1) == CLOSED + 1) {
            free();
        }
    }

    /** Whether {@link #close} was called. */
    public final boolean isClosed() {
        return users < 0;
    }

    /** Refuses new uses, and frees as soon as the last one ends. Never waits; idempotent. */
    @Override
    public void close() {
        if ((int) USERS.getAndBitwiseOr(this, CLOSED) == 0) {
            free();
        }
    }
}
