package org.rdmasockets.completion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What waits teach about spinning. */
class WaiterTest {
    private static final int BUDGET_NANOS = 40_000;
    private static final long TRIAL_NANOS = 16 * BUDGET_NANOS;
    private static final int TRIALS = 4;
    private static final long WATCH_NANOS = 10_000_000;
    /** Short waits in a row before trials, the last of which may begin them. */
    private static final int CALM = 8;
    /** How many of them one that was disturbed takes back. */
    private static final int DISTURBANCE = 3;
    /** Waits without a watch after one that was in vain. */
    private static final int REST = 7;

    private final SpinPolicy policy = new SpinPolicy(PollerSettings.defaults(), null);
    private final Waiter waiter = new Waiter(policy);

    @Test
    void aNewOneSpins() {
        assertEquals(BUDGET_NANOS, waiter.spinNanos(BUDGET_NANOS));
    }

    @Test
    void aSpinThatPaysIsNotCutShort() {
        waiter.learn(true, 0, BUDGET_NANOS, policy);
        assertEquals(BUDGET_NANOS, waiter.spinNanos(BUDGET_NANOS), "the peer may have to be woken next time");
    }

    @Test
    void oneWhoseSpinsFailOnlyProbes() {
        miss(20);
        int probes = 0;
        for (int i = 0; i < 640; i++) {
            waiter.woken(TRIAL_NANOS + 1, BUDGET_NANOS, WATCH_NANOS, 0, policy);
            probes += waiter.spinNanos(BUDGET_NANOS) > 0 ? 1 : 0;
        }
        assertEquals(10, probes);
        waiter.learn(true, 0, BUDGET_NANOS, policy);
        assertTrue(waiter.spinNanos(BUDGET_NANOS) > 0, "one hit brings it back");
        waiter.learn(false, BUDGET_NANOS, BUDGET_NANOS, policy);
        assertEquals(0, waiter.spinNanos(BUDGET_NANOS), "until the next miss");
    }

    @Test
    void twoMissesAmongManyHitsDoNotEndSpinning() {
        miss(2);
        assertTrue(waiter.spinNanos(BUDGET_NANOS) > 0);
    }

    @Test
    void spinsThatComeSoonPayAndThoseThatTakeMostOfTheBudgetDoNot() {
        assertTrue(paysAfter(960, 1, 2 * BUDGET_NANOS / 5), "a peer that works for some time first");
        assertFalse(paysAfter(960, 1, 3 * BUDGET_NANOS / 5), "waking would take no longer");
    }

    @Test
    void spinsThatOftenComeSoonButNotAlwaysDoNotPay() {
        assertTrue(paysAfter(960, 8, BUDGET_NANOS / 10), "one miss in eight");
        assertFalse(paysAfter(960, 3, BUDGET_NANOS / 10), "one in three, as where requests come at random");
    }

    @Test
    void whoLeavesBecauseOthersWantTheCarrierLearnsFromThat() {
        waiter.leaves(1_000, BUDGET_NANOS);
        assertFalse(waiter.isTrying(), "it was hardly in the way");
        for (int i = 0; i < 20; i++) {
            waiter.leaves(BUDGET_NANOS / 2, BUDGET_NANOS);
        }
        assertTrue(waiter.isTrying());
    }

    @Test
    void trialsThatOnceHitDoNotGoOnUnlessSpinsPay() {
        miss(20);
        parkBriefly(waiter, CALM);
        miss(TRIALS - 1);
        waiter.learn(true, 0, BUDGET_NANOS, policy);
        assertTrue(waiter.spinNanos(BUDGET_NANOS) > 0, "once more");
        miss(TRIALS);
        assertEquals(0, waiter.spinNanos(BUDGET_NANOS));
        assertTrue(parksUntilTrial() > 1, "one hit brings no further trials");
    }

    @Test
    void shortParksInARowAreFollowedByLongSpins() {
        miss(20);
        parkBriefly(waiter, CALM - 1);
        assertEquals(0, waiter.spinNanos(BUDGET_NANOS), "where requests come at random, some waits are short");
        parkBriefly(waiter, 1);
        for (int i = 0; i < TRIALS; i++) {
            assertEquals(TRIAL_NANOS, waiter.spinNanos(BUDGET_NANOS));
            waiter.learn(false, BUDGET_NANOS, BUDGET_NANOS, policy);
        }
        assertEquals(0, waiter.spinNanos(BUDGET_NANOS), "they failed");
    }

