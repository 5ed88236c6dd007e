package org.rdmasockets.endpoint;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.connection.SetupPool;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.VerbsException;

/**
 * A protection domain and its memory. Keys are checked against it, so each endpoint has one of its own, unless the
 * application wants several to share their memory; it ends with the last of them, and all its regions with it.
 */
final class Domain {
    private static final Log LOG = new Log(Domain.class);
    private static final Set<AccessFlag> LOCAL = Set.of(AccessFlag.LOCAL_WRITE);
    /** All memory of a device begins at a multiple of this: no page is smaller. */
    private static final long ALIGNED_BYTES = 4096;
    /**
     * How much longer each wait is than the one before, while a thread does I/O with the segment of a region that ends.
     */
    private static final int STEP_MILLIS = 10;
    /** The waits that become longer: together a little more than a second. All further ones are as long as the last. */
    private static final int MOST_STEPS = 15;

    final Device device;
    final ProtectionDomain verbs;
    private final BufferPool slabs = new BufferPool();
    private final AtomicLong bytes = new AtomicLong();
    /** Blocks that have not ended; guarded by this. */
    private final Set<Block> open = new HashSet<>();
    /** Endpoints, and allocations in progress; guarded by this. */
    private int users = 1;
    /** No user and no block is left; guarded by this. */
    private boolean closed;

    /** Set-up pool: a domain with one user. */
    Domain(Device device, ProtectionDomain verbs) {
        this.device = device;
        this.verbs = verbs;
    }

    /** Adds a user, which will release it; false if it is closed. */
    synchronized boolean retain() {
        if (users > 0) {
            users++;
        }
        return users > 0;
    }

    /** Set-up pool: removes a user, whose queue pair is gone. */
    void release() {
        if (leave(null)) {
            finish();
        }
    }

    /**
     * Removes a user and adds the block that it has made, null for none; true if no user is left and the caller has to
     * {@link #finish}.
     */
    private synchronized boolean leave(Block made) {
        if (made != null) {
            open.add(made);
        }
        users--;
        return users == 0;
    }

    /** Set-up pool: no user is left; ends all blocks. */
    private void finish() {
        List<Block> left;
        synchronized (this) {
            left = List.copyOf(open);
        }
        left.forEach(Domain::end);
        closeIfUnused();
    }

    /**
     * Closes the domain if it is unused. The registrations stay until the last block has ended: the kernel may be
     * writing to it for a thread's I/O.
     */
    private void closeIfUnused() {
        synchronized (this) {
            if (closed || users > 0 || !open.isEmpty()) {
                return;
            }
            closed = true;
        }
        SetupPool.SHARED.execute(() -> {
            slabs.close();
            verbs.close();
        });
    }

    /** Set-up pool: ends a region, now or once no thread does I/O with its segment any more. */
    static void end(Block block) {
        end(block, 1);
    }

    private static void end(Block block, int tries) {
        try {
            block.close();
        } catch (IllegalStateException e) {
            if (tries == MOST_STEPS) {
                LOG.warn("a region of {} bytes stays registered after its end, until the I/O with its segment is over",
                        block.length);
            }
            Executor later = CompletableFuture.delayedExecutor(Math.min(tries, MOST_STEPS) * STEP_MILLIS,
                    TimeUnit.MILLISECONDS, SetupPool.SHARED::execute);
            later.execute(() -> end(block, tries + 1));
        }
    }

    long bytes() {
        return bytes.get();
    }

    /** Allocates zeroed memory for the application, aligned to a power of two. */
    LocalRegion allocate(long size, long alignment, Set<AccessFlag> access, MemoryStrategy strategy)
            throws IOException {
        if (size < 1 || Long.bitCount(alignment) != 1) {
            throw new IllegalArgumentException("at least one byte and a power of two are wanted, not size="
                    + size + ", alignment=" + alignment);
        }
        boolean pooled = strategy == MemoryStrategy.POOLED && access.equals(LOCAL) && isPooled(size, alignment);
        enter();
        Block block = null;
        try {
            block = pooled ? pooled(size, alignment) : direct(size, alignment, access);
            if (pooled) {
                block.memory().fill((byte) 0); // the previous owner has left its data there
            }
            return LocalRegion.of(block);
        } finally {
            exit(block);
        }
    }

