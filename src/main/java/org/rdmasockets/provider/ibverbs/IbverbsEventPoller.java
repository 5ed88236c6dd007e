package org.rdmasockets.provider.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.rdmasockets.provider.ibverbs.generated.pollfd;
import org.rdmasockets.provider.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/**
 * A poller over {@code poll(2)} and an {@code eventfd}. It keeps the descriptors of its sources open, so that a number
 * that was closed and given out again is never polled.
 */
final class IbverbsEventPoller extends NativeHandle implements EventPoller {
    private static final long ENTRY_BYTES = pollfd.layout().byteSize();
    private static final long EVENTS = pollfd.events$offset();
    private static final long RETURNED = pollfd.revents$offset();
    private static final short POLLIN = (short) rdma_h.POLLIN();
    private static final int EINTR = Errno.EINTR.number();
    /** Beginning of {@link #memory}: the number 1 that is written to the eventfd. */
    private static final long ONE_OFFSET = 0;
    /** Where the counter of the eventfd is read to. */
    private static final long COUNTER_OFFSET = 8;
    /** Where errno is captured. */
    private static final long CAPTURED_OFFSET = 16;

    private final int eventDescriptor;
    private final MemorySegment memory;
    private final MemorySegment captured;
    /** Whether the eventfd was written to and not read since: saves the system call of a second wake-up. */
    private final AtomicBoolean woken = new AtomicBoolean();
    /** What is waited for; guarded by this. */
    private final List<Pollable> sources = new ArrayList<>();
    /** Whether {@link #sources} changed since the waiting thread copied it; guarded by this. */
    private boolean changed = true;

    /** The sources of the last wait, which the entries of {@link #entries} from 1 belong to; waiting thread only. */
    private Pollable[] polled = new Pollable[0];
    /** The {@code pollfd} array; entry 0 is the eventfd; waiting thread only. */
    private MemorySegment entries = IbverbsCalls.allocate(ENTRY_BYTES);

    /**
     * A poller without sources.
     *
     * @throws VerbsException if no eventfd can be had
     */
    IbverbsEventPoller() throws VerbsException {
        eventDescriptor = ControlCalls.EVENTFD.number("", 0, rdma_h.EFD_CLOEXEC() | rdma_h.EFD_NONBLOCK());
        memory = IbverbsCalls.allocate(CAPTURED_OFFSET + IbverbsCalls.CAPTURED_BYTES);
        memory.set(JAVA_LONG, ONE_OFFSET, 1);
        captured = memory.asSlice(CAPTURED_OFFSET);
    }

    @Override
    public void add(EventSource source) {
        if (!(source instanceof Pollable pollable)) {
            throw new IllegalArgumentException("the event source belongs to another provider");
        }
        synchronized (this) {
            if (isClosedLocked() || sources.contains(pollable) || !pollable.holdDescriptor()) {
                return;
            }
            sources.add(pollable);
            changed = true;
        }
        wakeup();
    }

    @Override
    public void remove(EventSource source) {
        synchronized (this) {
            if (!(source instanceof Pollable pollable) || !sources.remove(pollable)) {
                return;
            }
            changed = true;
        }
        ((Pollable) source).releaseDescriptor();
        wakeup();
    }

    @Override
    public int await(int timeoutMillis, Consumer<? super EventSource> ready) throws VerbsException {
        enter(ControlCalls.POLL);
        try {
            refresh();
            int count = waitForEvents(timeoutMillis);
            return count == 0 ? 0 : report(ready);
        } finally {
            leave();
            destroyIfUnused();
        }
    }

    /** Copies the sources if they changed, and drops those that were closed. */
    private void refresh() {
        List<Pollable> closed = List.of();
        synchronized (this) {
            for (Iterator<Pollable> all = sources.iterator(); all.hasNext();) {
                Pollable source = all.next();
                if (source.isDescriptorClosed()) {
                    all.remove();
                    changed = true;
                    closed = closed.isEmpty() ? new ArrayList<>() : closed;
                    closed.add(source);
                }
            }
            if (changed) {
                changed = false;
                polled = sources.toArray(Pollable[]::new);
                copyDescriptors();
            }
        }
        closed.forEach(Pollable::releaseDescriptor);
    }

    private void copyDescriptors() {
        IbverbsCalls.free(entries);
        entries = IbverbsCalls.allocate((polled.length + 1) * ENTRY_BYTES);
        for (int i = 0; i <= polled.length; i++) {
            entries.set(JAVA_INT, i * ENTRY_BYTES, i == 0 ? eventDescriptor : polled[i - 1].descriptor());
            entries.set(JAVA_SHORT, i * ENTRY_BYTES + EVENTS, POLLIN);
        }
    }

    /** How many descriptors are ready, the eventfd included; a signal does not end the wait. */
    private int waitForEvents(int timeoutMillis) throws VerbsException {
        long start = System.nanoTime();
        int remaining = timeoutMillis;
        while (true) {
            int count = IbverbsCalls.poll(captured, entries.address(), polled.length + 1, remaining);
            if (count >= 0) {
                return count;
            }
            if (count != -EINTR) {
                throw ControlCalls.POLL.failure(-count, "descriptors=" + (polled.length + 1));
            }
            if (timeoutMillis > 0) {
                long passed = (System.nanoTime() - start) / 1_000_000;
                remaining = (int) Math.max(0, timeoutMillis - passed);
            }
        }
    }

    /** Reports what is ready; errors count as ready, the source's own draining method says what is wrong. */
    private int report(Consumer<? super EventSource> ready) {
        if (entries.get(JAVA_SHORT, RETURNED) != 0) {
            IbverbsCalls.readCounter(eventDescriptor, memory.address() + COUNTER_OFFSET);
            // Read, then reset: a wake-up in between leaves its true here, which this reads; so its work is seen.
            woken.getAndSet(false);
        }
        int reported = 0;
        for (int i = 0; i < polled.length; i++) {
            if (entries.get(JAVA_SHORT, (i + 1) * ENTRY_BYTES + RETURNED) != 0) {
                ready.accept(polled[i]);
                reported++;
            }
        }
        return reported;
    }

    @Override
    public void wakeup() {
        if (!woken.getAndSet(true)) {
            synchronized (this) {
                if (!isClosedLocked()) {
                    IbverbsCalls.writeCounter(eventDescriptor, memory.address() + ONE_OFFSET);
                }
            }
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            if (!beginClose()) {
                return;
            }
            IbverbsCalls.writeCounter(eventDescriptor, memory.address() + ONE_OFFSET);
        }
        // Without waiting: the caller may be the waiting thread, and else that one destroys when it leaves.
        destroyIfUnused();
    }

    @Override
    String what() {
        return "event poller";
    }

    @Override
    void destroy() {
        ControlCalls.CLOSE.run(eventDescriptor);
        IbverbsCalls.free(entries);
        IbverbsCalls.free(memory);
        List<Pollable> held;
        synchronized (this) {
            held = List.copyOf(sources);
            sources.clear();
        }
        held.forEach(Pollable::releaseDescriptor);
    }
}
