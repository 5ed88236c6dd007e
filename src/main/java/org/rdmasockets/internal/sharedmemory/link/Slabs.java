package org.rdmasockets.internal.sharedmemory.link;

import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.INT;
import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * Memory for the connections of one link, cut from few large regions (slabs) that are announced once. So a connection
 * takes neither a mapping nor a descriptor nor a system call. A slab is of one link for ever: another process never
 * sees it. The slab describes its slices, so the peer need not be told of them. A page here has 4 KiB, even where the
 * kernel's are larger. In a slab:
 *
 * <pre>
 * 0                    1 bit for each page: a slice begins there; written by the owner
 * 4,096                32 bytes for each page: the slice that begins there; written by the owner
 *                      +0   serial number, 0 if there is none; never that of another slice
 *                      +8   key, 32 bits      +12  access bits, 32 bits      +16  length      +24  tag
 * + 32 bytes a page    8 bytes for each page, written by the peer
 *                      +0   how many are inside, 32 bits, now or from one access to the next: the slice is not used
 *                           again before there are none
 * + 8 bytes a page     the pages
 * </pre>
 *
 * Any thread may call.
 */
public final class Slabs {
    /** The largest slice. */
    public static final long MOST_SLICE_BYTES = 8 << 20;
    /** The tag of a region that is a slab; no domain has it. */
    static final long TAG = -1;
    /** Slabs of a link; a key below 256 names no other region. */
    static final int MOST_SLABS = 255;
    static final int PAGE_SHIFT = 12;
    /** Bytes that describe a slice; few, so that the descriptions of many slices lie in few pages. */
    private static final int LINE_BYTES = 32;
    private static final int USERS_BYTES = 8;
    static final int KEY = 8;
    static final int ACCESS = 12;
    static final int LENGTH = 16;
    static final int TAG_OFFSET = 24;

    private static final int FIRST_PAGES = 512;
    private static final int MOST_PAGES = 1 << 14;
    /** Most free pages that keep their content until they are used again; others are given to the kernel. */
    private static final int MOST_DIRTY = 512;
    /** Pages of a slice; a larger one is always given to the kernel. */
    private static final int MOST_KEPT = 16;

    /** Null if no other process sees any of it. */
    private final Link link;
    /** Guarded by this, as are all fields below. */
    private final List<Slab> slabs = new ArrayList<>();
    private long lastSerial;
    /** Free pages that are not zero. */
    private int dirtyPages;
    private boolean closed;

    /** One region, and what is taken of it; guarded by the slabs. */
    static final class Slab {
        private final Slabs owner;
        private final SharedRegion region;
        /** The key, which no other slab of the link has. */
        private final int key;
        /** Whether the peer could not take it, so that nothing more is cut from it. */
        private boolean lost;
        /** The whole slab. */
        private final ByteBuffer buffer;
        private final int pages;
        private final BitSet used;
        /** Free pages that may not be zero. */
        private final BitSet dirty;
        private int free;
        /** Slices that are closed while the peer accesses them. */
        private final List<Slice> busy = new ArrayList<>();

        private Slab(Slabs owner, SharedRegion region, int key, int pages) {
            this.owner = owner;
            this.region = region;
            this.key = key;
            buffer = region.asBuffer();
            this.pages = pages;
            used = new BitSet(pages);
            dirty = new BitSet(pages);
            free = pages;
        }

        /** The first of enough free pages, or -1. */
        private int find(int wanted) {
            int from = free < wanted ? pages : used.nextClearBit(0);
            while (from + wanted <= pages) {
                int next = used.nextSetBit(from);
                if (next < 0 || next - from >= wanted) {
                    return from;
                }
                from = used.nextClearBit(next);
            }
            return -1;
        }
    }

    /** Memory of this process, cut from a slab. Each connection has one of these, so it is small. */
    public static final class Slice implements OwnMemory {
        final Slab slab;
        /** The first page, its complement once this is closed; guarded by the slabs. */
        private int page;
        private final long serial;
        private final MemorySegment segment;

        /** Pages that are taken: as many as the segment touches. */
        private Slice(Slab slab, int page, long serial, MemorySegment segment) {
            this.slab = slab;
            this.page = page;
            this.serial = serial;
            this.segment = segment;
        }

