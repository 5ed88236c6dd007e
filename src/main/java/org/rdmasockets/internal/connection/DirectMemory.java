package org.rdmasockets.internal.connection;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.rdmasockets.verbs.MemoryRegion;

/** Memory to send from, or for the peer to write to. Once closed it goes back when the last write has left it. */
public final class DirectMemory implements AutoCloseable {
    private final ZeroCopyTransfers owner;
    final MemoryRegion region;
    private final MemorySegment segment;
    private final Consumer<MemoryRegion> giveBack;
    /** Writes in progress, and those whose memory the device still reads; guarded by this. */
    private int users;
    /** Changed under the lock of this. */
    private volatile boolean closed;

    /** Memory in use, a part of a region, null if not registered; given back once, when no write uses it any more. */
    DirectMemory(ZeroCopyTransfers owner, MemoryRegion region, MemorySegment segment, Consumer<MemoryRegion> giveBack) {
        this.owner = owner;
        this.region = region;
        this.segment = segment;
        this.giveBack = giveBack;
    }

    /** The bytes, usable as long as this segment is reachable; throws if this is closed. */
    public MemorySegment segment() {
        if (closed) {
            throw gone();
        }
        return segment;
    }

    private static IllegalStateException gone() {
        return new IllegalStateException("the buffer is closed");
    }

    /** Begins a write; throws if this is closed, or another connection's. */
    public synchronized void enter(ZeroCopyTransfers user) {
        if (user != owner) {
            throw new IllegalArgumentException("the buffer belongs to another connection: allocate one at this socket");
        }
        if (closed) {
            throw gone();
        }
        users++;
    }

    /**
     * Ends a write that {@link #enter} began. If the memory was closed meanwhile and cannot be given back, it is open
     * again.
     */
    public synchronized void leave() {
        users--;
        try {
            giveBackIfUnused();
        } catch (IllegalStateException e) {
            return; // the next close tries again; the write has succeeded or failed all the same
        }
    }

    /** Enters once more, for a writer that has entered: the device goes on reading. {@link #leave} has to follow. */
    synchronized void keep() {
        users++;
    }

    /** The bytes, for a thread that has entered. */
    MemorySegment memory() {
        return segment;
    }

    /**
     * Gives the memory back, when the writes in progress have ended. Idempotent, any thread, never blocks. Throws
     * {@code IllegalStateException} if it is mapped and its segment is in use for I/O: it stays open.
     */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            giveBackIfUnused();
        }
    }

    /** Guarded by this. Open again if it throws. */
    private void giveBackIfUnused() {
        if (closed && users == 0) {
            boolean given = false;
            try {
                giveBack.accept(region);
                given = true;
            } finally {
                closed = given;
            }
        }
    }
}
