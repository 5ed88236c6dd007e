package org.rdmasockets.completion;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;

/**
 * Decides who may spin. A spinning virtual thread keeps its carrier from everybody else, and even
 * {@link Thread#yield} does not help threads that wait in the scheduler's external queue. So a thread spins only while
 * no virtual thread waits for a carrier, while there is a processor that no spinner of its side has, and while nothing
 * has descheduled a spinner lately. Only of its side: whom it waits for is on the other one, and if that is in this
 * process and spins as well, both have to; but both sides together have no more spinners than there are processors.
 * Whether it pays, each {@link Waiter} knows; but for a while after many virtual threads waited for carriers there is
 * work for all processors, here or in the process that answers, and only one now and then may try whether it has come
 * to pay. Any thread.
 */
final class SpinPolicy {
    /** A spinner asks again at least this often whether it is in the way. */
    static final long CHECK_NANOS = 1_000;
    /** How often a spinner looks for completions before it looks at the clock and what others did; for some devices. */
    static final int LOOKS = 16;
    /** A longer pause between two looks at the clock, longer than the spin, means that the processor was taken away. */
    private static final long GAP_NANOS = 50_000;
    /** Nobody spins after such a pause for as long as it was, but no longer than this. */
    private static final long MAX_PENALTY_NANOS = 10_000_000;

    /** More virtual threads than this for each processor that wait for a carrier are many. */
    private static final int MANY = 8;
    /** So long after many waited, only few try. */
    private static final long CALM_NANOS = 10_000_000;
    /** How exactly {@link #manyAt} is kept, so that not each one who is refused writes there. */
    private static final long MANY_STEP_NANOS = 1_000_000;
    /** From one trial to the next then. */
    private static final long TRIAL_INTERVAL_NANOS = 10_000_000;

    /** After trials that failed, at most 2^10 short waits pass without one: at moderate load none of them pays. */
    private static final int MAX_REST_SHIFT = 11;

    /** Two lines of memory, as numbers. */
    private static final int DISTANCE = 32;

    private final int processors;
    /** How many virtual threads wait for a carrier, or null if the JVM does not tell, or not yet. */
    private volatile IntSupplier queued;
    /** Whether somebody wanted to know that, since this was made. A hint. */
    private boolean asked;
    /** By side, far enough apart that a processor does not take the other side's line of memory as well. */
    private final AtomicIntegerArray spinners = new AtomicIntegerArray(DISTANCE * (Side.values().length + 1));
    private volatile long noSpinBefore;
    /** When somebody who wanted to spin found many waiting for a carrier, to a step. */
    private volatile long manyAt;
    /** When the next one may try in spite of that. */
    private final AtomicLong nextTrial;
    /** Short waits of all before the next trials, about: two who count at once may count one. */
    private volatile int rest;
    /** The next {@link #rest}, as a power of two. */
    private volatile int restShift;
    /** Moving share of first spins of connections that left half of their budget; about: several may change it. */
    private volatile int newcomerHits = Waiter.ALWAYS;
    /** Connections that began while these did not pay; about. */
    private volatile int newcomers;
    /** Whether the last first wait of a connection that was not spun was brief, as {@link Waiter} has it. A hint. */
    private volatile boolean newcomersAreBrief;

    /**
     * A policy for the processors of the settings; {@code queued} counts virtual threads that wait for a carrier, null
     * if nobody knows: then virtual threads park.
     */
    SpinPolicy(PollerSettings settings, IntSupplier queued) {
        this.processors = settings.processors();
        this.queued = queued;
        this.noSpinBefore = System.nanoTime();
        this.manyAt = noSpinBefore - CALM_NANOS;
        this.nextTrial = new AtomicLong(noSpinBefore);
    }

    /** Asks this from now on how many virtual threads wait for a carrier; null as in the constructor. */
    void ask(IntSupplier scheduler) {
        queued = scheduler;
    }

    /** Whether somebody has waited, who wanted to know whether virtual threads wait for a carrier. */
    boolean isAsked() {
        return asked;
    }

    /** Whether anybody may spin at all: not with a single processor. */
    boolean allows() {
        return processors > 1;
    }

