package org.rdmasockets.completion;

/**
 * The waiting side of one role of an inbox: who is parked, what it has polled for itself, and what its waits have
 * taught about spinning. All but {@link #thread} is touched only by the role's one caller.
 *
 * <p>A spin gains what it leaves of its budget, and loses what it spent if nothing came: a processor that the peer, or
 * other threads of this process, could have had. Spinning pays while the mean of that is at least half of the budget,
 * as it is with a peer that spins as well. But two that park answer late because both have to be woken, so each would
 * learn to go on parking, and they would take turns at it for ever. Therefore some waits in a row that were parked and
 * yet short, so short that waking may have been most of each, are followed by a few trials: spins that last until a
 * peer that has to be woken has answered. Its own waits are as short then, so both are on trial at once, and if waking
 * was what took the time, they meet. One short wait alone says nothing: where requests come at random, many waits are
 * short, and each spin takes a processor from the other process.
 */
final class Waiter {
    /** The gain of a spin that ends at once. */
    static final int ALWAYS = 256;
    /** The weight of a new value in the moving mean is one in 2^3. */
    static final int WEIGHT_SHIFT = 3;
    /** While spins do not pay, one wait in so many spins, to see whether that has changed. */
    static final int PROBE_INTERVAL = 64;
    /** A trial lasts for so many times the budget, and a parked wait was short if it was no longer. */
    private static final int TRIAL_FACTOR = 16;
    /** But no longer than this, or than the budget if that is more. */
    private static final long MAX_TRIAL_NANOS = 1_000_000;
    /** So many follow one another; if the last of them hits, so many more do, until spins pay. */
    private static final int TRIALS = 4;
    /** Where more threads were woken during a wait, others of this process want the processor that a trial takes. */
    private static final int MOST_WAKES = 2;
    /** So many short waits in a row, in which nobody else was at work, come before trials. */
    private static final int CALM_WAITS = 8;
    /** A wait that is not so takes back so many: fewer than {@link #TRIALS}, so that the trials of two ends overlap. */
    private static final int DISTURBANCE = 3;

    /** {@link #slot} has a completion: then this has the protocol lock, and applies it before all else. */
    private static final byte HOLDS = 1;
    /** The last spin gained enough: then the next one may, too. */
    private static final byte PAID = 2;
    /** The last wait was brief, and hardly anybody else was woken meanwhile: then the next one may be so, too. */
    private static final byte BRIEF = 4;
    /** The client may become ready without anybody's entering the inbox. */
    private static final byte ASKS = 8;
    /** This has never spun. */
    private static final byte UNSPUN = 1;
    /** This has never waited without. */
    private static final byte UNWATCHED = 2;
    /** Above these: how many waits have to pass before the next watch. */
    private static final int REST_SHIFT = 4;
    /** So many after a watch that was in vain: who writes may be in this process, and wakes a parked thread sooner. */
    private static final int WATCH_REST = 7;

    /** The thread that is parked or about to park; null while nobody waits or a leader spins. */
    volatile Thread thread;
    /** When this was inside the inbox last: one of its counts; -1 before that. */
    int section = -1;
    /** For a completion that this polls for itself; null if there was none since it was parked, or put in. */
    private Completion slot;
    /** Moving mean of what spins have gained, 0 to {@link #ALWAYS}. */
    private short gains = ALWAYS;
    /** Waits since the last probe. */
    private byte unspun;
    /** Trials left. */
    private byte trials;
    /** How many threads had been woken when this arrived; the lowest bits. */
    private byte wakes;
    /** Short waits in which nobody else was at work, less those that were not so, below {@link #CALM_WAITS}. */
    private byte calm;
    /** {@link #UNSPUN} and {@link #UNWATCHED}, until this has done so first: newer ones learn from that. */
    private byte fresh = UNSPUN | UNWATCHED;
    /** All of the above: each field more is 8 bytes for each idle connection. */
    private byte flags = PAID;

    /** One that has not waited yet: it spins if that has paid for others when they were new. */
    Waiter(SpinPolicy policy) {
        if (!policy.newcomersSpin()) {
            gains = 0;
            flags = 0;
        }
        set(BRIEF, policy.newcomersAreBrief());
    }

    /** Gives a completion to this alone, who now has the protocol lock. */
    void hold(Completion completion) {
        slot = completion;
        set(HOLDS, true);
    }

    /** Whether this has one, and the protocol lock. */
    boolean holds() {
        return has(HOLDS);
    }