    private static boolean isPooled(long size, long alignment) {
        return size <= BufferPool.MOST_BYTES && alignment <= ALIGNED_BYTES;
    }

    /** Allocates memory for a message, with any contents. */
    LocalRegion allocateForMessage(long size) throws IOException {
        return allocateForMessage(size, null, 0);
    }

    /** Likewise, with so many bytes of another region at its beginning; null for none. */
    LocalRegion allocateForMessage(long size, LocalRegion from, long used) throws IOException {
        enter(); // so that the other region stays
        Block block = null;
        try {
            block = isPooled(size, 1) ? pooled(size, 1) : direct(size, 1, LOCAL);
            if (used > 0) {
                MemorySegment.copy(from.memory(), 0, block.memory(), 0, used);
            }
            return LocalRegion.of(block);
        } finally {
            exit(block);
        }
    }

    /** Set-up pool: memory that a peer has asked for. The part goes back once that is freed, or if it cannot be had. */
    LocalRegion allocateNow(long size, Set<AccessFlag> access, Budget.Part part) throws IOException {
        return allocateNow(size, access, part, null);
    }

    /** Set-up pool: likewise, the same bytes in memory of their own, which no peer reaches. */
    LocalRegion copyOf(LocalRegion region, Budget.Part part) throws IOException {
        return allocateNow(region.length(), LOCAL, part, region);
    }

    private LocalRegion allocateNow(long size, Set<AccessFlag> access, Budget.Part part, LocalRegion from)
            throws IOException {
        MemoryRegion memory = null;
        Block block = null;
        boolean entered = false;
        try {
            enter(); // so that the other region stays
            entered = true;
            memory = register(size, access);
            if (from != null) {
                MemorySegment.copy(from.memory(), 0, memory.segment(), 0, size);
            }
            MemoryRegion made = memory;
            block = new Block(this, made, 0, size, () -> SetupPool.SHARED.execute(() -> {
                deregister(made);
                part.giveBack();
            }));
            return LocalRegion.of(block);
        } finally {
            if (block == null) {
                if (memory != null) {
                    deregister(memory);
                }
                part.giveBack();
            }
            if (entered) {
                exit(block);
            }
        }
    }

    /** Begins an allocation: the domain stays until {@link #exit}. */
    private void enter() throws EndpointException {
        if (!retain()) {
            throw new EndpointException(EndpointException.Reason.CLOSED, "the endpoint is closed");
        }
    }

    /** Ends an allocation, with the block or, if it failed, null. */
    private void exit(Block made) {
        if (leave(made)) {
            SetupPool.SHARED.execute(this::finish); // all endpoints ended meanwhile
        }
    }

    private Block pooled(long size, long alignment) throws IOException {
        int pieceBytes = BufferPool.sizeFor(size, alignment);
        BufferPool.Piece free = slabs.take(pieceBytes);
        BufferPool.Piece piece = free != null ? free : slabs.cut(SetupPool.SHARED.register(
                () -> register(Math.max(BufferPool.SLAB_BYTES, pieceBytes), LOCAL), this::deregister), pieceBytes);
        return new Block(this, piece.region(), piece.offset(), size, () -> slabs.giveBack(piece));
    }

    private Block direct(long size, long alignment, Set<AccessFlag> access) throws IOException {
        long extra = alignment > ALIGNED_BYTES ? alignment : 0;
        MemoryRegion region = SetupPool.SHARED.register(() -> register(size + extra, access), this::deregister);
        long offset = -region.address() & alignment - 1;
        return new Block(this, region, offset, size, () -> SetupPool.SHARED.execute(() -> deregister(region)));
    }

    private MemoryRegion register(long size, Set<AccessFlag> access) throws VerbsException {
        MemoryRegion region = verbs.allocate(size, access);
        bytes.addAndGet(region.lengthBytes());
        return region;
    }

    private void deregister(MemoryRegion region) {
        bytes.addAndGet(-region.lengthBytes());
        region.close();
    }

    /** A block has ended. */
    void forget(Block block) {
        synchronized (this) {
            open.remove(block);
            if (users > 0) {
                return;
            }
        }
        closeIfUnused();
    }
}
