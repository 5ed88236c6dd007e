package org.rdmasockets.internal.waiting;

import org.rdmasockets.internal.lock.StackRoom;

/** The spins of one receiver that has no inbox, such as a datagram socket, under its poller's policy. Any thread. */
public final class Spins {
    private final SpinPolicy policy;
    private final int budgetNanos;
    private final Waiter waiter;
    /** Whether a thread spins; guarded by this. */
    private boolean spinning;

    /** The things that a spinner looks at. */
    public interface Sight {
        /** Before the first look. */
        void begin();

        /** Looks once, for a short time; whether there is what the spinner waits for. */
        boolean look();

        /** After the last look, however that ended. */
        void end();
    }

    /** For a receiver whose spins last so long, 0 to 1,000,000 nanoseconds, 0 for none. */
    public Spins(CompletionPoller poller, int budgetNanos) {
        policy = poller.spinPolicy;
        waiter = new Waiter(policy.firstGains());
        this.budgetNanos = budgetNanos;
    }

    /** Looks as long as the policy allows, unless another thread does, or until it is there. */
    public void spin(Sight sight, long deadlineNanos) {
        StackRoom.ensureSection(); // before anything is changed
        if (!begin()) {
            return;
        }
        try {
            long budget = policy.begin(ConnectionRole.PASSIVE, waiter, budgetNanos);
            if (budget > 0) {
                try {
                    spin(sight, Math.min(budget, WaitResult.remaining(deadlineNanos)), System.nanoTime());
                } finally {
                    policy.end(ConnectionRole.PASSIVE);
                }
            }
        } finally {
            end();
        }
    }

    private void spin(Sight sight, long budget, long start) {
        boolean found = false;
        long last = start;
        long checked = start;
        sight.begin();
        try {
            boolean goesOn = true;
            while (goesOn) {
                found = sight.look();
                last = System.nanoTime();
                goesOn = !found && last - start < budget && policy.goesOn(last, checked);
                checked = last - checked >= SpinPolicy.CHECK_NANOS ? last : checked;
                Thread.onSpinWait();
            }
        } finally {
            sight.end();
        }
        policy.learn(waiter, found, last - start, budgetNanos);
    }

    private synchronized boolean begin() {
        boolean free = !spinning;
        spinning = true;
        return free;
    }

    private synchronized void end() {
        spinning = false;
    }
}
