package org.rdmasockets.internal.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The waiters that spin, and for how long. */
class SpinPolicyTest {
    private static final int PROCESSORS = 3;
    private static final int BUDGET_NANOS = 40_000;
    private static final long TRIAL_NANOS = 80 * BUDGET_NANOS;
    private static final long SECOND_NANOS = 1_000_000_000;

    private final SpinPolicy policy = new SpinPolicy(PROCESSORS, () -> 0);
    private final Waiter waiter = new Waiter(policy.firstGains());

    private static void miss(SpinPolicy policy, Waiter waiter, int times) {
        for (int i = 0; i < times; i++) {
            policy.learn(waiter, false, BUDGET_NANOS, BUDGET_NANOS);
        }
    }

    private static void hit(SpinPolicy policy, Waiter waiter, long nanos, int times) {
        for (int i = 0; i < times; i++) {
            policy.learn(waiter, true, nanos, BUDGET_NANOS);
        }
    }

    /** How long a waiter may spin that gives its place back at once. */
    private static long once(SpinPolicy policy, Waiter waiter, int budgetNanos) {
        long nanos = policy.begin(ConnectionRole.ACTIVE, waiter, budgetNanos);
        if (nanos != 0) {
            policy.end(ConnectionRole.ACTIVE);
        }
        return nanos;
    }

    private boolean spins() {
        return once(policy, waiter, BUDGET_NANOS) == BUDGET_NANOS;
    }

    @Test
    void aNewOneSpinsForItsBudget() {
        assertEquals(BUDGET_NANOS, once(policy, waiter, BUDGET_NANOS));
        assertEquals(0, once(policy, waiter, 0), "a budget of nothing");
    }

    @Test
    void spinsInVainAreCounted() {
        hit(policy, waiter, BUDGET_NANOS / 2, 5);
        assertEquals(0, policy.vain.get());
        miss(policy, waiter, 3);
        assertEquals(3, policy.vain.get());
        assertEquals(3 * BUDGET_NANOS, policy.vainNanos.get());
    }

    @Test
    void noThreadSpinsWithOneProcessor() {
        assertEquals(0, once(new SpinPolicy(1, () -> 0), waiter, BUDGET_NANOS));
    }

    @Test
    void eachSideLeavesAProcessorToOthers() {
        for (int i = 1; i < PROCESSORS; i++) {
            assertEquals(BUDGET_NANOS, policy.begin(ConnectionRole.ACTIVE, waiter, BUDGET_NANOS));
        }
        assertEquals(0, policy.begin(ConnectionRole.ACTIVE, waiter, BUDGET_NANOS), "as many as processors");
        assertEquals(0, policy.begin(ConnectionRole.ACTIVE, waiter, BUDGET_NANOS), "a refusal takes no place");
        assertEquals(BUDGET_NANOS, policy.begin(ConnectionRole.PASSIVE, waiter, BUDGET_NANOS),
                "the other side has its own");
        policy.end(ConnectionRole.ACTIVE);
        assertEquals(BUDGET_NANOS, policy.begin(ConnectionRole.ACTIVE, waiter, BUDGET_NANOS));
    }

    @Test
    void aFewMissesAmongManyHitsAreFollowedByATrial() {
        miss(policy, waiter, 2);
        assertEquals(TRIAL_NANOS, once(policy, waiter, BUDGET_NANOS));
        hit(policy, waiter, 0, 1);
        assertTrue(spins());
    }

    @Test
    void spinsThatDoNotPayEndAndOneThatPaysBringsThemBack() {
        miss(policy, waiter, 20);
        assertFalse(spins());
        hit(policy, waiter, 0, 1);
        assertTrue(spins(), "the last one paid");
        miss(policy, waiter, 1);
        assertFalse(spins(), "the mean does not");
        hit(policy, waiter, 0, 60);
        miss(policy, waiter, 2);
        assertEquals(TRIAL_NANOS, once(policy, waiter, BUDGET_NANOS), "the mean does again");
    }

