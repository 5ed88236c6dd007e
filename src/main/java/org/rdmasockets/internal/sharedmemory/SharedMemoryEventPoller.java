package org.rdmasockets.internal.sharedmemory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.rdmasockets.internal.lock.VarHandles;
import org.rdmasockets.internal.sharedmemory.link.LinkHub.HubWaiter;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/**
 * Waits for sources of this provider, and for other processes, whose rings it answers.
 *
 * <p>No wake-up is lost: the waiting thread says that it waits, by a volatile write, before it looks at the sources a
 * last time; a thread that makes a source ready does so before it looks whether a thread waits.
 */
final class SharedMemoryEventPoller implements EventPoller {
    private static final VarHandle WAITING = VarHandles.of(MethodHandles.lookup(), "waiting", boolean.class);

    private final SharedMemoryFabric fabric;
    private final HubWaiter waiter;
    /** The sources to wait for; guarded by this. */
    private final List<ReadySource> sources = new ArrayList<>();
    /** Copy of the sources for the waiting thread; null when they changed; guarded by this. */
    private ReadySource[] copied;
    /** Whether {@link #wakeup} was called and no wait has ended for it. */
    private final AtomicBoolean woken = new AtomicBoolean();
    /** Whether a thread waits, or is about to; pairs with the fence that {@link #signal} makes by reading it. */
    private volatile boolean waiting;
    private volatile boolean closed;

    /** A poller without sources; throws if no descriptor can be had. */
    SharedMemoryEventPoller(SharedMemoryFabric fabric) throws VerbsException {
        this.fabric = fabric;
        waiter = fabric.links.hub().newWaiter();
        fabric.deadlines.attach(this);
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
            throw SharedMemoryErrors.closed("poll", "event poller");
        }
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        while (true) {
            long remaining = timeoutMillis < 0 ? Long.MAX_VALUE : deadline - System.nanoTime();
            int reported;
            boolean ended;
            try {
                serveLinks(remaining);
            } finally { // an Error of one link is not the others'
                ended = woken.getAndSet(false);
                reported = report(ready);
            }
            if (reported > 0 || ended || closed || remaining <= 0) {
                return reported;
            }
        }
    }

    /** Waits for other processes unless there is something to do here, and does what they ask for. */
    private void serveLinks(long remaining) throws VerbsException {
        waiting = true;
        boolean idle = !anyReady() && !woken.get() && !closed && !fabric.links.isBusy();
        boolean rung;
        try {
            rung = waiter.await(idle ? millis(untilDeadline(remaining)) : 0);
        } catch (VerbsException e) {
            if (closed) {
                return;
            }
            throw e;
        } finally {
            waiting = false;
        }
        if (rung) {
            waiter.drain();
        }
        fabric.links.drainBusy();
        if (fabric.deadlines.isDue()) {
            fabric.deadlines.expire();
        }
    }

    /** Rounded up, so that no wait ends early. */
    private static int millis(long nanos) {
        if (nanos == Long.MAX_VALUE) {
            return -1;
        }
        return Math.clamp((nanos + 999_999) / 1_000_000, 0, Integer.MAX_VALUE);
    }

    /** How long to wait at most: until the nearest deadline, which is read after waiting was set. */
    private long untilDeadline(long remaining) {
        long nearest = fabric.deadlines.nearest();
        return nearest == Deadlines.NEVER ? remaining : Math.min(remaining, nearest - System.nanoTime());
    }

    private int report(Consumer<? super EventSource> ready) {
        int reported = 0;
        for (ReadySource source : snapshot()) {
            if (source.closed) {
                remove(source);
            } else if (source.ready) {
                ready.accept(source);
                reported++;
            }
        }
        return reported;
    }

    private boolean anyReady() {
        for (ReadySource source : snapshot()) {
            if (source.ready) {
                return true;
            }
        }
        return false;
    }

    private synchronized ReadySource[] snapshot() {
        if (copied == null) {
            copied = sources.toArray(new ReadySource[0]);
        }
        return copied;
    }

    /** Makes the waiting thread look again; cheap when none waits. */
    void signal() {
        if (waiting && (boolean) WAITING.getAndSet(this, false)) {
            try {
                waiter.wakeup();
            } catch (Throwable e) {
                waiting = true; // it waits yet; no call, as the stack may be at its end
                throw e;
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
        fabric.deadlines.detach(this);
        held.forEach(source -> source.detach(this));
        waiter.close();
    }
}
