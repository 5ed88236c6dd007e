package org.rdmasockets.transport;

import java.lang.ref.Cleaner;

/** The safety net: releases what the application should have closed, once nobody can. */
public final class Forgotten {
    /** A virtual thread will do: it waits almost always, and what it runs does not block. */
    private static final Cleaner CLEANER = Cleaner.create(
            Thread.ofVirtual().name("rdma-cleaner").inheritInheritableThreadLocals(false).factory());

    private Forgotten() {
    }

    /**
     * Releases something when its owner is not reachable any more.
     *
     * @param owner who should release it
     * @param release does so without blocking, once; must not lead back to the owner
     * @return to release it before
     */
    public static Cleaner.Cleanable whenForgotten(Object owner, Runnable release) {
        return CLEANER.register(owner, release);
    }
}
