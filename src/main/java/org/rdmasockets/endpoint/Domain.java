package org.rdmasockets.endpoint;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.transport.Engine;
import org.rdmasockets.transport.Registration;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A protection domain and its memory. Keys are checked against it, so each endpoint has one of its own, unless the
 * application wants several to share their memory; it ends with the last of them, and all its regions with it.
 */
final class Domain {
    private static final Logger LOG = LoggerFactory.getLogger(Domain.class);
    private static final Set<AccessFlag> LOCAL = Set.of(AccessFlag.LOCAL_WRITE);
    private static final long PAGE_BYTES = 4096;
    /** How often the end of a region is tried while somebody does I/O with its segment. */
    private static final int TRIES = 100;

    private final Engine engine;
    private final Device device;
    private final ProtectionDomain verbs;
    private final Slabs slabs = new Slabs();
    private final AtomicLong bytes = new AtomicLong();
    /** Blocks that have not ended; guarded by this. */
    private final Set<Block> open = new HashSet<>();
    /** Endpoints, the domain is closed when none is left; guarded by this. */
    private int users = 1;

    private Domain(Engine engine, Device device, ProtectionDomain verbs) {
        this.engine = engine;
        this.device = device;
        this.verbs = verbs;
    }

    /** Set-up pool: a domain with one user. */
    static Domain allocate(Engine engine, Device device) throws VerbsException {
        return new Domain(engine, device, device.allocateProtectionDomain());
    }

    /** One more user, who will release it; false if it is closed. */
    synchronized boolean retain() {
        if (users > 0) {
            users++;
        }
        return users > 0;
    }

    /** Set-up pool: one user fewer, whose queue pair is gone. */
    void release() {
        List<Block> left;
        synchronized (this) {
            users--;
            if (users > 0) {
                return;
            }
            left = List.copyOf(open);
        }
        left.forEach(Domain::end);
        slabs.close();
        verbs.close();
    }

    /** Set-up pool: ends a region, with patience for who does I/O with its segment. */
    static void end(Block block) {
        for (int tries = 1;; tries++) {
            try {
                block.close();
                return;
            } catch (IllegalStateException e) {
                if (tries == TRIES) {
                    LOG.warn("a region of {} bytes stays registered: somebody does I/O with its segment for longer "
                            + "than its endpoint has lived", block.length());
                    return;
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
            }
        }
    }

    /** Who does what may block. */
    Engine engine() {
        return engine;
    }

    /** What registers the memory. */
    Device device() {
        return device;
    }

    /** What queue pairs are made in. */
    ProtectionDomain verbs() {
        return verbs;
    }

    /** How much is registered here. */
    long bytes() {
        return bytes.get();
    }

    /**
     * Allocates memory, zeroed, for the application.
     *
     * @param size how many bytes, at least 1
     * @param alignment a power of two
     * @param access what may be done with it
     * @param strategy whether it may be a piece of a larger registration
     * @return the region
     * @throws IOException if the device refuses, or this is closed
     */
    LocalRegion allocate(long size, long alignment, Set<AccessFlag> access, MemoryStrategy strategy)
            throws IOException {
        if (size < 1 || Long.bitCount(alignment) != 1) {
            throw new IllegalArgumentException("at least one byte and a power of two are wanted, not size="
                    + size + ", alignment=" + alignment);
        }
        ensureOpen();
        if (strategy == MemoryStrategy.POOLED && access.equals(LOCAL) && isPooled(size, alignment)) {
            LocalRegion region = pooled(size, alignment);
            region.memory().fill((byte) 0);
            return region;
        }
        long extra = alignment > PAGE_BYTES ? alignment : 0;
        MemoryRegion region = Registration.await(engine.setupPool(), () -> register(size + extra, access),
                this::deregister);
        return wrap(direct(region, size, alignment));
    }

    private static boolean isPooled(long size, long alignment) {
        return size <= Slabs.MOST_BYTES && alignment <= PAGE_BYTES;
    }

    /** Allocates memory for a message, whatever is in it. */
    LocalRegion allocateForMessage(long size) throws IOException {
        return isPooled(size, 1) ? pooled(size, 1) : allocate(size, 1, LOCAL, MemoryStrategy.DIRECT);
    }

    private LocalRegion pooled(long size, long alignment) throws IOException {
        int pieceBytes = Slabs.sizeFor(size, alignment);
        Slabs.Piece free = slabs.take(pieceBytes);
        Slabs.Piece piece = free != null ? free : slabs.cut(Registration.await(engine.setupPool(),
                () -> register(Math.max(Slabs.SLAB_BYTES, pieceBytes), LOCAL), this::deregister), pieceBytes);
        return wrap(new Block(this, piece.region(), piece.offset(), size, () -> slabs.giveBack(piece)));
    }

    /** Set-up pool: memory that a peer has asked for. */
    LocalRegion allocateNow(long size, Set<AccessFlag> access) throws IOException {
        return wrap(direct(register(size, access), size, 1));
    }

    private Block direct(MemoryRegion region, long size, long alignment) {
        long offset = -region.address() & alignment - 1;
        return new Block(this, region, offset, size, () -> engine.setupPool().execute(() -> deregister(region)));
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

    private LocalRegion wrap(Block block) throws EndpointException {
        boolean added = false;
        synchronized (this) {
            added = users > 0 && open.add(block);
        }
        if (!added) {
            block.close();
        }
        ensureOpen();
        return LocalRegion.of(block);
    }

    private synchronized void ensureOpen() throws EndpointException {
        if (users == 0) {
            throw new EndpointException(EndpointException.Reason.CLOSED, "the endpoint is closed");
        }
    }

    /** A block has ended. */
    synchronized void forget(Block block) {
        open.remove(block);
    }
}
