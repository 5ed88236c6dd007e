package org.rdmasockets.completion;

/** What a waiter does that leads: it polls the completion queue for itself, and for all others, instead of parking. */
final class Leader {
    private Leader() {}

    /** Leads while the policy allows, until the wait has to end. True if the role became ready, and then inside. */
    static boolean lead(CompletionInbox inbox, Role role, Waiter waiter, long deadlineNanos) {
        CompletionShard shard = inbox.shard();
        SpinPolicy policy = shard.poller.spinPolicy;
        int allowed = inbox.spinBudgetNanos();
        long budget = allowed > 0 && policy.allows() ? waiter.spinNanos(allowed) : 0;
        if (budget == 0 || Wait.remaining(deadlineNanos) <= budget || !policy.begin(shard.side, waiter.isTrying())) {
            return false;
        }
        try {
            return spin(inbox, role, waiter, budget, allowed);
        } finally {
            policy.end(shard.side);
        }
    }

    private static boolean spin(CompletionInbox inbox, Role role, Waiter waiter, long budget, int allowed) {
        CompletionShard shard = inbox.shard();
        SpinPolicy policy = shard.poller.spinPolicy;
        long start = System.nanoTime();
        long last = start;
        long checked = start;
        while (true) {
            boolean polledNothing = shard.lead(inbox, waiter, SpinPolicy.LOOKS) <= 0;
            if (inbox.hasNews(waiter) && inbox.enterIfReady(role, waiter)) {
                waiter.learn(true, last - start, allowed, policy);
                return true;
            }
            long now = System.nanoTime();
            if (now - start >= budget) {
                waiter.learn(false, now - start, allowed, policy);
                return false;
            }
            if (!inbox.isOpen() || polledNothing && policy.wasDescheduled(last, now, budget)) {
                return false;
            }
            if (now - checked >= SpinPolicy.CHECK_NANOS) {
                if (policy.isCrowded()) {
                    waiter.leaves(now - start, allowed);
                    return false;
                }
                if (policy.areTooMany(shard.side)) {
                    return false;
                }
                checked = now;
            }
            last = now;
            Thread.onSpinWait();
        }
    }
}
