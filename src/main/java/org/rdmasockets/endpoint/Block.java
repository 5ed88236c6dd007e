package org.rdmasockets.endpoint;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.connection.DirectView;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * Memory of one allocation: where it is registered, who uses it, and how it ends. It ends in this order: the segments
 * of the application throw, no operation begins, and when the last one in progress has completed, the memory goes back.
 */
final class Block {
    final Domain domain;
    final MemoryRegion region;
    final long offset;
    final long length;
    private final Runnable giveBack;
    final RangeLocks locks = new RangeLocks();
    /** Closes the application's segment; made on first use. Guarded by this. */
    private Arena arena;
    /** The application's segment of the whole block; guarded by this. */
    private MemorySegment seen;
    /** A lease of the application's lends it; guarded by this. */
    private boolean lent;
    /** Changed under this. */
    private volatile boolean closed;
    /** Written once, when it is closed and its last operation has completed. */
    private volatile boolean ended;

    /**
     * A block in use; {@code giveBack} runs once it is closed and its last operation has completed, and must not block.
     */
    Block(Domain domain, MemoryRegion region, long offset, long length, Runnable giveBack) {
        this.domain = domain;
        this.region = region;
        this.offset = offset;
        this.length = length;
        this.giveBack = giveBack;
    }

    /** The application's view of the memory, until the end. */
    synchronized MemorySegment segment() {
        ensureOpen();
        if (seen == null) {
            StackRoom.ensure();
            arena = Arena.ofShared();
            seen = DirectView.within(arena, memory());
        }
        return seen;
    }

    /** The bytes; the caller knows that this is open. */
    MemorySegment memory() {
        return region.segment().asSlice(offset, length);
    }

    void ensureOpen() {
        if (closed) {
            throw new IllegalStateException("the region is closed");
        }
    }

    /** A lease begins, which will close this; throws {@code IllegalStateException} if this is closed, or lent. */
    synchronized void lend() {
        ensureOpen();
        if (lent) {
            throw new IllegalStateException("the region is shared already, until that lease ends");
        }
        lent = true;
    }

    /** A lease gives this back to the application; false if that has closed it meanwhile. */
    synchronized boolean takeBack() {
        lent = false;
        return !closed;
    }

    /** Whether it is closed and no operation uses it any more: its key opens nothing, or soon opens nothing. */
    boolean hasEnded() {
        return ended;
    }

    private void end() {
        giveBack.run();
        ended = true;
        domain.forget(this);
    }

    /** Closes this. Idempotent. Throws, and stays open, while a thread does I/O with the segment. */
    void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            if (arena != null) {
                arena.close();
            }
            closed = true;
        }
        locks.close(this::end);
    }
}
