package org.rdmasockets.internal.waiting;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;

/**
 * Lets a waiter spin whose last spin ended within its budget, or the last ones within half of it on average.
 *
 * <p>A spin takes a processor from other threads, and a spinning virtual thread keeps its carrier. So no thread spins
 * while virtual threads wait for a carrier, and each side of the connections has fewer spinners than processors.
 *
 * <p>Two ends that park never find out that both could spin: each answer is late because the peer has to be woken,
 * perhaps on the spinner's own processor. So a spin after one in vain is a trial, which outlasts a tick of the kernel.
 * Trials begin only in 4 ms of every 8; after failed trials, of up to 256; the same ones in all processes of a host. A
 * waiter whose last spins ended in time spins as long as a trial, for a peer that has lost its processor. Any thread.
 */
final class SpinPolicy {
    /** How often a spinner looks for completions before it looks at the clock; for devices that can do so. */
    static final int LOOKS = 16;
    /** The gain of a spin that ends at once, and the weight of a new one in the moving mean: one in 2^3. */
    static final int ALWAYS = 256;
    private static final int WEIGHT_SHIFT = 3;
    /** After so many spins in a row that ended in time, a waiter spins as long as a trial. */
    private static final int STEADY = 16;
    /** How often a spinner checks for virtual threads that wait for a carrier. */
    static final long CHECK_NANOS = 1_000;
    /** A trial lasts so many times the budget, or this many nanoseconds if that is less. */
    private static final long TRIAL_FACTOR = 80;
    private static final long MAX_TRIAL_NANOS = 4_000_000;
    /** A time slice, about 4 milliseconds, as a power of two of nanoseconds; trials get one of 2^6 slices or more. */
    private static final int TRIAL_SHIFT = 22;
    private static final int MAX_RARITY = 6;
    /** Spreads the trials over time (the golden ratio, as a fraction of 2^64). */
    private static final long SPREAD = 0x9E3779B97F4A7C15L;
    /** Two cache lines, in numbers: the sides must not share one. */
    private static final int DISTANCE = 32;

    private final int limit;
    /** Counts virtual threads that wait for a carrier; null if the JVM does not tell, or was not asked yet. */
    private volatile IntSupplier queued;
    /** Whether a waiter asked; a hint, as are the next two. */
    private boolean asked;
    /** Moving mean of what first spins of connections gained: a new connection begins with it. */
    private volatile int firstGains = ALWAYS;
    /** One time slice of 2 to the power of this is for trials, from 1 on. */
    private volatile int rarity = 1;
    /** Spins that ended in vain, and how long they took; counted at their end. */
    final AtomicLong vain = new AtomicLong();
    final AtomicLong vainNanos = new AtomicLong();
    /** Spinners by side. */
    private final AtomicIntegerArray spinners = new AtomicIntegerArray(DISTANCE * (ConnectionRole.values().length + 1));

    SpinPolicy(int processors, IntSupplier queued) {
        this.limit = processors - 1;
        this.queued = queued;
    }

    /** Sets what counts virtual threads that wait for a carrier; null if the JVM does not tell. */
    void ask(IntSupplier scheduler) {
        queued = scheduler;
    }

    boolean isAsked() {
        return asked;
    }

    int firstGains() {
        return firstGains;
    }

    /** How long a waiter may spin now, in nanoseconds, or 0; another value must be followed by {@link #end}. */
    long begin(ConnectionRole side, Waiter waiter, int budgetNanos) {
        boolean trial = waiter.inTime == 0;
        boolean rests = trial && !waiter.pays()
                && (System.nanoTime() >>> TRIAL_SHIFT) * SPREAD >>> Long.SIZE - rarity != 0;
        if (budgetNanos == 0 || limit == 0 || rests || isCrowded()) {
            return 0;
        }
        if (spinners.incrementAndGet(DISTANCE * (side.ordinal() + 1)) > limit) {
            end(side);
            return 0;
        }
        return trial || waiter.inTime >= STEADY
                ? Math.max(budgetNanos, Math.min(MAX_TRIAL_NANOS, TRIAL_FACTOR * budgetNanos)) : budgetNanos;
    }

    /** Whether a spinner may go on; rechecked at intervals. */
    boolean goesOn(long nowNanos, long checkedNanos) {
        return nowNanos - checkedNanos < CHECK_NANOS || !isCrowded();
    }

    void end(ConnectionRole side) {
        spinners.decrementAndGet(DISTANCE * (side.ordinal() + 1));
    }

    /** Learns from a spin that took so long and ended by what it waited for, or in vain. */
    void learn(Waiter waiter, boolean came, long nanos, int budgetNanos) {
        if (!came) {
            vain.incrementAndGet();
            vainNanos.addAndGet(nanos);
        }
        int gain = (came ? ALWAYS : 0) - (int) (ALWAYS * Math.min(nanos, budgetNanos) / budgetNanos);
        waiter.inTime = came && nanos <= budgetNanos ? Math.min(waiter.inTime + 1, STEADY) : 0;
        if (!waiter.pays()) {
            rarity = waiter.inTime > 0 ? 1 : Math.min(rarity + 1, MAX_RARITY);
        }
        waiter.gains = Math.max(0, waiter.gains + (gain - waiter.gains >> WEIGHT_SHIFT));
        if (!waiter.spun) {
            waiter.spun = true;
            firstGains = Math.max(0, firstGains + (gain - firstGains >> WEIGHT_SHIFT));
        }
    }

    private boolean isCrowded() {
        IntSupplier scheduler = queued;
        asked |= scheduler == null;
        return scheduler == null ? Thread.currentThread().isVirtual() : scheduler.getAsInt() > 0;
    }
}