    /**
     * Takes one of the few places for spinners; true must be followed by {@link #end}. A caller whose spins have not
     * paid is {@code trying} whether that has changed.
     */
    boolean begin(Side side, boolean trying) {
        int waiting = waiting();
        if (waiting > MANY * processors) {
            noteMany();
        }
        if (isCrowded(waiting)) {
            return false;
        }
        long now = System.nanoTime();
        if (now - noSpinBefore < 0 || trying && !mayTry(now)) {
            return false;
        }
        // One more for a moment: who has just been answered may not have left yet. A spinner soon asks again.
        if (spinners.incrementAndGet(place(side)) <= processors) {
            return true;
        }
        end(side);
        return false;
    }

    /** How many virtual threads wait for a carrier, 0 if the JVM does not tell. */
    private int waiting() {
        IntSupplier scheduler = queued;
        if (scheduler == null && !asked) {
            asked = true;
        }
        return scheduler == null ? 0 : scheduler.getAsInt();
    }

    private void noteMany() {
        long now = System.nanoTime();
        if (now - manyAt > MANY_STEP_NANOS) {
            manyAt = now;
        }
    }

    /** Whether a spin may be made to see if it pays, and notes that it is. */
    private boolean mayTry(long now) {
        long next = nextTrial.get();
        return now - manyAt >= CALM_NANOS
                || now - next >= 0 && nextTrial.compareAndSet(next, now + TRIAL_INTERVAL_NANOS);
    }

    /**
     * Whether the caller, whose wait was parked and yet short, may begin trials. Each that fails costs others of this
     * process a processor, so all learn from one: what fails for some time is tried ever more rarely. Two ends that
     * wait for each other alone count the same waits, so that they are on trial together.
     */
    boolean mayBeginTrials() {
        int left = rest;
        rest = left > 0 ? left - 1 : 1 << restShift;
        return left <= 0;
    }

    /** Trials have failed. */
    void trialsFailed() {
        restShift = Math.min(restShift + 1, MAX_REST_SHIFT);
        rest = 1 << restShift - 1;
    }

    /** Spins pay since trials: the next ones come at once. */
    void trialsPaid() {
        restShift = 0;
        rest = 0;
    }

    /**
     * Whether a connection that begins may spin from its first wait on. Not where it does not pay, as for connections
     * that are used once and closed; one in so many finds out whether that has changed.
     */
    boolean newcomersSpin() {
        if (newcomerHits >= Waiter.ALWAYS / 2) {
            return true;
        }
        int count = newcomers + 1;
        newcomers = count;
        return count % Waiter.PROBE_INTERVAL == 0;
    }

    /** Whether the first wait of a connection is likely to be brief. */
    boolean newcomersAreBrief() {
        return newcomersAreBrief;
    }

    /** The first wait of a connection that did not spin was brief, or not. */
    void newcomerWasBrief(boolean brief) {
        if (brief != newcomersAreBrief) {
            newcomersAreBrief = brief;
        }
    }

    /** The first spin of a connection has paid, or not. */
    void newcomerHas(boolean hit) {
        newcomerHits += (hit ? Waiter.ALWAYS : 0) - newcomerHits >> Waiter.WEIGHT_SHIFT;
    }

    /** True when more spin than may do so for long; then a spinner leaves. */
    boolean areTooMany(Side side) {
        int ofSide = spinners.get(place(side));
        return ofSide >= processors || ofSide + spinners.get(place(side.other())) > processors;
    }

    /** Gives the place back. */
    void end(Side side) {
        spinners.decrementAndGet(place(side));
    }

    private static int place(Side side) {
        return DISTANCE * (side.ordinal() + 1);
    }

    /** True when a spinning caller may be in another virtual thread's way. */
    boolean isCrowded() {
        return isCrowded(waiting());
    }

    private boolean isCrowded(int waiting) {
        return queued == null ? Thread.currentThread().isVirtual() : waiting > 0;
    }

    /** Notes two looks at the clock with only a short poll between; true if the processor was away in the meantime. */
    boolean wasDescheduled(long beforeNanos, long nowNanos, long budgetNanos) {
        if (nowNanos - beforeNanos <= Math.max(GAP_NANOS, budgetNanos)) {
            return false;
        }
        noSpinBefore = nowNanos + Math.min(nowNanos - beforeNanos, MAX_PENALTY_NANOS);
        return true;
    }
}
