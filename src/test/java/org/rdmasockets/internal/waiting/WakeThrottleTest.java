package org.rdmasockets.internal.waiting;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** When virtual threads leave waking to the poller. */
class WakeThrottleTest {
    private static final long START = -5_000;

    @Test
    void relaysForPartOfEachPeriod() {
        WakeThrottle throttle = new WakeThrottle(START);
        for (int period = 0; period < 3; period++) {
            long opened = START + period * 10_000_000L;
            for (int i = 0; i < 100; i++) {
                assertTrue(throttle.relays(opened + i * 4_000), "first half millisecond");
            }
            assertFalse(throttle.relays(opened + 500_000));
            assertFalse(throttle.relays(opened + 9_999_999));
        }
    }

    @Test
    void relaysLateRatherThanNot() {
        WakeThrottle throttle = new WakeThrottle(START);
        for (int i = 0; i < 16; i++) {
            assertTrue(throttle.relays(START + 600_000), "a few wake-ups at least");
        }
        assertFalse(throttle.relays(START + 600_000));
        assertTrue(throttle.relays(START + 19_700_000), "the period in between was missed");
        assertTrue(throttle.relays(START + 19_800_000));
    }
}
