package org.rdmasockets.transport;

import java.lang.ref.Cleaner;
import org.rdmasockets.lock.OwnThread;

/** The safety net: releases what the application should have closed, once nobody can. */
public final class Forgotten {
    /** A platform thread: clean-up must not wait for a free carrier. */
    private static final Cleaner CLEANER = Cleaner.create(task -> OwnThread.unstarted("rdma-cleaner", task));

    private Forgotten() {}

    /**
     * Releases something, without blocking, once, when its owner is not reachable any more, to which it must not lead
     * back; or before, by what is returned.
     */
    public static Cleaner.Cleanable whenForgotten(Object owner, Runnable release) {
        return CLEANER.register(owner, release);
    }
}