    /** The one that this has, to be applied. */
    Completion release() {
        set(HOLDS, false);
        return slot;
    }

    /** The slot of the last one, or null; it is no longer kept here. */
    Completion takeSlot() {
        Completion taken = slot;
        slot = null;
        return taken;
    }

    /** From now on each look at whether a wait is over asks the client. */
    void asks() {
        set(ASKS, true);
    }

    /** Whether that is so. */
    boolean asksAlways() {
        return has(ASKS);
    }

    /** Whether spins have not paid, and the next one is to see whether that has changed. */
    boolean isTrying() {
        return !has(PAID) && !spinsPay();
    }

    /** A wait begins that does not spin, when so many threads have been woken. */
    void arrives(int wakesBefore) {
        wakes = (byte) wakesBefore;
    }

    /** Whether a {@link Watch} is likely to be worthwhile. */
    boolean isBrief() {
        return has(BRIEF);
    }

    private boolean has(byte flag) {
        return (flags & flag) != 0;
    }

    private void set(byte flag, boolean on) {
        flags = (byte) (on ? flags | flag : flags & ~flag);
    }

    /**
     * How long to spin now, in nanoseconds; 0 for not at all. Never a part of the budget: a peer that has parked once
     * must find this one still spinning when it has woken up.
     */
    long spinNanos(int budgetNanos) {
        if (!isTrying()) {
            return budgetNanos;
        }
        if (trials > 0) {
            return trialNanos(budgetNanos);
        }
        if (++unspun < PROBE_INTERVAL) {
            return 0;
        }
        unspun = 0;
        return budgetNanos;
    }

    private static long trialNanos(int budgetNanos) {
        return Math.max(budgetNanos, Math.min(MAX_TRIAL_NANOS, (long) TRIAL_FACTOR * budgetNanos));
    }

    private boolean spinsPay() {
        return gains >= ALWAYS / 2;
    }

    /** Learns from a spin of so long that ended by what it waited for, or because its time was over. */
    void learn(boolean came, long nanos, int budgetNanos, SpinPolicy policy) {
        int gain = (came ? ALWAYS : 0) - cost(nanos, budgetNanos);
        boolean hit = gain >= ALWAYS / 2;
        if ((fresh & UNSPUN) != 0) {
            fresh &= ~UNSPUN;
            policy.newcomerHas(hit);
        }
        set(PAID, hit);
        gains = (short) Math.max(0, gains + (gain - gains >> WEIGHT_SHIFT));
        if (trials == 0 || --trials > 0) {
            return;
        }
        if (spinsPay()) {
            policy.trialsPaid();
        } else if (hit) {
            trials = TRIALS;
        } else {
            policy.trialsFailed();
        }
    }

    /** Learns from a spin that ended after so long because others wanted its carrier: it might have gained. */
    void leaves(long nanos, int budgetNanos) {
        int cost = cost(nanos, budgetNanos);
        set(PAID, has(PAID) && cost < ALWAYS / 2);
        gains = (short) Math.max(0, gains - (cost >> WEIGHT_SHIFT));
    }

    private static int cost(long nanos, int budgetNanos) {
        return ALWAYS * (int) Math.min(nanos, budgetNanos) / budgetNanos; // a budget has a millisecond at most
    }

    /** Learns that a watch was not worthwhile: a thread that had taken no event had to wake this one, or none did. */
    void watchedInVain() {
        set(BRIEF, false);
        flags |= WATCH_REST << REST_SHIFT;
    }

    /** Learns from a wait that did not spin, or not only; {@code wakesBefore} threads had been woken when it began. */
    void woken(long parkedNanos, int budgetNanos, long watchNanos, int wakesBefore, SpinPolicy policy) {
        boolean rests = flags >> REST_SHIFT > 0;
        flags -= (byte) (rests ? 1 << REST_SHIFT : 0);
        int woken = wakesBefore - wakes & 0xFF;
        boolean brief = parkedNanos <= watchNanos && woken <= 1;
        set(BRIEF, !rests && brief);
        if ((fresh & UNWATCHED) != 0) {
            fresh &= ~UNWATCHED;
            policy.newcomerWasBrief(!rests && brief);
        }
        if (spinsPay() || trials > 0) {
            return;
        }
        if (parkedNanos > trialNanos(budgetNanos) || woken > MOST_WAKES) {
            calm = (byte) Math.max(0, calm - DISTURBANCE);
        } else if (++calm >= CALM_WAITS) {
            calm--;
            trials = (byte) (policy.mayBeginTrials() ? TRIALS : 0);
        }
    }
}
