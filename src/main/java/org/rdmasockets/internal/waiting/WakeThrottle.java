package org.rdmasockets.internal.waiting;

/**
 * In the first half millisecond of each ten, virtual threads leave it to the poller to unpark others. Carriers that are
 * kept busy by local wake-ups never look at the queue where wake-ups from outside wait (JDK-8373118). The half
 * millisecond begins with the first wake-up after a period, and lasts for some wake-ups at least: on a busy machine no
 * carrier may have had a processor meanwhile. Any thread; a race only makes it last a little longer.
 */
final class WakeThrottle {
    private static final long PERIOD_NANOS = 10_000_000;
    private static final long OPEN_NANOS = 500_000;
    private static final int MIN_RELAYS = 16;

    private volatile long openedNanos;
    private volatile int relays;

    WakeThrottle(long nowNanos) {
        openedNanos = nowNanos;
    }

    /** Whether the caller shall leave its wake-up to the poller. */
    boolean relays(long nowNanos) {
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
