package org.rdmasockets.internal.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** How many lines are written, by a clock of the test. */
class LimitedLogTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final LimitedLog log = new LimitedLog(new Log(LimitedLogTest.class));

    @Test
    void aFewLinesAreWrittenAndThenOneInTenSecondsWithTheCountOfTheOthers() {
        long start = Long.MAX_VALUE - SECOND; // the clock overflows meanwhile
        for (int i = 0; i < 5; i++) {
            assertEquals(0, log.admit(start));
        }
        for (int i = 0; i < 1000; i++) {
            assertEquals(-1, log.admit(start + i));
        }
        assertEquals(-1, log.admit(start + 9 * SECOND));
        assertEquals(1001, log.admit(start + 10 * SECOND));
        assertEquals(-1, log.admit(start + 11 * SECOND));
    }

    @Test
    void twoMinutesOfAnythingAreSeventeenLines() {
        int lines = 0;
        for (long now = 0; now <= 120 * SECOND; now += SECOND / 1000) {
            lines += log.admit(now) >= 0 ? 1 : 0;
        }
        assertEquals(17, lines);
    }

    @Test
    void aPauseRestoresAFewLinesAndNoMore() {
        assertTrue(log.admit(0) == 0 && log.admit(0) == 0);
        int lines = 0;
        for (int i = 0; i < 100; i++) {
            lines += log.admit(1000 * SECOND) >= 0 ? 1 : 0;
        }
        assertEquals(5, lines);
    }
}
