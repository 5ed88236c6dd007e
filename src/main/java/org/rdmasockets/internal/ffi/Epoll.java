package org.rdmasockets.internal.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * A set of sockets and other descriptors of which some have something to do ({@code epoll}). Any thread changes it; a
 * waiting thread has an {@link EpollWait}. A socket removes itself when it is closed.
 */
public final class Epoll extends Guard {
    /** Wake up when a packet, a connection or the end of the stream can be read. */
    public static final int READABLE = 0x1;
    /** Wake up when there is room for a packet. */
    public static final int WRITABLE = 0x4;

    /** {@code struct epoll_event} is packed on x86-64 and aligned on aarch64. */
    static final int DATA_OFFSET = Posix.AARCH64 ? 8 : 4;
    static final int EVENT_BYTES = DATA_OFFSET + Long.BYTES;

    final int descriptor;
    /** The argument of a change, and its errno; guarded by this. */
    private final MemorySegment event = Arena.ofAuto().allocate(EVENT_BYTES, Long.BYTES);
    private final ByteBuffer fields = Posix.buffer(event);
    private final Captured captured = new Captured(Arena.ofAuto());
    /** The waits for this set; guarded by itself. */
    private final List<EpollWait> waits = new ArrayList<>();
    /** The number of the next wait; guarded by waits. */
    private long nextWait = -1;

    private Epoll() throws VerbsException {
        descriptor = (int) Posix.EPOLL_CREATE1.check("", Posix.EPOLL_CLOEXEC);
    }

    /** Makes an empty set; throws if there are too many descriptors. */
    public static Epoll create() throws VerbsException {
        return new Epoll();
    }

    /**
     * Adds a socket, or changes what it is watched for: {@link #READABLE}, {@link #WRITABLE} or both, and always the
     * end of the stream. {@link EpollWait#data} gives data for it that is not negative. If there is something to do
     * already, a waiting thread is told. Throws {@code EBADF} if the socket is closed, {@code ESHUTDOWN} if this is; or
     * the kernel refuses.
     */
    public void watch(PacketSocket socket, int interest, long data) throws VerbsException {
        if (!socket.enter()) {
            throw new VerbsException("epoll_ctl", Errno.EBADF, "the socket is closed");
        }
        try {
            socket.watchedBy = this;
            watch(socket.descriptor, interest, data);
        } finally {
            socket.leave();
        }
    }

    /**
     * Adds a descriptor, as a socket, which the caller keeps open until it is removed or all this is closed, or changes
     * what it is watched for. If there is something to do already, a waiting thread is told.
     */
    public void watch(int watched, int interest, long data) throws VerbsException {
        if (!enter()) {
            throw new VerbsException("epoll_ctl", Errno.ESHUTDOWN, "the set is closed");
        }
        try {
            synchronized (this) {
                removeOpen(watched);
                addOpen(watched, interest, data);
            }
        } finally {
            leave();
        }
    }

    private void addOpen(int watched, int interest, long data) throws VerbsException {
        long error = control(Posix.EPOLL_CTL_ADD, watched, interest, data);
        if (error < 0) {
            throw Posix.EPOLL_CTL.failure(-error, "operation=EPOLL_CTL_ADD");
        }
    }

    /** Removes a descriptor of this set. */
    public void remove(int removed) {
        if (!enter()) {
            return;
        }
        try {
            removeOpen(removed);
        } finally {
            leave();
        }
    }

    /** Nothing happens if it is not there. */
    private synchronized void removeOpen(int removed) {
        control(Posix.EPOLL_CTL_DEL, removed, 0, 0);
    }

    /**
     * Takes no memory of the heap, and tries again after an {@code Error}: between a removal and an addition, it would
     * leave a socket unwatched, and with it the connections to a whole process.
     */
    private synchronized long control(int operation, int watched, int interest, long data) {
        fields.putInt(0, interest).putLong(DATA_OFFSET, data);
        return Posix.EPOLL_CTL.callSurely(captured, descriptor, operation, watched, event.address(), 0L);
    }

    /** Adds a wait with its eventfd, and returns the number of that in this set. The caller is inside. */
    long addWait(EpollWait wait, int eventDescriptor) throws VerbsException {
        synchronized (waits) {
            addOpen(eventDescriptor, READABLE, nextWait);
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

    /** An eventfd has a count: whether it is that of another wait, whose thread is about to hear of it. */
    boolean isCountOfAnother(long id, EpollWait heardBy) {
        EpollWait found = null;
        synchronized (waits) {
            for (EpollWait wait : waits) {
                found = wait.id == id ? wait : found;
            }
        }
        return found != null && found.hasCountFor(heardBy);
    }

    @Override
    protected void free() {
        Posix.close(descriptor);
    }
}
