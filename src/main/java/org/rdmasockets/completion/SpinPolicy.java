package org.rdmasockets.completion;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Decides who may spin, and for how long. A spinning virtual thread keeps its carrier from everybody else, and even
 * {@link Thread#yield} does not help threads that wait in the scheduler's external queue. So a thread spins only while
 * no virtual thread waits for a carrier, while one processor stays free of spinners besides the one that makes
 * progress, while nothing has descheduled a spinner lately, and while spinning has paid for this waiter. Any thread.
 */
final class SpinPolicy {
    /** A spinner asks again at least this often whether it is in the way. */
    static final long CHECK_NANOS = 1_000;
    /** A longer pause between two looks at the clock, longer than the spin, means that the processor was taken away. */
    private static final long GAP_NANOS = 50_000;
    /** Nobody spins after such a pause for as long as it was, but no longer than this. */
    private static final long MAX_PENALTY_NANOS = 10_000_000;
    /** While less than half of the spins pay, one wait in so many spins, to see whether that has changed. */
    private static final int PROBE_INTERVAL = 64;
    /** The weight of a new value in the moving mean is one in 2^3. */
    private static final int WEIGHT_SHIFT = 3;

    private final int maxSpinners;
    private final SchedulerQueue schedulerQueue;
    private final AtomicInteger spinners = new AtomicInteger();
    private volatile long noSpinBefore;

    /** A policy for the processors of the settings; without a scheduler queue virtual threads park. */
    SpinPolicy(CompletionPoller.Settings settings, SchedulerQueue schedulerQueue) {
        this.maxSpinners = settings.processors() - 1;
        this.schedulerQueue = schedulerQueue;
        this.noSpinBefore = System.nanoTime();
    }

    /**
     * How long this waiter should spin now, in nanoseconds: what its connection allows, or 0 for not at all. Never a
     * part of that: a peer that has parked once must find this one still spinning when it has woken up, or the two take
     * turns at parking.
     */
    long budgetNanos(Waiter waiter, int maxBudgetNanos) {
        if (maxBudgetNanos == 0 || maxSpinners <= 0) {
            return 0;
        }
        if (waiter.hits < Waiter.ALWAYS / 2 && !waiter.paid) {
            if (++waiter.unspun < PROBE_INTERVAL) {
                return 0;
            }
            waiter.unspun = 0;
        }
        return maxBudgetNanos;
    }

    /** Takes one of the few places for spinners; true must be followed by {@link #end}. */
    boolean begin() {
        if (isCrowded() || System.nanoTime() - noSpinBefore < 0) {
            return false;
        }
        if (spinners.incrementAndGet() <= maxSpinners) {
            return true;
        }
        spinners.decrementAndGet();
        return false;
    }

    /** Gives the place back. */
    void end() {
        spinners.decrementAndGet();
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

    /** Learns from a spin that ended by what it waited for, or by its budget. */
    void learn(Waiter waiter, boolean hit) {
        waiter.paid = hit;
        waiter.hits += ((hit ? Waiter.ALWAYS : 0) - waiter.hits) >> WEIGHT_SHIFT;
    }
}
