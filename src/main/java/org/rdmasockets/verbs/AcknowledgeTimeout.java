package org.rdmasockets.verbs;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * How long a queue pair waits for an acknowledgement before it sends again: 4.096 us times 2 to the power of a code
 * (InfiniBand specification, 9.7.6.1.3). A device may wait up to four times as long.
 *
 * @param code 1 to 31, or 0 to wait for ever: then nothing ends a request to a peer that is gone
 * @since 0.1
 */
public record AcknowledgeTimeout(int code) {
    /** Without an end. */
    public static final AcknowledgeTimeout FOR_EVER = new AcknowledgeTimeout(0);

    private static final long UNIT_NANOS = 4096;
    private static final int MOST = 31;

    /**
     * The timeout of a code.
     *
     * @throws IllegalArgumentException if the code is not 0 to 31
     */
    public AcknowledgeTimeout {
        QueuePairAttributes.Field.ACKNOWLEDGE_TIMEOUT.check(code);
    }

    /**
     * The shortest timeout that is not shorter than this.
     *
     * @param least a positive time of at most 8,796 s, which is 4.096 us times 2 to the power of 31; or
     *         {@link ChronoUnit#FOREVER}
     * @return the timeout, 8.192 us at least
     * @throws IllegalArgumentException if the time is not positive or too long
     */
    public static AcknowledgeTimeout atLeast(Duration least) {
        if (least.equals(ChronoUnit.FOREVER.getDuration())) {
            return FOR_EVER;
        }
        AcknowledgeTimeout longest = new AcknowledgeTimeout(MOST);
        if (!least.isPositive() || least.compareTo(longest.duration()) > 0) {
            throw new IllegalArgumentException("an acknowledge timeout is more than 0 and at most "
                    + longest.duration() + ", or for ever, not " + least);
        }
        int code = 1;
        while (UNIT_NANOS << code < least.toNanos()) {
            code++;
        }
        return new AcknowledgeTimeout(code);
    }

    /** {@return how long it is, which is that of {@link ChronoUnit#FOREVER} for code 0} */
    public Duration duration() {
        return code == 0 ? ChronoUnit.FOREVER.getDuration() : Duration.ofNanos(UNIT_NANOS << code);
    }
}