    @Test
    void aSpinThatEndsWithinItsBudgetIsFollowedByAnother() {
        hit(policy, waiter, 4 * BUDGET_NANOS / 5, 960);
        assertEquals(TRIAL_NANOS, once(policy, waiter, BUDGET_NANOS), "the last ones ended in time");
        hit(policy, waiter, 2 * BUDGET_NANOS, 1);
        assertFalse(spins(), "a trial that took longer");
    }

    @Test
    void waitersWhoseSpinsDoNotPayTryNowAndThen() {
        miss(policy, waiter, 20);
        long trials = 0;
        long looks = 0;
        long begin = System.nanoTime();
        while (trials == 0 && System.nanoTime() - begin < 20 * SECOND_NANOS) {
            long nanos = once(policy, waiter, BUDGET_NANOS);
            assertTrue(nanos == 0 || nanos == TRIAL_NANOS, nanos + " nanoseconds");
            trials += nanos == TRIAL_NANOS ? 1 : 0;
            looks++;
        }
        assertEquals(1, trials, "no trial in 20 s and " + looks + " waits");
    }

    @Test
    void noThreadSpinsWhileVirtualThreadsWaitForACarrier() {
        AtomicInteger queued = new AtomicInteger(1);
        SpinPolicy crowded = new SpinPolicy(PROCESSORS, queued::get);
        assertEquals(0, once(crowded, waiter, BUDGET_NANOS));
        queued.set(0);
        assertEquals(BUDGET_NANOS, once(crowded, waiter, BUDGET_NANOS));
        assertTrue(crowded.goesOn(1_000, 0));
        queued.set(1);
        assertFalse(crowded.goesOn(1_000, 0), "it looks again each microsecond");
        assertTrue(crowded.goesOn(999, 0));
    }

    @Test
    void aWaiterWhoseLastSpinsAllPaidWaitsForAPeerThatLostItsProcessor() {
        hit(policy, waiter, BUDGET_NANOS / 2, 14);
        assertTrue(spins());
        hit(policy, waiter, BUDGET_NANOS / 2, 1);
        assertEquals(TRIAL_NANOS, once(policy, waiter, BUDGET_NANOS));
        miss(policy, waiter, 1);
        hit(policy, waiter, 0, 15);
        assertTrue(spins(), "one was in vain since");
    }

    @Test
    void virtualThreadsParkWhenTheSchedulerDoesNotTellItsQueue() throws Exception {
        SpinPolicy silent = new SpinPolicy(PROCESSORS, null);
        assertFalse(silent.isAsked());
        assertEquals(BUDGET_NANOS, once(silent, waiter, BUDGET_NANOS), "a platform thread keeps no carrier");
        assertTrue(silent.isAsked());
        long[] nanos = {-1};
        Thread.ofVirtual().start(() -> nanos[0] = once(silent, waiter, BUDGET_NANOS)).join();
        assertEquals(0, nanos[0]);
        silent.ask(() -> 0);
        Thread.ofVirtual().start(() -> nanos[0] = once(silent, waiter, BUDGET_NANOS)).join();
        assertEquals(BUDGET_NANOS, nanos[0], "it tells now");
    }

    @Test
    void newConnectionsBeginWithWhatTheFirstSpinsOfOthersGained() {
        for (int i = 0; i < 20; i++) {
            miss(policy, new Waiter(policy.firstGains()), 1);
        }
        long now = once(policy, new Waiter(policy.firstGains()), BUDGET_NANOS);
        assertTrue(now != BUDGET_NANOS, "it spins as if spins paid");
        for (int i = 0; i < 20; i++) {
            hit(policy, new Waiter(policy.firstGains()), 0, 1);
        }
        assertEquals(BUDGET_NANOS, once(policy, new Waiter(policy.firstGains()), BUDGET_NANOS));
    }

    @Test
    void onlyTheFirstSpinOfAConnectionTellsWhatNewOnesExpect() {
        int before = policy.firstGains();
        miss(policy, waiter, 1);
        int after = policy.firstGains();
        assertTrue(after < before);
        miss(policy, waiter, 1_000);
        assertEquals(after, policy.firstGains());
    }
}
