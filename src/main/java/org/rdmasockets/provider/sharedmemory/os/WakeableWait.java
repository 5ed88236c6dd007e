package org.rdmasockets.provider.sharedmemory.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** Lets one thread wait in {@code poll} for an {@link Epoll}, and any thread wake it through an {@code eventfd}. */
public final class WakeableWait extends Guard {
    /** {@code sizeof(struct pollfd)}: descriptor 4, events 2, returned events 2. */
    private static final int ENTRY_BYTES = 8;
    private static final int EVENTS_OFFSET = 4;
    private static final int RETURNED_OFFSET = 6;
    private static final int ENTRIES = 2;

    private final Epoll watched;
    private final int eventDescriptor;
    /** Two {@code struct pollfd}, the eventfd first; the waiting thread only. */
    private final MemorySegment entries = Arena.ofAuto().allocate(ENTRIES * ENTRY_BYTES, Long.BYTES);
    /** Where errno and the eventfd's counter go; the waiting thread only. */
    private final MemorySegment scratch = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
    /** Whether the eventfd was written to and not read since: saves the system call of a second wake-up. */
    private final AtomicBoolean woken = new AtomicBoolean();

    private WakeableWait(Epoll watched, int eventDescriptor) {
        this.watched = watched;
        this.eventDescriptor = eventDescriptor;
        fill(0, eventDescriptor);
        fill(1, watched.descriptor());
    }

    private void fill(int index, int descriptor) {
        entries.set(JAVA_INT, (long) index * ENTRY_BYTES, descriptor);
        entries.set(JAVA_SHORT, (long) index * ENTRY_BYTES + EVENTS_OFFSET, Posix.POLLIN);
    }

    /**
     * Makes something to wait with.
     *
     * @param watched what to wait for; it is kept open until this is freed
     * @return a new wait
     * @throws VerbsException if there are too many descriptors, or the set is closed
     */
    public static WakeableWait on(Epoll watched) throws VerbsException {
        if (!watched.enter()) {
            throw new VerbsException("poll", Errno.ESHUTDOWN, "the set is closed");
        }
        long descriptor = Posix.EVENTFD.call(0, Posix.EFD_CLOEXEC | Posix.EFD_NONBLOCK);
        if (descriptor < 0) {
            watched.leave();
            throw Posix.EVENTFD.failure(-descriptor, "");
        }
        return new WakeableWait(watched, (int) descriptor);
    }

    /**
     * Waits until the set has something to do, somebody wakes this or closes it, or the time is over. <em>Blocks</em>:
     * platform threads only, one at a time.
     *
     * @param timeoutMillis longest wait in milliseconds, 0 to look only, negative for no limit
     * @return true if the set has something to do
     * @throws VerbsException if waiting failed, or this is closed
     */
    public boolean await(int timeoutMillis) throws VerbsException {
        if (!enter()) {
            throw new VerbsException("poll", Errno.ESHUTDOWN, "the waiter is closed");
        }
        try {
            pollUntilReady(timeoutMillis);
            if (entries.get(JAVA_SHORT, RETURNED_OFFSET) != 0) {
                Posix.readCounter(eventDescriptor, scratch);
                // Read, then reset: a wake-up in between leaves its true here, which this reads; so its work is seen.
                woken.getAndSet(false);
            }
            return entries.get(JAVA_SHORT, ENTRY_BYTES + RETURNED_OFFSET) != 0;
        } finally {
            leave();
        }
    }

    /** A signal does not end the wait. */
    private void pollUntilReady(int timeoutMillis) throws VerbsException {
        long start = System.nanoTime();
        int remaining = timeoutMillis;
        while (true) {
            int ready = Posix.poll(scratch, entries.address(), ENTRIES, remaining);
            if (ready >= 0) {
                return;
            }
            if (ready != -Errno.EINTR.number()) {
                throw Posix.POLL.failure(-ready, "");
            }
            if (timeoutMillis > 0) {
                long passed = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
                remaining = (int) Math.max(0, timeoutMillis - passed);
            }
        }
    }

    /** Ends a wait in progress, or the next one, early. Never blocks; harmless when closed. */
    public void wakeup() {
        if (!woken.getAndSet(true) && enter()) {
            Posix.writeCounter(eventDescriptor);
            leave();
        }
    }

    @Override
    public void close() {
        // Inside, so that the counter is written before the last to leave closes the descriptor.
        if (enter()) {
            super.close();
            Posix.writeCounter(eventDescriptor);
            leave();
        }
    }

    @Override
    protected void free() {
        Posix.CLOSE.call(eventDescriptor);
        watched.leave();
    }
}
