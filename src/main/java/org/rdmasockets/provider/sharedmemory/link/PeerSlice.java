package org.rdmasockets.provider.sharedmemory.link;

import static org.rdmasockets.provider.sharedmemory.link.SegmentLayout.INT;
import static org.rdmasockets.provider.sharedmemory.link.SegmentLayout.LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import org.rdmasockets.verbs.AccessFlag;

/** Memory of the peer in one of its {@link Slabs}. Its user keeps the link mapped, by an open slot. */
public final class PeerSlice implements PeerMemory {
    /** All of the slab. */
    private final MemorySegment memory;
    private final LongBuffer words;
    private final MemorySegment segment;
    /** The same, for plain copies, which take the interpreter less. */
    private final ByteBuffer content;
    private final long line;
    private final long users;
    private final long serial;
    private final int key;
    private final int access;
    private final long address;
    private final long tag;

    private PeerSlice(PeerRegion slab, int pages, int page, long serial, int key) {
        memory = slab.segment();
        words = slab.words();
        this.serial = serial;
        this.key = key;
        line = Slabs.line(pages, page);
        users = Slabs.users(pages, page);
        access = (int) INT.get(memory, line + Slabs.ACCESS);
        tag = (long) LONG.get(memory, line + Slabs.TAG_OFFSET);
        long offset = Slabs.data(pages, page);
        long length = (long) LONG.get(memory, line + Slabs.LENGTH);
        address = slab.address() + offset;
        segment = memory.asSlice(offset, length < 0 ? 0 : Math.min(length, memory.byteSize() - offset));
        content = segment.asByteBuffer();
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
        MemorySegment memory = slab.segment();
        int page = begin(memory, (int) (offset >>> Slabs.PAGE_SHIFT));
        if (page < 0) {
            return null;
        }
        long line = Slabs.line(pages, page);
        long serial = (long) LONG.getAcquire(memory, line);
        if (serial == 0 || (int) INT.get(memory, line + Slabs.KEY) != key) {
            return null;
        }
        PeerSlice found = new PeerSlice(slab, pages, page, serial, key);
        VarHandle.acquireFence();
        return (long) LONG.getAcquire(memory, line) == serial ? found : null;
    }

    /** The page where the slice begins that a page may be of, or -1. */
    private static int begin(MemorySegment memory, int page) {
        long bits = (long) LONG.getAcquire(memory, (long) (page >>> 6) * Long.BYTES) & -1L >>> 63 - (page & 63);
        for (int word = page >>> 6;; bits = (long) LONG.getAcquire(memory, (long) word * Long.BYTES)) {
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
    public boolean allows(long first, long bytes, AccessFlag needed) {
        long offset = first - address;
        return (access >>> needed.ordinal() & 1) != 0 && offset >= 0 && bytes >= 0
                && offset <= segment.byteSize() - bytes;
    }

    @Override
    public boolean tryEnter() {
        INT.getAndAdd(memory, users, 1);
        if ((long) LONG.getVolatile(memory, line) == serial) {
            return true;
        }
        leave();
        return false;
    }

    /** Whether it is not closed, for who has entered it before. */
    public boolean isOpen() {
        boolean open = words.get((int) (line >> SegmentLayout.WORD_SHIFT)) == serial;
        VarHandle.acquireFence();
        return open;
    }

    @Override
    public void leave() {
        INT.getAndAdd(memory, users, -1);
    }

    @Override
    public MemorySegment segment() {
        return segment;
    }

    @Override
    public void put(long offset, byte[] bytes, int from, int length) {
        content.put((int) offset, bytes, from, length);
    }

    @Override
    public long address() {
        return address;
    }
}
