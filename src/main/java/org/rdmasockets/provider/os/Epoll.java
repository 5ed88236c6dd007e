package org.rdmasockets.provider.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * A set of sockets and other descriptors of which some have something to do ({@code epoll}). Any thread changes
 * it; who waits has an {@link EpollWait}. A socket removes itself when it is closed.
 */
public final class Epoll extends Guard {
    /** Wake up when a packet, a connection or the end of the stream can be read. */
    public static final int READABLE = 0x1;
    /** Wake up when there is room for a packet. */
    public static final int WRITABLE = 0x4;
    /** With one of these: tell one who waits, once, when it begins or something is added. Else all are told, always. */
    public static final int EDGE = 1 << 31;

    /** {@code struct epoll_event} is packed on x86-64 and aligned on aarch64. */
    static final int DATA_OFFSET = System.getProperty("os.arch").equals("aarch64") ? 8 : 4;
    static final int EVENT_BYTES = DATA_OFFSET + Long.BYTES;

    private final int descriptor;
    /** A {@code struct epoll_event} for {@link #change}; guarded by itself. */
    private final MemorySegment changes = Arena.ofAuto().allocate(EVENT_BYTES, Long.BYTES);
    /** Who may wait; guarded by itself. */
    private final List<EpollWait> waits = new ArrayList<>();
    /** The next number of one that waits; guarded by waits. */
    private long nextWait = -1;

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
     * @param interest {@link #READABLE}, {@link #WRITABLE} or both; the end of the stream counts always; {@link #EDGE}
     * @param data what {@link EpollWait#data} gives for it, not negative
     * @throws VerbsException if the kernel refuses
     */
    public void add(PacketSocket socket, int interest, long data) throws VerbsException {
        control("EPOLL_CTL_ADD", Posix.EPOLL_CTL_ADD, socket, interest, data);
    }

    /**
     * Changes what is waited for. If there is something to do already, somebody is told.
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
        try {
            if (!socket.enter()) {
                throw new VerbsException("epoll_ctl", Errno.EBADF, "operation=" + name);
            }
            long error = control(operation, socket.descriptor(), interest, data);
            socket.leave();
            if (error < 0) {
                throw Posix.EPOLL_CTL.failure(-error, "operation=" + name);
            }
        } finally {
            leave();
        }
    }

    /**
     * Adds a descriptor, which the caller keeps open until it is removed or all this is closed.
     *
     * @param added an open descriptor
     * @param interest as for a socket
     * @param data as for a socket
     * @throws VerbsException if the kernel refuses
     */
    public void add(int added, int interest, long data) throws VerbsException {
        long error = controlOpen(Posix.EPOLL_CTL_ADD, added, interest, data);
        if (error < 0) {
            throw Posix.EPOLL_CTL.failure(-error, "operation=EPOLL_CTL_ADD");
        }
    }

    /**
     * Changes what is waited for. If there is something to do already, somebody is told. Allocates nothing.
     *
     * @param changed a descriptor of this set
     * @param interest as for a socket
     * @param data as for a socket
     */
    public void change(int changed, int interest, long data) {
        if (!enter()) {
            return;
        }
        try {
            synchronized (changes) {
                changes.set(JAVA_INT, 0, interest);
                changes.set(JAVA_LONG_UNALIGNED, DATA_OFFSET, data);
                Posix.epollChange(descriptor, changed, changes.address());
            }
        } finally {
            leave();
        }
    }

    /**
     * Removes a descriptor.
     *
     * @param removed a descriptor of this set
     */
    public void remove(int removed) {
        controlOpen(Posix.EPOLL_CTL_DEL, removed, 0, 0);
    }

    /** A negated errno, 0 if it was done or all this is closed. */
    private long controlOpen(int operation, int watched, int interest, long data) {
        if (!enter()) {
            return 0;
        }
        try {
            return control(operation, watched, interest, data);
        } finally {
            leave();
        }
    }

    private long control(int operation, int watched, int interest, long data) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = arena.allocate(EVENT_BYTES, Long.BYTES);
            event.set(JAVA_INT, 0, interest);
            event.set(JAVA_LONG_UNALIGNED, DATA_OFFSET, data);
            return Posix.EPOLL_CTL.call(descriptor, operation, watched, event.address());
        }
    }

    /** Adds somebody who waits, with his eventfd: what it is known by. The caller is inside. */
    long addWait(EpollWait wait, int eventDescriptor) throws VerbsException {
        synchronized (waits) {
            long error = control(Posix.EPOLL_CTL_ADD, eventDescriptor, READABLE, nextWait);
            if (error < 0) {
                throw Posix.EPOLL_CTL.failure(-error, "operation=EPOLL_CTL_ADD");
            }
            waits.add(wait);
            return nextWait--;
        }
    }

    /** Removes one. */
    void removeWait(EpollWait wait) {
        synchronized (waits) {
            waits.remove(wait);
        }
    }

    /** An eventfd has a count: whether it is another's, who is about to hear of it. */
    boolean isCountOfAnother(long id, EpollWait heardBy) {
        EpollWait found = null;
        synchronized (waits) {
            for (EpollWait wait : waits) {
                found = wait.id() == id ? wait : found;
            }
        }
        return found != null && found.hasCountFor(heardBy);
    }

    /** The number of the descriptor. */
    int descriptor() {
        return descriptor;
    }

    @Override
    protected void free() {
        Posix.CLOSE.call(descriptor);
    }
}