    @Test
    void whatDisturbsAWaitDelaysTrialsByFewerWaitsThanThereAreTrials() {
        miss(20);
        parkBriefly(waiter, CALM - 1);
        waiter.arrives(0);
        waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, 3, policy);
        parkBriefly(waiter, DISTURBANCE);
        assertEquals(0, waiter.spinNanos(BUDGET_NANOS));
        waiter.woken(TRIAL_NANOS + 1, BUDGET_NANOS, WATCH_NANOS, 0, policy);
        parkBriefly(waiter, DISTURBANCE);
        assertEquals(0, waiter.spinNanos(BUDGET_NANOS));
        parkBriefly(waiter, 1);
        assertEquals(TRIAL_NANOS, waiter.spinNanos(BUDGET_NANOS), "the peer's trials are not over yet");
        assertTrue(DISTURBANCE < TRIALS);
    }

    @Test
    void whereOneWaitInFiveIsLonelyNobodyIsOnTrial() {
        miss(20);
        for (int i = 0; i < 1_000; i++) {
            waiter.arrives(0);
            waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, i % 5 == 0 ? 1 : 3, policy);
            miss(waiter.spinNanos(BUDGET_NANOS) == BUDGET_NANOS ? 1 : 0);
            assertTrue(waiter.spinNanos(BUDGET_NANOS) <= BUDGET_NANOS, "wait " + i);
        }
    }

    @Test
    void newConnectionsDoNotSpinWhereTheFirstSpinsOfOthersHaveNotPaid() {
        for (int i = 0; i < 20; i++) {
            new Waiter(policy).learn(false, BUDGET_NANOS, BUDGET_NANOS, policy);
        }
        int spins = 0;
        for (int i = 0; i < 640; i++) {
            spins += new Waiter(policy).spinNanos(BUDGET_NANOS) > 0 ? 1 : 0;
        }
        assertEquals(10, spins, "some look whether that has changed");
        for (int i = 0; i < 20; i++) {
            new Waiter(policy).learn(true, 0, BUDGET_NANOS, policy);
        }
        assertEquals(BUDGET_NANOS, new Waiter(policy).spinNanos(BUDGET_NANOS));
    }

    @Test
    void onlyTheFirstSpinOfAConnectionTellsWhatIsToBeExpectedOfNewOnes() {
        miss(1_000);
        assertEquals(BUDGET_NANOS, new Waiter(policy).spinNanos(BUDGET_NANOS));
    }

    @Test
    void aNewConnectionWatchesIfTheFirstWaitOfAnotherWasBrief() {
        waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, 0, policy);
        assertTrue(new Waiter(policy).isBrief());
        waiter.woken(WATCH_NANOS + 1, BUDGET_NANOS, WATCH_NANOS, 0, policy);
        assertTrue(new Waiter(policy).isBrief(), "that was its second");
        new Waiter(policy).woken(WATCH_NANOS + 1, BUDGET_NANOS, WATCH_NANOS, 0, policy);
        assertFalse(new Waiter(policy).isBrief());
    }

    @Test
    void trialsThatFailBecomeRarer() {
        miss(20);
        parkBriefly(waiter, CALM - 1);
        int parksBefore = 0;
        for (int round = 0; round < 14; round++) {
            int parks = parksUntilTrial();
            assertEquals(round == 0 ? 1 : Math.min(1 << round - 1, 1 << 10) + 1, parks, "round " + round);
            assertTrue(parks >= parksBefore);
            parksBefore = parks;
            miss(TRIALS);
        }
    }

    @Test
    void allOfAProcessLearnFromTrialsThatFail() {
        miss(20);
        parkBriefly(waiter, CALM - 1);
        for (int round = 0; round < 5; round++) {
            parksUntilTrial();
            miss(TRIALS);
        }
        Waiter another = new Waiter(policy);
        for (int i = 0; i < 20; i++) {
            another.learn(false, BUDGET_NANOS, BUDGET_NANOS, policy);
        }
        parkBriefly(another, CALM);
        assertEquals(0, another.spinNanos(BUDGET_NANOS), "they have just failed for the other one");
        assertEquals(1 << 4, parksUntilTrial(), "both count short waits");
    }

    @Test
    void trialsThatPayBringSpinningBackForGood() {
        miss(20);
        parkBriefly(waiter, CALM);
        miss(TRIALS - 1);
        for (int i = 0; i < 40; i++) {
            assertTrue(waiter.spinNanos(BUDGET_NANOS) > 0);
            waiter.learn(true, 0, BUDGET_NANOS, policy);
        }
        miss(2);
        assertEquals(BUDGET_NANOS, waiter.spinNanos(BUDGET_NANOS));
        miss(20);
        assertEquals(1, parksUntilTrial(), "the next trials come at once");
    }

    @Test
    void nobodyIsOnTrialWhereOthersAreAtWork() {
        miss(20);
        waiter.arrives(0);
        for (int i = 0; i < 2 * CALM; i++) {
            waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, 3, policy);
        }
        assertEquals(0, waiter.spinNanos(BUDGET_NANOS), "three threads were woken meanwhile");
        for (int i = 1; i < CALM; i++) {
            waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, 2, policy);
        }
        waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, 2, policy);
        assertEquals(TRIAL_NANOS, waiter.spinNanos(BUDGET_NANOS), "this one, and its peer in the same process");
    }

    @Test
    void nobodyIsOnTrialWhereSpinningIsOff() {
        miss(20);
        for (int i = 0; i < 2 * CALM; i++) {
            waiter.woken(1, 0, WATCH_NANOS, 0, policy);
        }
        assertEquals(0, waiter.spinNanos(BUDGET_NANOS));
    }

    private void parkBriefly(Waiter one, int times) {
        for (int i = 0; i < times; i++) {
            one.woken(1, BUDGET_NANOS, WATCH_NANOS, 0, policy);
        }
    }

    /** Whether a new one spins after so many spins, the last of each {@code round} above one in vain. */
    private boolean paysAfter(int spins, int round, int nanos) {
        for (int i = 1; i <= spins; i++) {
            boolean came = round == 1 || i % round != 0;
            waiter.learn(came, came ? nanos : BUDGET_NANOS, BUDGET_NANOS, policy);
        }
        return !waiter.isTrying();
    }

    private void miss(int times) {
        for (int i = 0; i < times; i++) {
            waiter.learn(false, BUDGET_NANOS, BUDGET_NANOS, policy);
        }
    }

    /** How many short parks it takes until a trial begins. */
    private int parksUntilTrial() {
        for (int parks = 1;; parks++) {
            waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, 0, policy);
            if (waiter.spinNanos(BUDGET_NANOS) == TRIAL_NANOS) {
                return parks;
            }
        }
    }

    @Test
    void aWatchIsWorthwhileAfterABriefWaitThatWokeNobodyElse() {
        assertFalse(waiter.isBrief(), "nothing is known yet");
        waiter.arrives(1_000);
        waiter.woken(WATCH_NANOS, BUDGET_NANOS, WATCH_NANOS, 1_001, policy);
        assertTrue(waiter.isBrief());
        waiter.watchedInVain();
        for (int i = 0; i < REST; i++) {
            waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, 1_000, policy);
            assertFalse(waiter.isBrief(), "it was in vain");
        }
        waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, 1_000, policy);
        assertTrue(waiter.isBrief());
        waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, 1_002, policy);
        assertFalse(waiter.isBrief(), "others are at work");
        waiter.woken(WATCH_NANOS + 1, BUDGET_NANOS, WATCH_NANOS, 1_000, policy);
        assertFalse(waiter.isBrief(), "it took too long");
    }

    @Test
    void countsOfWokenThreadsMayWrapAround() {
        waiter.arrives(Integer.MAX_VALUE);
        waiter.woken(1, BUDGET_NANOS, WATCH_NANOS, Integer.MIN_VALUE, policy);
        assertTrue(waiter.isBrief());
    }
}
