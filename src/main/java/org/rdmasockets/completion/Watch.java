package org.rdmasockets.completion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmasockets.lock.Field;
import org.rdmasockets.log.Log;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/**
 * The place beside the poller's thread, where one waiter at a time may sleep in the system call itself. A completion
 * then comes to it by one change of threads instead of two: else the poller's thread has to be woken, which unparks a
 * virtual thread, for which a carrier has to be woken.
 *
 * <p>A virtual thread that watches keeps its carrier from others, as one that spins does, although not the processor.
 * So it does so for a limited time, only if its last wait was shorter and hardly anybody else was woken meanwhile, and
 * while no virtual thread waits for a carrier.
 */
final class Watch implements Predicate<EventSource>, Consumer<CompletionQueue> {
    private static final int NANOS_PER_MILLI = 1_000_000;
    private static final VarHandle WAKES = Field.of(MethodHandles.lookup(), "wakes", int.class);

    private static final Log LOG = new Log(Watch.class);

    private final EventPoller events;
    private final SpinPolicy policy;
    /** Longest time of one wait here; 0 for none at all. */
    private final long limitNanos;
    private final Faults faults;
    private final CompletionPoller poller;
    /** Who is here, or about to come. */
    private final AtomicReference<Thread> watcher = new AtomicReference<>();
    /** What that waits for; that thread alone touches it. */
    private CompletionShard watched;
    private volatile boolean broken;
    /** Whether the poller's thread had taken the event and so has woken who is here. A hint, read by who was. */
    private volatile boolean overtaken;
    /** By WAKES. */
    private int wakes;
    /** Whether the last wait for something else than completions was short. A hint. */
    private volatile boolean othersAreBrief;

    /**
     * A place, for waits of at most the limit, 0 for none at all; the poller takes the event of a queue in the thread
     * that waits here.
     */
    Watch(EventPoller events, SpinPolicy policy, long limitNanos, Faults faults, CompletionPoller poller) {
        this.events = events;
        this.policy = policy;
        this.limitNanos = limitNanos;
        this.faults = faults;
        this.poller = poller;
    }

    /**
     * Takes the place if it is free and does not keep others from running; true must be followed by {@link #end}. What
     * may end the wait is looked at after this and before {@link #await}.
     */
    boolean begin(CompletionShard shard, Waiter waiter, long sinceNanos, long deadlineNanos) {
        boolean begins = (faults.alwaysWatches() || waiter.isBrief() && policy.allows() && !policy.isCrowded())
                && watcher.getPlain() == null && left(sinceNanos) > 0
                && Wait.remaining(deadlineNanos) > limitNanos
                && !broken && !Thread.currentThread().isInterrupted()
                && watcher.compareAndSet(null, Thread.currentThread());
        if (begins) {
            watched = shard;
        }
        return begins;
    }

    /**
     * Waits here once for something else than completions, which is over when the supplier says so, and about which
     * whoever brings it wakes this thread; false if this thread had better park.
     */
    boolean await(long sinceNanos, long leftNanos, BooleanSupplier over) {
        long nanos = Math.min(leftNanos, left(sinceNanos));
        if (!othersAreBrief || nanos <= 0 || broken || !policy.allows() || policy.isCrowded()
                || watcher.getPlain() != null || !watcher.compareAndSet(null, Thread.currentThread())) {
            return false;
        }
        try {
            // After the place is taken: pairs with wake, which looks for it after what it wakes for.
            if (!over.getAsBoolean()) {
                events.awaitBeside((int) ((nanos + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI), this);
            }
        } catch (VerbsException e) {
            broken = true;
            LOG.debug("all waiters park from now on: {}", e.getMessage());
        } finally {
            end();
        }
        return true;
    }

    /** Learns how long somebody has waited for something else than completions. */
    void learn(long nanos) {
        boolean brief = nanos <= NANOS_PER_MILLI;
        if (brief != othersAreBrief) {
            othersAreBrief = brief;
        }
    }

    /** Whether the calling thread, who is here, waits for a shard. */
    boolean isAt(CompletionShard shard) {
        return watched == shard;
    }

    private long left(long sinceNanos) {
        return limitNanos - (System.nanoTime() - sinceNanos);
    }

    /**
     * Sleeps until something has happened, somebody wakes this thread, or it has waited long enough; in the latter case
     * the waiter parks next.
     */
    void await(Waiter waiter, long sinceNanos) {
        int millis = (int) ((left(sinceNanos) + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI);
        try {
            if ((millis <= 0 || !events.awaitBeside(millis, this)) && !overtaken) {
                waiter.watchedInVain();
            }
            overtaken = false;
        } catch (VerbsException e) {
            broken = true;
            LOG.debug("all waiters park from now on: {}", e.getMessage());
        }
    }

    /** Takes the events of a completion channel; other sources are left to the poller's thread. */
    @Override
    public boolean test(EventSource source) {
        if (!(source instanceof CompletionChannel channel)) {
            return false;
        }
        try {
            channel.drainEvents(this);
            return true;
        } catch (VerbsException e) {
            LOG.debug("the poller's thread will meet this, too: {}", e.getMessage());
            return false;
        }
    }

    @Override
    public void accept(CompletionQueue queue) {
        poller.onEventBeside(queue);
    }

    /** Lets a waiter learn from a wait that did not spin, or not only, and is over now. */
    void learn(Waiter waiter, long sinceNanos, int budgetNanos) {
        waiter.woken(System.nanoTime() - sinceNanos, budgetNanos, limitNanos, wakes(), policy);
    }

    /** Gives the place back. Whoever has woken this thread before may not have unparked it. */
    void end() {
        watched = null;
        watcher.set(null);
    }

    /** How many threads were woken, about: some may not be counted. */
    int wakes() {
        return (int) WAKES.getOpaque(this);
    }

    /**
     * Wakes a thread if it is here: false if it is not, and then it may be parked. The poller's thread has overtaken it
     * with an event that came before the thread slept here: the next one may go to the thread, so it was right to
     * watch.
     */
    boolean wake(Thread thread, boolean overtook) {
        WAKES.setOpaque(this, wakes() + 1);
        // After what it is woken for: pairs with begin, which comes before the look at that.
        if (watcher.get() != thread) {
            return false;
        }
        overtaken = overtook;
        if (faults.wakesWatcher()) {
            events.wakeupBeside();
        }
        return true;
    }
}
