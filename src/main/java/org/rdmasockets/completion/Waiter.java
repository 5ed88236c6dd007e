package org.rdmasockets.completion;

/** The waiting side of one role of an inbox: who is parked, and how spinning has paid so far. */
final class Waiter {
    /** The full score of {@link #hits}. */
    static final int ALWAYS = 256;

    /** The thread that is parked or about to park; null while nobody waits or a leader spins. */
    volatile Thread thread;
    /** Moving share of spins that ended in time, 0 to {@link #ALWAYS}. Only the role's one caller touches it. */
    int hits = ALWAYS;
    /** Whether the last spin ended in time: then the next one may, too. Only the role's one caller touches it. */
    boolean paid = true;
    /** Waits since the last probe. Only the role's one caller touches it. */
    int unspun;
}
