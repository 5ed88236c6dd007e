package org.rdmasockets.transport;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.VerbsException;

/**
 * Registered memory for the buffers of one connection. To register takes about half a millisecond, so what was given
 * back is used again, by this connection only.
 *
 * <p>The memory is not from the slabs of the rings: an application may still hold a view of a buffer that it closed,
 * and must not find another connection's bytes there. Each block is its own, alive as long as somebody can reach it:
 * its region, until it is deregistered, or a view.
 */
final class DirectPool {
    private static final long PAGE_BYTES = 4096;
    /** What is kept for later at most. */
    private static final int MOST_IDLE = 16;
    private static final long MOST_IDLE_BYTES = 1 << 20;
    /** A block this much larger than needed is not used. */
    private static final int MOST_WASTE = 2;

    private final SetupPool pool;
    private final StreamTransport transport;
    /** All regions of this pool; guarded by this. */
    private final Set<MemoryRegion> all = new HashSet<>();
    /** Those that are not in use; guarded by this. */
    private final List<MemoryRegion> idle = new ArrayList<>();
    /** Guarded by this. */
    private long idleBytes;
    /** Guarded by this. */
    private long bytes;
    /** Guarded by this. */
    private boolean closed;

    /** An empty pool for memory of the transport's protection domain. */
    DirectPool(SetupPool pool, StreamTransport transport) {
        this.pool = pool;
        this.transport = transport;
    }

    /** Takes at least so much memory, with any content, waiting until it is registered. */
    MemoryRegion take(int wantedBytes) throws IOException {
        MemoryRegion again = takeIdle(wantedBytes);
        return again != null ? again : register(wantedBytes);
    }

    /** The smallest that fits, or null. */
    private synchronized MemoryRegion takeIdle(int wantedBytes) {
        MemoryRegion best = null;
        for (MemoryRegion region : idle) {
            long length = region.lengthBytes();
            boolean fits = length >= wantedBytes && length <= MOST_WASTE * pages(wantedBytes);
            best = fits && (best == null || length < best.lengthBytes()) ? region : best;
        }
        if (best != null) {
            idle.remove(best);
            idleBytes -= best.lengthBytes();
        }
        return best;
    }

    private static long pages(long bytes) {
        return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    }

    private MemoryRegion register(int wantedBytes) throws IOException {
        return Registration.await(pool, () -> make(pages(wantedBytes)), this::giveBack);
    }

    /** Set-up pool. */
    private MemoryRegion make(long length) throws VerbsException {
        MemorySegment memory;
        try {
            memory = Arena.ofAuto().allocate(length, PAGE_BYTES);
        } catch (OutOfMemoryError e) {
            throw new VerbsException("malloc", Errno.ENOMEM.number(), "lengthBytes=" + length, e.getMessage());
        }
        MemoryRegion region = transport.registerLocal(memory);
        if (!add(region)) {
            region.close();
        }
        return region;
    }

    private synchronized boolean add(MemoryRegion region) {
        if (!closed) {
            all.add(region);
            bytes += region.lengthBytes();
        }
        return !closed;
    }

    /** Takes memory back that nobody reads from. */
    synchronized void giveBack(MemoryRegion region) {
        if (closed) {
            return;
        }
        if (idle.size() < MOST_IDLE && idleBytes + region.lengthBytes() <= MOST_IDLE_BYTES) {
            idle.add(region);
            idleBytes += region.lengthBytes();
        } else {
            all.remove(region);
            bytes -= region.lengthBytes();
            pool.execute(region::close);
        }
    }

    /** How much is registered. */
    synchronized long bytes() {
        return bytes;
    }

    /** Set-up pool: closes all regions, those in use included; the queue pair is gone. */
    void close() {
        List<MemoryRegion> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(all);
            all.clear();
            idle.clear();
            bytes = 0;
        }
        left.forEach(MemoryRegion::close);
    }
}
