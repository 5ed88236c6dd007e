package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The needs of a connection at a tick, and whether it may be visited less often until then. */
class LivenessTest {
    private static final long START = 1_000_000_000_000L;
    private static final int IDLE_SECONDS = 60;

    private final Liveness liveness = new Liveness(START);

    private static long seconds(long count) {
        return START + TimeUnit.SECONDS.toNanos(count);
    }

    @Test
    void nothingIsNearOnAQuietConnection() {
        assertEquals(Liveness.Duty.NOTHING, liveness.due(seconds(1_000)));
        assertFalse(liveness.isDutyNear(seconds(1_000)));
    }

    @Test
    void aSendIsNearUntilItHasCompleted() {
        assertTrue(liveness.posted(START, 1), "the clock starts");
        assertFalse(liveness.posted(START, 2));
        assertTrue(liveness.isDutyNear(START));
        assertEquals(Liveness.Duty.CONFIRM, liveness.due(START + Liveness.CONFIRM_NANOS + 1));
        assertTrue(liveness.completed(seconds(1), 0));
        assertFalse(liveness.isDutyNear(seconds(1)));
    }

    @Test
    void aCompletionThatLeavesSomethingOutstandingStartsTheClock() {
        assertTrue(liveness.completed(START + 1, 0), "the first since a tick");
        assertFalse(liveness.completed(START + 1, 0));
        assertTrue(liveness.completed(START + 1, 1), "something was posted meanwhile");
        assertTrue(liveness.isDutyNear(START + 1));
    }

    /** A round may take twice as long as it should, so a probe is near two rounds before. */
    @Test
    void aProbeIsNearTwoRoundsBeforeItIsDue() {
        liveness.keepAlive(true, IDLE_SECONDS, 1);
        long due = seconds(IDLE_SECONDS) + 1;
        assertFalse(liveness.isDutyNear(due - 2 * Engine.ROUND_NANOS - 1));
        assertTrue(liveness.isDutyNear(due - 2 * Engine.ROUND_NANOS));
        assertEquals(Liveness.Duty.NOTHING, liveness.due(due - 1));
        assertEquals(Liveness.Duty.PROBE, liveness.due(due));
    }

    @Test
    void whoListensIsNearUntilItHasListened() {
        liveness.listen(START);
        assertTrue(liveness.isDutyNear(START));
        assertFalse(liveness.hasListened(START));
        assertTrue(liveness.hasListened(seconds(1)));
        assertFalse(liveness.hasListened(seconds(1)), "only once");
        assertFalse(liveness.isDutyNear(seconds(1)));
    }
}
