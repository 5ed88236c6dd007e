package org.rdmasockets.verbs;

import java.time.Duration;

/**
 * How long a peer waits before it sends again what found no receive ({@code min_rnr_timer}; InfiniBand specification,
 * 9.7.5.2.8). The codes are those of that table: 1 is 0.01 ms, each second one about twice as long, 31 is 491.52 ms,
 * and 0 is the longest, 655.36 ms.
 *
 * @param code 0 to 31
 * @since 0.1
 */
public record ReceiverNotReadyTimer(int code) {
    /** By code from 1 on; from 5 on each second is twice the one two before. */
    private static final int[] HUNDREDTHS_OF_MILLIS = {1, 2, 3, 4, 6};
    private static final long UNIT_NANOS = 10_000;
    private static final int CODES = 32;

    /**
     * The timer of a code.
     *
     * @throws IllegalArgumentException if the code is not 0 to 31
     */
    public ReceiverNotReadyTimer {
        QueuePairAttributes.Field.RECEIVER_NOT_READY_TIMER.check(code);
    }

    /**
     * The shortest timer that is not shorter than this.
     *
     * @param least a positive time of at most 655.36 ms
     * @return the timer
     * @throws IllegalArgumentException if the time is not positive or too long
     */
    public static ReceiverNotReadyTimer atLeast(Duration least) {
        if (!least.isPositive() || least.compareTo(new ReceiverNotReadyTimer(0).duration()) > 0) {
            throw new IllegalArgumentException("a receiver-not-ready timer is more than 0 and at most "
                    + new ReceiverNotReadyTimer(0).duration() + ", not " + least);
        }
        int steps = 1;
        while (nanos(steps) < least.toNanos()) {
            steps++;
        }
        return new ReceiverNotReadyTimer(steps % CODES);
    }

    /** The time of a place in the order of times, 1 to 32. */
    private static long nanos(int steps) {
        int index = steps - 1;
        if (index < HUNDREDTHS_OF_MILLIS.length) {
            return HUNDREDTHS_OF_MILLIS[index] * UNIT_NANOS;
        }
        int doublings = (index - 3) / 2;
        return ((long) HUNDREDTHS_OF_MILLIS[3 + (index - 3) % 2] << doublings) * UNIT_NANOS;
    }

    /** {@return how long it is, 0.01 ms to 655.36 ms} */
    public Duration duration() {
        return Duration.ofNanos(nanos(code == 0 ? CODES : code));
    }
}
