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
    /** Ends what the application sees; made when it looks first; guarded by this. */
    private Arena arena;
    /** The whole, as the application sees it; guarded by this. */
    private MemorySegment seen;
    /** A lease of the application's lends it; guarded by this. */
    private boolean lent;
    /** Changed under this. */
    private volatile boolean closed;
    /** Written once, when nobody uses it any more. */
    private volatile boolean ended;

    /** Memory in use; {@code giveBack} takes it when nobody uses it any more, and must not block. */
    Block(Domain domain, MemoryRegion region, long offset, long length, Runnable giveBack) {
        this.domain = domain;
        this.region = region;
        this.offset = offset;
        this.length = length;
        this.giveBack = giveBack;
    }

    /** What the application sees until the end. */
    synchronized MemorySegment segment() {
        ensureOpen();
        if (seen == null) {
            StackRoom.ensure();
            arena = Arena.ofShared();
            seen = DirectView.within(arena, memory());
        }
        return seen;
    }

    /** The bytes, for who knows that this is open. */
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

    /** Whether nobody uses it any more: its key opens nothing, or is about to. */
    boolean hasEnded() {
        return ended;
    }

    private void end() {
        giveBack.run();
        ended = true;
        domain.forget(this);
    }

    /** Ends this. Idempotent. Throws, and stays open, if somebody does I/O with the segment. */
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
