package org.rdmasockets.provider.sharedmemory;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/**
 * Waits for sources of this provider.
 *
 * <p>No wake-up is lost: the waiting thread says that it waits, by a volatile write, before it looks at the sources a
 * last time; whoever makes a source ready does so before it looks whether anybody waits.
 */
final class SharedMemoryEventPoller implements EventPoller {
    private final SharedMemoryFabric fabric;
    /** What is waited for; guarded by this. */
    private final List<ReadySource> sources = new ArrayList<>();
    /** Copy of the sources for the waiting thread; null when they changed; guarded by this. */
    private ReadySource[] copied;
    /** Whether {@link #wakeup} was called and no wait has ended for it. */
    private final AtomicBoolean woken = new AtomicBoolean();
    /** Whether a thread waits, or is about to; pairs with the fence that {@link #signal} makes by reading it. */
    private final AtomicBoolean waiting = new AtomicBoolean();
    private volatile boolean closed;
    /** Whether the waiting thread shall look again; guarded by this. */
    private boolean rung;

    /** A poller without sources. */
    SharedMemoryEventPoller(SharedMemoryFabric fabric) {
        this.fabric = fabric;
    }

    @Override
    public void add(EventSource source) {
        if (!(source instanceof ReadySource own)) {
            throw new IllegalArgumentException("the event source belongs to another provider");
        }
        synchronized (this) {
            if (closed || sources.contains(own)) {
                return;
            }
            own.attach(this);
            sources.add(own);
            copied = null;
        }
        signal();
    }

    @Override
    public void remove(EventSource source) {
        synchronized (this) {
            if (!(source instanceof ReadySource own) || !sources.remove(own)) {
                return;
            }
            own.detach(this);
            copied = null;
        }
        signal();
    }

    @Override
    public int await(int timeoutMillis, Consumer<? super EventSource> ready) throws VerbsException {
        if (closed) {
            throw Refusals.closed("poll", "event poller");
        }
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        while (true) {
            if (fabric.deadlines().any()) {
                fabric.deadlines().expire();
            }
            boolean ended = woken.getAndSet(false);
            int reported = report(ready);
            long remaining = timeoutMillis < 0 ? Long.MAX_VALUE : deadline - System.nanoTime();
            if (reported > 0 || ended || closed || remaining <= 0) {
                return reported;
            }
            waiting.set(true);
            if (!anyReady() && !woken.get() && !closed) {
                block(step(remaining));
            }
            waiting.set(false);
        }
    }

    /** How long to wait at most: while a request has a deadline, somebody must look at it. */
    private long step(long remaining) {
        return fabric.deadlines().any()
                ? Math.min(remaining, TimeUnit.MILLISECONDS.toNanos(Deadlines.STEP_MILLIS)) : remaining;
    }

    private int report(Consumer<? super EventSource> ready) {
        int reported = 0;
        for (ReadySource source : snapshot()) {
            if (source.isClosed()) {
                remove(source);
            } else if (source.isReady()) {
                ready.accept(source);
                reported++;
            }
        }
        return reported;
    }

    private boolean anyReady() {
        for (ReadySource source : snapshot()) {
            if (source.isReady()) {
                return true;
            }
        }
        return false;
    }

    private synchronized ReadySource[] snapshot() {
        if (copied == null) {
            copied = sources.toArray(ReadySource[]::new);
        }
        return copied;
    }

    /** Waits until somebody rings, or the time is over; an interrupt is kept for the caller and ends nothing. */
    private synchronized void block(long nanos) {
        long end = System.nanoTime() + nanos;
        boolean interrupted = false;
        while (!rung) {
            long left = nanos == Long.MAX_VALUE ? nanos : end - System.nanoTime();
            if (left <= 0) {
                break;
            }
            try {
                wait(nanos == Long.MAX_VALUE ? 0 : left / 1_000_000 + 1);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        rung = false;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Makes the waiting thread look again; cheap when none waits. */
    void signal() {
        if (waiting.get() && waiting.getAndSet(false)) {
            synchronized (this) {
                rung = true;
                notifyAll();
            }
        }
    }

    @Override
    public void wakeup() {
        woken.set(true);
        signal();
    }

    @Override
    public void close() {
        List<ReadySource> held;
        synchronized (this) {
            closed = true;
            held = List.copyOf(sources);
            sources.clear();
            copied = null;
        }
        held.forEach(source -> source.detach(this));
        signal();
    }
}
