package org.rdmasockets.internal.waiting;

/**
 * How a {@link CompletionPoller} behaves. The system properties that set these belong to the transport.
 *
 * @param threadName name of the thread
 * @param batch most completions of one poll, 1 to 64; the time that the lock of a completion queue is held
 * @param spinBudgetNanos longest time that a waiter polls for itself before it parks, unless its inbox is told
 *         otherwise; 0 to 1,000,000 nanoseconds, 0 to park at once
 * @param processors how many processors there are; each side of the connections has fewer spinners than that
 * @param tickMillis about how often {@link CompletionPoller#tick} tasks run, 1 to 60,000 milliseconds
 * @param valve whether virtual threads let the poller wake others for half a millisecond of each ten; without it,
 *         virtual threads that keep waking each other can keep a third one, woken from outside, from running
 * @param firstQueueEntries size of the first completion queue of a device; later ones are larger
 * @param maxQueueEntries size of the largest completion queue, unless one connection needs more
 */
public record PollerSettings(String threadName, int batch, int spinBudgetNanos, int processors, int tickMillis,
        boolean valve, int firstQueueEntries, int maxQueueEntries) {
    private static final int MAX_BATCH = 64;
    private static final int MAX_SPIN_NANOS = 1_000_000;
    private static final int MAX_TICK_MILLIS = 60_000;

    /** Checks the ranges. */
    public PollerSettings {
        if (batch < 1 || batch > MAX_BATCH || spinBudgetNanos < 0 || spinBudgetNanos > MAX_SPIN_NANOS
                || processors < 1 || tickMillis < 1 || tickMillis > MAX_TICK_MILLIS
                || firstQueueEntries < 1 || maxQueueEntries < firstQueueEntries) {
            throw new IllegalArgumentException("batch=" + batch + ", spinBudgetNanos=" + spinBudgetNanos
                    + ", processors=" + processors + ", tickMillis=" + tickMillis
                    + ", firstQueueEntries=" + firstQueueEntries + ", maxQueueEntries=" + maxQueueEntries);
        }
    }

    /**
     * The settings that suit this machine: batches of 16, 50 microseconds of spinning, a tick every half second,
     * queues of 1,024 to 16,384 entries.
     */
    public static PollerSettings defaults() {
        return new PollerSettings("rdma-completions", 16, 50_000, Runtime.getRuntime().availableProcessors(), 500,
                true, 1_024, 16_384);
    }

    /** The same with another longest spin, 0 to 1,000,000 nanoseconds, 0 to park at once. */
    public PollerSettings withSpinBudgetNanos(int nanos) {
        return new PollerSettings(threadName, batch, nanos, processors, tickMillis, valve,
                firstQueueEntries, maxQueueEntries);
    }

    /** The same with another tick, 1 to 60,000 milliseconds. */
    public PollerSettings withTickMillis(int millis) {
        return new PollerSettings(threadName, batch, spinBudgetNanos, processors, millis, valve,
                firstQueueEntries, maxQueueEntries);
    }
}