        private int page() {
            return page < 0 ? ~page : page;
        }

        private int pages() {
            return pagesOf(segment.byteSize());
        }

        @Override
        public MemorySegment segment() {
            return segment;
        }

        /**
         * Lets the peer in: from now on it finds this by a key, and gets 64 bits with it, see {@link PeerMemory#tag}.
         */
        public void publish(int key, Set<AccessFlag> access, long tag) {
            ByteBuffer buffer = slab.buffer;
            int line = line(page());
            INT.set(buffer, line + KEY, key);
            INT.set(buffer, line + ACCESS, (int) PeerRegion.bits(access));
            LONG.set(buffer, line + LENGTH, segment.byteSize());
            LONG.set(buffer, line + TAG_OFFSET, tag);
            begin(buffer, page(), true);
            // Pairs with the acquire in PeerSlice.find.
            LONG.setRelease(buffer, line, serial);
        }

        @Override
        public void close() {
            slab.owner.free(this);
        }
    }

    /** No slabs yet, for the peer of a link; null for memory that no peer sees. */
    public Slabs(Link link) {
        this.link = link;
    }

    /** The size of a region with so many pages. */
    static long totalBytes(int pages) {
        return data(pages, pages);
    }

    /** How many pages a slab of this size has; 0 if no slab has this size. */
    static int pages(long totalBytes) {
        for (int pages = FIRST_PAGES; pages <= MOST_PAGES; pages *= 2) {
            if (totalBytes(pages) == totalBytes) {
                return pages;
            }
        }
        return 0;
    }

    /** How many pages so many bytes of a slice take. */
    static int pagesOf(long bytes) {
        return Math.toIntExact(bytes + (1 << PAGE_SHIFT) - 1 >>> PAGE_SHIFT);
    }

    /** Where the owner describes the slice that begins at a page. */
    static int line(int page) {
        return 4096 + page * LINE_BYTES;
    }

    /** Where the peer counts its accesses. */
    static int users(int pages, int page) {
        return line(pages) + page * USERS_BYTES;
    }

    /** Where a page is. */
    static long data(int pages, int page) {
        return users(pages, pages) + ((long) page << PAGE_SHIFT);
    }

    /**
     * Takes at most {@link #MOST_SLICE_BYTES} of zeroed memory, which the peer is not let into yet; throws
     * {@code ECONNRESET} if the link is dead, {@code ENOMEM} and the like if there is no more.
     */
    public Slice allocate(long bytes) throws VerbsException {
        if (bytes < 1 || bytes > MOST_SLICE_BYTES) {
            throw new IllegalArgumentException("no slice has " + bytes + " bytes");
        }
        int wanted = pagesOf(bytes);
        Slice slice;
        synchronized (this) {
            slice = cut(wanted, bytes);
        }
        try {
            clean(slice);
            return slice;
        } catch (Throwable e) {
            free(slice);
            throw e;
        }
    }

    private void clean(Slice slice) {
        boolean zeroed;
        synchronized (this) {
            BitSet dirty = slice.slab.dirty;
            int before = dirtyPages;
            for (int page = slice.page(); page < slice.page() + slice.pages(); page++) {
                if (dirty.get(page)) {
                    dirty.clear(page);
                    dirtyPages--;
                }
            }
            zeroed = dirtyPages == before;
        }
        if (!zeroed) {
            slice.segment().fill((byte) 0);
        }
    }

    private Slice cut(int wanted, long bytes) throws VerbsException {
        if (closed) {
            throw new VerbsException("allocate", Errno.ECONNRESET, "the link is dead");
        }
        for (Slab slab : slabs) {
            sweep(slab);
            int page = slab.lost ? -1 : slab.find(wanted);
            if (page >= 0) {
                return take(slab, page, wanted, bytes);
            }
        }
        return take(add(wanted), 0, wanted, bytes);
    }

    private Slice take(Slab slab, int page, int wanted, long bytes) {
        Slice slice = new Slice(slab, page, ++lastSerial, slab.region.segment().asSlice(data(slab.pages, page), bytes));
        slab.used.set(page, page + wanted);
        slab.free -= wanted;
        return slice;
    }

