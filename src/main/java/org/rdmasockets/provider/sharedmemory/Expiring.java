package org.rdmasockets.provider.sharedmemory;

/** Somebody in {@link Deadlines}. */
interface Expiring {
    /** Gives up what has waited for too long; any thread, no lock held. */
    void lookAtDeadline();

    /** Whether there is still something to wait for; any thread. */
    boolean hasDeadline();
}
