package org.rdmasockets.provider.sharedmemory.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * A set of sockets of which some have something to do ({@code epoll}, level triggered). Sockets are added and removed
 * by any thread, looked at by one at a time. A socket removes itself when it is closed.
 */
public final class Epoll extends Guard {
    /** Wake up when a packet, a connection or the end of the stream can be read. */
    public static final int READABLE = 0x1;
    /** Wake up when there is room for a packet. */
    public static final int WRITABLE = 0x4;

    /** {@code struct epoll_event} is packed on x86-64 and aligned on aarch64. */
    private static final int DATA_OFFSET = System.getProperty("os.arch").equals("aarch64") ? 8 : 4;
    private static final int EVENT_BYTES = DATA_OFFSET + Long.BYTES;
    private static final int BATCH = 64;

    private final int descriptor;
    /** Results of the last look; the looking thread only. */
    private final MemorySegment events = Arena.ofAuto().allocate((long) BATCH * EVENT_BYTES, Long.BYTES);
    private final MemorySegment captured = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);

    private Epoll(int descriptor) {
        this.descriptor = descriptor;
    }

    /**
     * Makes an empty set.
     *
     * @return the set
     * @throws VerbsException if there are too many descriptors
     */
    public static Epoll create() throws VerbsException {
        return new Epoll((int) Posix.EPOLL_CREATE1.check("", Posix.EPOLL_CLOEXEC));
    }

    /**
     * Adds a socket.
     *
     * @param socket an open socket
     * @param interest {@link #READABLE}, {@link #WRITABLE} or both; the end of the stream counts always
     * @param data what {@link #data} gives for it
     * @throws VerbsException if the kernel refuses
     */
    public void add(PacketSocket socket, int interest, long data) throws VerbsException {
        control("EPOLL_CTL_ADD", Posix.EPOLL_CTL_ADD, socket, interest, data);
    }

    /**
     * Changes what is waited for.
     *
     * @param socket a socket of this set
     * @param interest as for {@link #add}
     * @param data as for {@link #add}
     * @throws VerbsException if the kernel refuses
     */
    public void change(PacketSocket socket, int interest, long data) throws VerbsException {
        control("EPOLL_CTL_MOD", Posix.EPOLL_CTL_MOD, socket, interest, data);
    }

    private void control(String name, int operation, PacketSocket socket, int interest, long data)
            throws VerbsException {
        if (!enter()) {
            throw new VerbsException("epoll_ctl", Errno.ESHUTDOWN, "operation=" + name);
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = arena.allocate(EVENT_BYTES, Long.BYTES);
            event.set(JAVA_INT, 0, interest);
            event.set(JAVA_LONG_UNALIGNED, DATA_OFFSET, data);
            if (!socket.enter()) {
                throw new VerbsException("epoll_ctl", Errno.EBADF, "operation=" + name);
            }
            long error = Posix.EPOLL_CTL.call(descriptor, operation, socket.descriptor(), event.address());
            socket.leave();
            if (error < 0) {
                throw Posix.EPOLL_CTL.failure(-error, "operation=" + name);
            }
        } finally {
            leave();
        }
    }

    /**
     * Looks which sockets have something to do, without waiting.
     *
     * @return how many; more may follow at the next look
     * @throws VerbsException if the set is broken
     */
    public int look() throws VerbsException {
        if (!enter()) {
            return 0;
        }
        try {
            int count = Posix.epollNow(captured, descriptor, events.address(), BATCH);
            if (count < 0 && count != -Errno.EINTR.number()) {
                throw Posix.EPOLL_WAIT.failure(-count, "");
            }
            return Math.max(0, count);
        } finally {
            leave();
        }
    }

    /**
     * Which socket it is.
     *
     * @param index 0 to what {@link #look} returned, exclusive
     * @return the data given with it
     */
    public long data(int index) {
        return events.get(JAVA_LONG_UNALIGNED, (long) index * EVENT_BYTES + DATA_OFFSET);
    }

    /** The number of the descriptor, which can itself be waited for. */
    int descriptor() {
        return descriptor;
    }

    @Override
    protected void free() {
        Posix.CLOSE.call(descriptor);
    }
}
