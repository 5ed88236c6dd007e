package org.rdmasockets.completion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Who may spin, and for how long. Without a scheduler queue, so that other tests' threads do not matter. */
class SpinPolicyTest {
    private static final CompletionPoller.Settings SETTINGS = CompletionPoller.Settings.defaults()
            .withProcessors(3);
    private static final int BUDGET_NANOS = 40_000;

    private static SpinPolicy policy(CompletionPoller.Settings settings) {
        return new SpinPolicy(settings, null);
    }

    @Test
    void nobodySpinsWhenSwitchedOffOrWithOneProcessor() {
        assertEquals(0, policy(SETTINGS).budgetNanos(new Waiter(), 0));
        assertEquals(0, policy(SETTINGS.withProcessors(1)).budgetNanos(new Waiter(), BUDGET_NANOS));
    }

    @Test
    void oneProcessorIsLeftToOthers() {
        SpinPolicy policy = policy(SETTINGS);
        assertTrue(policy.begin());
        assertTrue(policy.begin());
        assertFalse(policy.begin(), "three processors, two spinners");
        policy.end();
        assertTrue(policy.begin());
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
    void aSpinThatPaysIsNotCutShort() {
        SpinPolicy policy = policy(SETTINGS);
        Waiter waiter = new Waiter();
        policy.learn(waiter, true);
        assertEquals(BUDGET_NANOS, policy.budgetNanos(waiter, BUDGET_NANOS), "the peer may have to be woken next time");
    }

    @Test
    void waiterWhoseSpinsFailOnlyProbes() {
        SpinPolicy policy = policy(SETTINGS);
        Waiter waiter = new Waiter();
        for (int i = 0; i < 20; i++) {
            policy.learn(waiter, false);
        }
        int probes = 0;
        for (int i = 0; i < 640; i++) {
            probes += policy.budgetNanos(waiter, BUDGET_NANOS) > 0 ? 1 : 0;
        }
        assertEquals(10, probes);
        policy.learn(waiter, true);
        assertTrue(policy.budgetNanos(waiter, BUDGET_NANOS) > 0, "one hit brings it back");
        policy.learn(waiter, false);
        assertEquals(0, policy.budgetNanos(waiter, BUDGET_NANOS), "until the next miss");
    }

    @Test
    void fewMissesAmongManyHitsDoNotEndSpinning() {
        SpinPolicy policy = policy(SETTINGS);
        Waiter waiter = new Waiter();
        for (int i = 0; i < 5; i++) {
            policy.learn(waiter, false);
        }
        assertTrue(policy.budgetNanos(waiter, BUDGET_NANOS) > 0);
    }

    @Test
    void nobodySpinsAfterTheProcessorWasTakenAway() {
        SpinPolicy policy = policy(SETTINGS);
        long now = System.nanoTime();
        assertFalse(policy.wasDescheduled(now, now + 40_000, BUDGET_NANOS));
        assertTrue(policy.wasDescheduled(now, now + 10_000_000_000L, BUDGET_NANOS));
        assertFalse(policy.begin());
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
        assertTrue(policy.begin(), "ten milliseconds at most");
    }
}
