package org.rdmasockets.internal.sharedmemory.link;

import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.INT;
import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import org.rdmasockets.verbs.AccessFlag;

/** Memory of the peer in one of its {@link Slabs}. Its user keeps the link mapped, by an open slot. */
public final class PeerSlice implements PeerMemory {
    /** All of the slab. */
    private final MemorySegment memory;
    /** The same, for plain copies and accesses too: the interpreter is quicker with it. */
    private final ByteBuffer buffer;
    private final LongBuffer words;
    /** Offsets in the slab, which has less than 2 GiB: of this slice, and of its description. */
    private final int offset;
    private final int line;
    private final int users;
    private final int lengthBytes;
    private final int key;
    private final int access;
    private final long serial;
    private final long address;
    private final long tag;
    /** Null until it is needed. */
    private MemorySegment segment;

    private PeerSlice(PeerRegion slab, int pages, int page, long serial, int key) {
        buffer = slab.buffer();
        words = slab.words();
        memory = slab.segment();
        this.serial = serial;
        this.key = key;
        line = Slabs.line(page);
        users = Slabs.users(pages, page);
        access = (int) INT.get(buffer, line + Slabs.ACCESS);
        tag = (long) LONG.get(buffer, line + Slabs.TAG_OFFSET);
        offset = (int) Slabs.data(pages, page);
        long length = (long) LONG.get(buffer, line + Slabs.LENGTH);
        lengthBytes = (int) Math.clamp(length, 0, memory.byteSize() - offset);
        address = slab.address() + offset;
    }

    /**
     * Finds the slice of a peer's slab, with so many pages, in which an address of the peer is; null if there is none
     * of that key. The link's memory is entered.
     */
    static PeerSlice find(PeerRegion slab, int pages, int key, long wanted) {
        long offset = wanted - slab.address() - Slabs.data(pages, 0);
        if (offset < 0 || offset >= (long) pages << Slabs.PAGE_SHIFT) {
            return null;
        }
        ByteBuffer buffer = slab.buffer();
        int page = begin(buffer, (int) (offset >>> Slabs.PAGE_SHIFT));
        if (page < 0) {
            return null;
        }
        int line = Slabs.line(page);
        long serial = (long) LONG.getAcquire(buffer, line);
        if (serial == 0 || (int) INT.get(buffer, line + Slabs.KEY) != key) {
            return null;
        }
        PeerSlice found = new PeerSlice(slab, pages, page, serial, key);
        VarHandle.acquireFence();
        return (long) LONG.getAcquire(buffer, line) == serial ? found : null;
    }

    /** The first page of the slice that may contain a page, or -1. */
    private static int begin(ByteBuffer buffer, int page) {
        long bits = (long) LONG.getAcquire(buffer, (page >>> 6) * Long.BYTES) & -1L >>> 63 - (page & 63);
        for (int word = page >>> 6;; bits = (long) LONG.getAcquire(buffer, word * Long.BYTES)) {
            if (bits != 0) {
                return word * Long.SIZE + 63 - Long.numberOfLeadingZeros(bits);
            }
            if (--word < 0) {
                return -1;
            }
        }
    }

    @Override
    public int remoteKey() {
        return key;
    }

    @Override
    public long tag() {
        return tag;
    }

    @Override
    public boolean allows(long first, long length, AccessFlag needed) {
        long begin = first - address;
        return (access >>> needed.ordinal() & 1) != 0 && begin >= 0 && length >= 0 && begin <= lengthBytes - length;
    }

    @Override
    public boolean tryEnter() {
        INT.getAndAdd(buffer, users, 1);
        if ((long) LONG.getVolatile(buffer, line) == serial) {
            return true;
        }
        leave();
        return false;
    }

    /** Whether it is open, for a thread that has entered it. */
    public boolean isOpen() {
        boolean open = words.get(line >> SegmentLayout.WORD_SHIFT) == serial;
        VarHandle.acquireFence();
        return open;
    }

    @Override
    public void leave() {
        INT.getAndAdd(buffer, users, -1);
    }

    @Override
    public MemorySegment segment() {
        MemorySegment made = segment;
        if (made == null) {
            made = memory.asSlice(offset, lengthBytes);
            segment = made;
        }
        return made;
    }

    @Override
    public void put(long to, byte[] source, int from, int length) {
        buffer.put(offset + (int) (to - address), source, from, length);
    }

    @Override
    public long address() {
        return address;
    }
}
