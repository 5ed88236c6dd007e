package org.rdmasockets.internal.waiting;

/** One role of an inbox: the thread that waits, and what its spins gained. Only {@link #thread} is shared. */
final class Waiter {
    /** The thread that is parked or about to park, else null. */
    volatile Thread thread;
    /** For {@link SpinPolicy}: moving mean of gains, how many spins in a row ended in time, whether any was made. */
    int gains;
    int inTime;
    boolean spun;

    Waiter(int gains) {
        this.gains = gains;
        this.inTime = pays() ? 1 : 0;
    }

    /** Whether spins pay on average. */
    boolean pays() {
        return gains >= SpinPolicy.ALWAYS / 2;
    }
}
