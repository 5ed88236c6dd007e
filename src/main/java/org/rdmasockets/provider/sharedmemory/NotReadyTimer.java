package org.rdmasockets.provider.sharedmemory;

/** The codes of {@code min_rnr_timer} (InfiniBand specification, 9.7.5.2.8). */
final class NotReadyTimer {
    /** By code from 1 on; from 5 on each second is twice the one two before. */
    private static final int[] HUNDREDTHS_OF_MILLIS = {1, 2, 3, 4, 6};
    private static final long UNIT_NANOS = 10_000;
    private static final int LONGEST = 32;

    private NotReadyTimer() {
    }

    /**
     * The time that a code means.
     *
     * @param code 0 to 31
     * @return nanoseconds
     */
    static long nanos(int code) {
        int steps = code == 0 ? LONGEST : code;
        int index = steps - 1;
        if (index < HUNDREDTHS_OF_MILLIS.length) {
            return HUNDREDTHS_OF_MILLIS[index] * UNIT_NANOS;
        }
        int doublings = (index - 3) / 2;
        return ((long) HUNDREDTHS_OF_MILLIS[3 + (index - 3) % 2] << doublings) * UNIT_NANOS;
    }
}
