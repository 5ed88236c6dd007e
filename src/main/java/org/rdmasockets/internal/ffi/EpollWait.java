package org.rdmasockets.internal.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.lock.VarHandles;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * Lets one thread wait for the sockets of an {@link Epoll}, and any thread wake it through an {@code eventfd}. Several
 * may wait for one set, each with an object of its own.
 *
 * <p>The eventfds are in the set as well: a thread that hears of another's hands it on by waiting again.
 */
public final class EpollWait extends Guard {
    private static final VarHandle WOKEN = VarHandles.of(MethodHandles.lookup(), "woken", boolean.class);
    private static final int BATCH = 64;

    private final Epoll set;
    private final int eventDescriptor;
    /** The number of the eventfd in the set. */
    final long id;
    /** The events that the last wait found, sockets only; the waiting thread only. */
    private final MemorySegment events = Arena.ofAuto().allocate((long) BATCH * Epoll.EVENT_BYTES, Long.BYTES);
    /** The same, for plain accesses, which take the interpreter less. */
    private final ByteBuffer fields = Posix.buffer(events);
    /** Where the eventfd's counter goes, and errno; the waiting thread only. */
    private final MemorySegment counter = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
    private final Captured captured = new Captured(Arena.ofAuto());
    /** Whether {@link #wakeup} was called, and no wait has ended since. */
    private volatile boolean woken;
    /** Whether a thread waits, or is about to. */
    private volatile boolean inside;

    private EpollWait(Epoll set, int eventDescriptor) throws VerbsException {
        this.set = set;
        this.eventDescriptor = eventDescriptor;
        id = set.addWait(this, eventDescriptor);
    }

    /** Makes something to wait with for a set, which is kept open until this is freed. */
    public static EpollWait on(Epoll set) throws VerbsException {
        if (!set.enter()) {
            throw new VerbsException("epoll_wait", Errno.ESHUTDOWN, "the set is closed");
        }
        int descriptor = -1;
        try {
            descriptor = (int) Posix.EVENTFD.check("", 0, Posix.EFD_CLOEXEC | Posix.EFD_NONBLOCK);
            return new EpollWait(set, descriptor);
        } catch (Throwable e) {
            if (descriptor >= 0) {
                Posix.close(descriptor);
            }
            set.leave();
            throw e;
        }
    }

    /**
     * Waits until sockets have something to do, a thread wakes this or another wait for the set, or closes this, or the
     * time is over: in milliseconds, 0 to look only, negative for no limit. <em>Blocks</em>, in the system call: a
     * virtual thread keeps its carrier. One thread at a time. Tells how many sockets there are, see {@link #data}.
     */
    public int await(int timeoutMillis) throws VerbsException {
        if (!enter()) {
            throw new VerbsException("epoll_wait", Errno.ESHUTDOWN, "the waiter is closed");
        }
        try {
            // Before the look at woken: pairs with wakeup.
            inside = true;
            return awaitSockets(timeoutMillis);
        } finally {
            inside = false;
            if ((boolean) WOKEN.getAndSet(this, false)) {
                Posix.readCounter(eventDescriptor, counter);
            }
            leave();
        }
    }

    private int awaitSockets(int timeoutMillis) throws VerbsException {
        long start = System.nanoTime();
        int remaining = timeoutMillis;
        boolean looked = timeoutMillis == 0;
        while (true) {
            int found = (int) Posix.EPOLL_WAIT.call(captured, set.descriptor, events.address(), BATCH,
                    woken || isClosed() ? 0 : remaining);
            if (found < 0 && found != -Errno.EINTR.number()) { // a signal does not end the wait
                throw Posix.EPOLL_WAIT.failure(-found, "");
            }
            boolean disturbed = false;
            int sockets = 0;
            for (int i = 0; i < found; i++) {
                long data = data(i);
                if (data < 0) {
                    disturbed |= set.isCountOfAnother(data, this);
                } else if (sockets++ < i) {
                    fields.putLong((sockets - 1) * Epoll.EVENT_BYTES + Epoll.DATA_OFFSET, data);
                }
            }
            if (timeoutMillis > 0) {
                long passed = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
                remaining = (int) Math.max(0, timeoutMillis - passed);
            }
            if (sockets > 0 || remaining == 0 && looked || disturbed || woken || isClosed()) {
                return sockets;
            }
            // Once more when the time is over: Linux 5.1 to 5.10 may tell of nothing what ended the wait in time.
            looked = remaining == 0;
        }
    }

    /** This one's eventfd has a count: whether another thread is about to take it, which the kernel wakes now. */
    boolean hasCountFor(EpollWait heardBy) {
        if (heardBy != this && inside) {
            Thread.yield(); // else this one may hear of it again and again while that one waits for the processor
            return true;
        }
        // No other thread waits with it: a thread that wakes it sees that, or was seen by a wait that has ended
        // meanwhile.
        Posix.readCounter(eventDescriptor, heardBy.counter);
        return false;
    }

    /** The data given with one of the sockets that {@link #await} counted. */
    public long data(int index) {
        return fields.getLong(index * Epoll.EVENT_BYTES + Epoll.DATA_OFFSET);
    }

    /** Ends a wait in progress, or the next one, early. Never blocks; harmless when closed. */
    public void wakeup() {
        if (!(boolean) WOKEN.getAndSet(this, true) && inside) {
            try {
                writeCounter();
            } catch (Throwable e) {
                woken = false; // no call, as the stack may be at its end: else no thread would ever wake it
                throw e;
            }
        }
    }

    private void writeCounter() {
        if (enter()) {
            try {
                Posix.writeCounter(eventDescriptor);
            } finally {
                leave();
            }
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
        try {
            set.removeWait(this);
        } finally {
            Posix.close(eventDescriptor);
            set.leave();
        }
    }
}
