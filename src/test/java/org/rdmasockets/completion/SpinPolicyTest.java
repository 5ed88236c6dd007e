package org.rdmasockets.completion;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Who may spin. Without a scheduler queue, so that other tests' threads do not matter. */
class SpinPolicyTest {
    private static final PollerSettings SETTINGS = Settings.withProcessors(PollerSettings.defaults(), 3);
    private static final int BUDGET_NANOS = 40_000;

    private static SpinPolicy policy(PollerSettings settings) {
        return new SpinPolicy(settings, null);
    }

    @Test
    void nobodySpinsWithOneProcessor() {
        assertTrue(policy(SETTINGS).allows());
        assertFalse(policy(Settings.withProcessors(SETTINGS, 1)).allows());
    }

    @Test
    void oneSideLeavesAProcessorToOthers() {
        SpinPolicy policy = policy(SETTINGS);
        assertTrue(policy.begin(Side.ACTIVE, false));
        assertTrue(policy.begin(Side.ACTIVE, false));
        assertFalse(policy.areTooMany(Side.ACTIVE));
        assertTrue(policy.begin(Side.ACTIVE, false), "three processors, two spinners, and one for a moment");
        assertTrue(policy.areTooMany(Side.ACTIVE));
        assertFalse(policy.begin(Side.ACTIVE, false));
        policy.end(Side.ACTIVE);
        assertFalse(policy.areTooMany(Side.ACTIVE));
        assertTrue(policy.begin(Side.ACTIVE, false));
    }

    @Test
    void bothEndsOfAConnectionMaySpinInOneProcessOfTwoProcessors() {
        SpinPolicy policy = policy(Settings.withProcessors(SETTINGS, 2));
        assertTrue(policy.begin(Side.ACTIVE, false));
        assertTrue(policy.begin(Side.PASSIVE, false));
        assertFalse(policy.areTooMany(Side.ACTIVE));
        assertFalse(policy.areTooMany(Side.PASSIVE));
    }

    @Test
    void bothSidesTogetherHaveNoMoreSpinnersThanProcessors() {
        SpinPolicy policy = policy(SETTINGS);
        assertTrue(policy.begin(Side.ACTIVE, false));
        assertTrue(policy.begin(Side.ACTIVE, false));
        assertTrue(policy.begin(Side.PASSIVE, false));
        assertFalse(policy.areTooMany(Side.PASSIVE));
        assertTrue(policy.begin(Side.PASSIVE, false), "for a moment");
        assertTrue(policy.areTooMany(Side.ACTIVE));
        assertTrue(policy.areTooMany(Side.PASSIVE));
        policy.end(Side.ACTIVE);
        assertFalse(policy.areTooMany(Side.PASSIVE));
    }

    @Test
    void virtualThreadsParkWhenTheSchedulerDoesNotTellItsQueue() throws Exception {
        SpinPolicy policy = policy(SETTINGS);
        boolean[] crowded = new boolean[1];
        Thread.ofVirtual().start(() -> crowded[0] = policy.isCrowded()).join();
        assertTrue(crowded[0]);
        assertFalse(policy.isCrowded(), "a platform thread keeps nobody from a carrier");
    }

    @Test
    void nobodySpinsAfterTheProcessorWasTakenAway() {
        SpinPolicy policy = policy(SETTINGS);
        long now = System.nanoTime();
        assertFalse(policy.wasDescheduled(now, now + 40_000, BUDGET_NANOS));
        assertTrue(policy.wasDescheduled(now, now + 10_000_000_000L, BUDGET_NANOS));
        assertFalse(policy.begin(Side.ACTIVE, false));
    }

    @Test
    void whileManyVirtualThreadsWaitOnlyOneNowAndThenTriesWhetherSpinningPays() {
        AtomicInteger queued = new AtomicInteger(24);
        SpinPolicy policy = new SpinPolicy(SETTINGS, queued::get);
        assertFalse(policy.begin(Side.ACTIVE, false), "somebody waits for a carrier");
        queued.set(0);
        assertTrue(policy.begin(Side.ACTIVE, true), "24 are not many for three processors");
        policy.end(Side.ACTIVE);
        queued.set(25);
        int tried = 0;
        for (long begin = System.nanoTime(); System.nanoTime() - begin < 50_000_000;) {
            queued.set(25);
            assertFalse(policy.begin(Side.ACTIVE, true), "somebody waits for a carrier");
            queued.set(0);
            assertTrue(policy.begin(Side.ACTIVE, false), "whose spins pay may go on");
            policy.end(Side.ACTIVE);
            if (policy.begin(Side.ACTIVE, true)) {
                policy.end(Side.ACTIVE);
                tried++;
            }
        }
        assertTrue(tried >= 1 && tried < 1_000, tried + " trials");
    }

    @Test
    void whoMaySpinForLongMayAlsoBeAwayForLong() {
        long now = System.nanoTime();
        assertFalse(policy(SETTINGS).wasDescheduled(now, now + 900_000, 1_000_000));
    }

    @Test
    void thePauseIsAsLongAsTheProcessorWasAway() {
        SpinPolicy policy = policy(SETTINGS);
        long now = System.nanoTime();
        assertTrue(policy.wasDescheduled(now - 1_000_000_000, now - 900_000_000, BUDGET_NANOS));
        assertTrue(policy.begin(Side.ACTIVE, false), "ten milliseconds at most");
    }
}
