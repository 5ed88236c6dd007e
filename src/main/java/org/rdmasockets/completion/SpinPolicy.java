package org.rdmasockets.completion;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Decides who may spin. A spinning virtual thread keeps its carrier from everybody else, and even
 * {@link Thread#yield} does not help threads that wait in the scheduler's external queue. So a thread spins only while
 * no virtual thread waits for a carrier, while there is a processor that no spinner of its side has, and while nothing
 * has descheduled a spinner lately. Only of its side: whom it waits for is on the other one, and if that is in this
 * process and spins as well, both have to; but both sides together have no more spinners than there are processors.
 * Whether it pays, each {@link Waiter} knows. Any thread.
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

    /** Two lines of memory, as numbers. */
    private static final int DISTANCE = 32;

    private final int processors;
    private final SchedulerQueue schedulerQueue;
    /** By side, far enough apart that a processor does not take the other side's line of memory as well. */
    private final AtomicIntegerArray spinners = new AtomicIntegerArray(DISTANCE * (Side.values().length + 1));
    private volatile long noSpinBefore;

    /** A policy for the processors of the settings; without a scheduler queue virtual threads park. */
    SpinPolicy(CompletionPoller.Settings settings, SchedulerQueue schedulerQueue) {
        this.processors = settings.processors();
        this.schedulerQueue = schedulerQueue;
        this.noSpinBefore = System.nanoTime();
    }

    /** Whether anybody may spin at all: not with a single processor. */
    boolean allows() {
        return processors > 1;
    }

    /** Takes one of the few places for spinners; true must be followed by {@link #end}. */
    boolean begin(Side side) {
        if (isCrowded() || System.nanoTime() - noSpinBefore < 0) {
            return false;
        }
        // One more for a moment: who has just been answered may not have left yet. A spinner soon asks again.
        if (spinners.incrementAndGet(place(side)) <= processors) {
            return true;
        }
        end(side);
        return false;
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
        return schedulerQueue == null ? Thread.currentThread().isVirtual() : !schedulerQueue.isEmpty();
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
