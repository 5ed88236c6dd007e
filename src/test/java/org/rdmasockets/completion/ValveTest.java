package org.rdmasockets.completion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** When virtual threads leave waking to the poller. */
class ValveTest {
    private static final long START = -5_000;

    @Test
    void isOpenForPartOfEachPeriod() {
        Valve valve = new Valve(START);
        for (int period = 0; period < 3; period++) {
            long opened = START + period * 10_000_000L;
            for (int i = 0; i < 100; i++) {
                assertTrue(valve.admits(opened + i * 4_000), "first half millisecond");
            }
            assertFalse(valve.admits(opened + 500_000));
            assertFalse(valve.admits(opened + 9_999_999));
        }
    }

    @Test
    void opensLateRatherThanNot() {
        Valve valve = new Valve(START);
        for (int i = 0; i < 16; i++) {
            assertTrue(valve.admits(START + 600_000), "a few wake-ups at least");
        }
        assertFalse(valve.admits(START + 600_000));
        assertTrue(valve.admits(START + 19_700_000), "the period in between was missed");
        assertTrue(valve.admits(START + 19_800_000));
    }
}