    /** A slab with room for so many pages, each twice as large as the one before. */
    private Slab add(int wanted) throws VerbsException {
        if (slabs.size() >= MOST_SLABS) {
            throw new VerbsException("allocate", Errno.ENOSPC.number(), "slabs=" + slabs.size(),
                    "two processes share as much memory as they can: use fewer connections or smaller buffers");
        }
        int pages = FIRST_PAGES << Math.min(slabs.size(), Integer.numberOfTrailingZeros(MOST_PAGES / FIRST_PAGES));
        while (pages < 2 * wanted) {
            pages *= 2;
        }
        int key = freeKey();
        SharedRegion region = SharedRegion.allocate(totalBytes(pages));
        boolean added = false;
        try {
            slabs.add(new Slab(this, region, key, pages));
            added = true;
            if (link != null) {
                link.announce(region, key, Set.of(), TAG);
            }
            return slabs.getLast();
        } catch (VerbsException | RuntimeException | Error e) {
            if (added) {
                slabs.removeLast();
            }
            region.close();
            throw e;
        }
    }

    private int freeKey() {
        int key = 1;
        while (withKey(key) != null) {
            key++;
        }
        return key;
    }

    private Slab withKey(int key) {
        for (Slab slab : slabs) {
            if (slab.key == key) {
                return slab;
            }
        }
        return null;
    }

    /** The peer could not take a slab, perhaps for lack of descriptors: connections fail, later ones get another. */
    synchronized void lost(int key) {
        Slab slab = withKey(key);
        if (slab != null) {
            slab.lost = true;
            closeIfUnused(slab);
        }
    }

    private static void begin(ByteBuffer buffer, int page, boolean begins) {
        long bit = 1L << page;
        int word = (page >>> 6) * Long.BYTES;
        if (begins) {
            LONG.getAndBitwiseOr(buffer, word, bit);
        } else {
            LONG.getAndBitwiseAnd(buffer, word, ~bit);
        }
    }

    /** Keeps the peer out of a slice, and takes it back as soon as the peer has left it. Idempotent. */
    private synchronized void free(Slice slice) {
        if (slice.page < 0) {
            return;
        }
        slice.page = ~slice.page;
        Slab slab = slice.slab;
        try {
            begin(slab.buffer, slice.page(), false);
            LONG.setVolatile(slab.buffer, line(slice.page()), 0L);
            // Between our serial number and the peer's count; PeerSlice.tryEnter has one between the peer's and ours.
            VarHandle.fullFence();
            slab.busy.add(slice);
        } finally {
            sweep(slab);
            closeIfUnused(slab);
        }
    }

    /** Takes back what the peer has left; of a dead link, everything. */
    private void sweep(Slab slab) {
        for (int i = slab.busy.size() - 1; i >= 0; i--) {
            Slice slice = slab.busy.get(i);
            if (closed || (int) INT.getVolatile(slab.buffer, users(slab.pages, slice.page())) == 0) {
                slab.busy.remove(i);
                takeBack(slab, slice);
            }
        }
    }

    private void takeBack(Slab slab, Slice slice) {
        int page = slice.page();
        int end = page + slice.pages();
        slab.used.clear(page, end);
        slab.free += slice.pages();
        if (closed) {
            return;
        }
        boolean discarded = false;
        try {
            if (slice.pages() > MOST_KEPT || dirtyPages + slice.pages() > MOST_DIRTY) {
                discarded = slab.region.discard(data(slab.pages, page), (long) slice.pages() << PAGE_SHIFT);
            }
        } finally {
            if (!discarded) {
                slab.dirty.set(page, end);
                dirtyPages += slice.pages();
            }
        }
    }

    /** Closes a slab from which nothing more is cut, with its last slice. */
    private void closeIfUnused(Slab slab) {
        if (slab.free < slab.pages || !closed && !slab.lost) {
            return;
        }
        slab.region.close();
        if (!closed) {
            slabs.remove(slab);
            dirtyPages -= slab.dirty.cardinality();
        }
    }

    /** The link is dead: gives no more, and each slab back with its last slice, even if that of another throws. */
    synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        Error failure = null;
        for (int i = 0; i < slabs.size(); i++) {
            try {
                sweep(slabs.get(i));
                closeIfUnused(slabs.get(i));
            } catch (Error e) {
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
