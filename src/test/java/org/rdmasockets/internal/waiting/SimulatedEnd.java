package org.rdmasockets.internal.waiting;

import java.util.concurrent.Executor;
import org.rdmasockets.verbs.CompletionOpcode;

/**
 * One end of a simulated connection, with the parts of a real protocol that make waiting hard: a writer needs credits,
 * which come as receives, and send slots, which come back by send completions; a reader gives credits back and needs a
 * control slot for that, which comes back by a send completion too.
 */
final class SimulatedEnd implements CompletionClient {
    /** Credits granted to each end at the start, and data messages it may have in flight. */
    private final int window;
    private final boolean inOrder;
    private final Executor sendCompletions;
    private CompletionInbox inbox;
    private SimulatedEnd peer;

    /** All state below is guarded by the inbox's protocol lock. */
    private int credits;
    private int freeDataSlots;
    private boolean controlSlotFree = true;
    private int toGive;
    private int available;
    private int nextSent;
    private int nextExpected;
    private Throwable failure;

    /** Messages read and written by callers, for the watchdog; each has one writer. */
    private volatile int reads;
    private volatile int writes;
    private volatile boolean open = true;

    /**
     * Made in pairs by {@link #pair}.
     *
     * @param sendCompletions runs what completes a send: at once, or later in another thread
     */
    private SimulatedEnd(int window, boolean inOrder, Executor sendCompletions) {
        this.window = window;
        this.inOrder = inOrder;
        this.sendCompletions = sendCompletions;
        this.credits = window;
        this.freeDataSlots = window;
    }

    /** Two connected ends. */
    static SimulatedEnd[] pair(CompletionPoller poller, SimulatedDevice device, int window, boolean inOrder,
            Executor sendCompletions) throws Exception {
        SimulatedEnd a = new SimulatedEnd(window, inOrder, sendCompletions);
        SimulatedEnd b = new SimulatedEnd(window, inOrder, sendCompletions);
        a.peer = b;
        b.peer = a;
        int outstanding = 3 * window + 2;
        a.inbox = poller.openInbox(device, ConnectionRole.ACTIVE, a, outstanding);
        b.inbox = poller.openInbox(device, ConnectionRole.ACTIVE, b, outstanding);
        return new SimulatedEnd[] {a, b};
    }

    CompletionInbox inbox() {
        return inbox;
    }

    /** Ends the waits. */
    void close() {
        open = false;
        inbox.close();
    }

    boolean isOpen() {
        return open;
    }

    long progress() {
        return reads + writes;
    }

    /** How many messages were written. */
    int writes() {
        return writes;
    }

    /** Sends one message, waiting for credit and room; false when closed. */
    boolean write() {
        while (true) {
            inbox.enter();
            boolean done = false;
            try {
                if (failure != null) {
                    return false;
                }
                if (ready(Role.WRITER)) {
                    credits--;
                    freeDataSlots--;
                    post(nextSent++ & 0xFFFF, 0);
                    done = true;
                }
            } finally {
                inbox.exit();
            }
            if (done) {
                writes = writes + 1;
                return true;
            }
            if (inbox.await(Role.WRITER, Long.MAX_VALUE) != WaitResult.READY) {
                return false;
            }
        }
    }

    /** Takes one message, waiting for it; false when closed. */
    boolean read() {
        while (true) {
            inbox.enter();
            boolean done = false;
            try {
                if (failure != null) {
                    return false;
                }
                if (available > 0) {
                    available--;
                    toGive++;
                    giveCredits();
                    done = true;
                }
            } finally {
                inbox.exit();
            }
            if (done) {
                reads = reads + 1;
                return true;
            }
            if (inbox.await(Role.READER, Long.MAX_VALUE) != WaitResult.READY) {
                return false;
            }
        }
    }

    /** A reader that waits for a moment only; false when closed. */
    boolean glance(long nanos) {
        return inbox.await(Role.READER, System.nanoTime() + nanos) != WaitResult.CLOSED;
    }

    private void giveCredits() {
        if (toGive > 0 && controlSlotFree) {
            controlSlotFree = false;
            post(toGive << 16 | 0xFFFF, 1);
            toGive = 0;
        }
    }

    /** A message to the peer: sequence number, or above 16 bits how many credits it brings. */
    private void post(int immediate, int slot) {
        peer.queue().complete(SimulatedCompletion.receive(peer.inbox.workRequestIdBase() | 2, immediate));
        sendCompletions.execute(() -> queue().complete(
                SimulatedCompletion.send(inbox.workRequestIdBase() | slot)));
    }

    SimulatedQueue queue() {
        return (SimulatedQueue) inbox.shard().queue();
    }

    @Override
    public void apply(Completion completion) {
        if (completion.token() instanceof Throwable cause) {
            failure = cause;
        } else if (completion.opcode() == CompletionOpcode.WRITE) {
            if ((completion.workRequestId() & 1) == 0) {
                freeDataSlots++;
            } else {
                controlSlotFree = true;
                giveCredits();
            }
        } else if (completion.token() == null) {
            received(completion.immediate());
        }
    }

    private void received(int immediate) {
        if (immediate >>> 16 != 0) {
            credits += immediate >>> 16;
            return;
        }
        if (inOrder && immediate != (nextExpected & 0xFFFF)) {
            failure = new IllegalStateException("expected message " + (nextExpected & 0xFFFF) + ", got " + immediate);
        }
        nextExpected++;
        available++;
    }

    @Override
    public boolean ready(Role role) {
        return failure != null || (role == Role.READER ? available > 0 : credits > 0 && freeDataSlots > 0);
    }

    @Override
    public boolean beforeExit() {
        return toGive > 0 && !controlSlotFree;
    }

    /** Why this end does not work any more, or null. */
    Throwable failure() {
        inbox.enter();
        try {
            return failure;
        } finally {
            inbox.exit();
        }
    }

    /** A look from outside, without lock, at an end that may be stuck. */
    @Override
    public String toString() {
        return "SimulatedEnd[window=" + window + ", credits=" + credits + ", freeDataSlots=" + freeDataSlots
                + ", controlSlotFree=" + controlSlotFree + ", toGive=" + toGive + ", available=" + available
                + ", reads=" + reads + ", writes=" + writes + ", failure=" + failure + ", " + inbox + "]";
    }
}
