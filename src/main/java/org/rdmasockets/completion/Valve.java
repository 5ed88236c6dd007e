package org.rdmasockets.completion;

/**
 * A short time out of each period in which virtual threads do not unpark each other themselves. Carriers that are kept
 * busy by local wake-ups never look at the queue where wake-ups from outside wait (JDK-8373118). The time counts from
 * the first wake-up after a period, and lasts for some wake-ups at least: on a busy machine the clock alone would often
 * open and close it while no carrier had a processor. Any thread; races merely make it last a little longer.
 */
final class Valve {
    private static final long PERIOD_NANOS = 10_000_000;
    private static final long OPEN_NANOS = 500_000;
    private static final int MIN_RELAYS = 16;

    private volatile long openedNanos;
    private volatile int relays;

    Valve(long nowNanos) {
        openedNanos = nowNanos;
    }

    /** Tells whether the wake-up that the caller is about to do should be done by the poller. */
    boolean admits(long nowNanos) {
        long sinceNanos = nowNanos - openedNanos;
        if (sinceNanos < OPEN_NANOS || relays < MIN_RELAYS) {
            relays = relays + 1;
            return true;
        }
        if (sinceNanos < PERIOD_NANOS) {
            return false;
        }
        openedNanos = nowNanos;
        relays = 1;
        return true;
    }
}
