package org.rdmasockets.completion;

/**
 * A short time out of each period in which virtual threads do not unpark each other themselves. Carriers that are kept
 * busy by local wake-ups never look at the queue where wake-ups from outside wait (JDK-8373118).
 */
final class Valve {
    private static final long PERIOD_NANOS = 10_000_000;
    private static final long OPEN_NANOS = 500_000;

    private Valve() {
    }

    /** True in the first 500 microseconds of each 10 milliseconds of {@link System#nanoTime}. */
    static boolean isOpen(long nanoTime) {
        return Math.floorMod(nanoTime, PERIOD_NANOS) < OPEN_NANOS;
    }
}
