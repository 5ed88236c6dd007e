package org.rdmasockets.internal.lock;

import java.time.Duration;

/** Times by {@code System.nanoTime}, and their differences, that do not overflow. */
public final class NanoTimes {
    /** For ever, in nanoseconds; small enough to add to a time. */
    private static final long FOR_EVER_NANOS = Long.MAX_VALUE / 4;

    private NanoTimes() {}

    /** When a limit that begins now is over; {@code Long.MAX_VALUE} when it is too long to matter. */
    public static long after(Duration limit) {
        return after(nanos(limit));
    }

    /** Likewise for nanoseconds. */
    public static long after(long nanos) {
        return nanos >= FOR_EVER_NANOS ? Long.MAX_VALUE : System.nanoTime() + nanos;
    }

    /** How long until such a time, 0 when it is over; {@code Long.MAX_VALUE} for no end. */
    public static long remaining(long deadlineNanos) {
        return deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE : Math.max(0, deadlineNanos - System.nanoTime());
    }

    /** A duration in nanoseconds, at least 0; very long ones become some decades. */
    public static long nanos(Duration limit) {
        if (limit.isNegative()) {
            return 0;
        }
        return limit.getSeconds() >= FOR_EVER_NANOS / 1_000_000_000L ? FOR_EVER_NANOS : limit.toNanos();
    }
}
