package org.rdmasockets.internal.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.util.Set;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.VerbsException;

/** Memory of the peer that it announced, mapped here. Any thread may use it. */
public final class PeerRegion extends RegionMemory implements PeerMemory {
    /** The bits of what matters to a peer: LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC. */
    private static final int KNOWN = 15;

    /** Most regions, and most bytes, of all peers of this process: a quarter of what the kernel allows of each. */
    static final int MOST_OF_PROCESS = 1 << 14;
    static final long MOST_BYTES_OF_PROCESS = 1L << 45;

    /** Regions of all peers that are mapped, and their sizes in bytes; guarded by the class. */
    private static int allOpen;
    private static long allBytes;

    private final int remoteKey;
    private final long address;
    /** As {@link #bits}; unknown ones mean nothing and are left out. */
    private final byte access;
    private final long tag;
    /** All of it; null until it is needed. Volatile, as a buffer's byte order is not final. */
    private volatile ByteBuffer buffer;
    private volatile LongBuffer words;

    /**
     * Maps a region by an announcement with a descriptor, which stays the caller's. The caller has reserved room for
     * the region; the region's end releases it.
     */
    PeerRegion(PacketBuffer announced) throws VerbsException {
        super(announced.descriptor(), LinkPacket.second(announced), false);
        remoteKey = LinkPacket.number(announced);
        address = LinkPacket.first(announced);
        access = access(announced);
        tag = LinkPacket.fourth(announced);
    }

    /** A region that is known, but that this process has no room to map. */
    PeerRegion(PacketBuffer announced, long lengthBytes) {
        super(lengthBytes);
        remoteKey = LinkPacket.number(announced);
        address = LinkPacket.first(announced);
        access = access(announced);
        tag = LinkPacket.fourth(announced);
    }

    /** Reserves room to map a region, out of that for all peers of this process; false if there is none. */
    static synchronized boolean reserve(long lengthBytes) {
        if (allOpen >= MOST_OF_PROCESS || lengthBytes > MOST_BYTES_OF_PROCESS - allBytes) {
            return false;
        }
        allOpen++;
        allBytes += lengthBytes;
        return true;
    }

    /** Gives back the room of a region that is no longer mapped. */
    static synchronized void release(long lengthBytes) {
        allOpen--;
        allBytes -= lengthBytes;
    }

    private static byte access(PacketBuffer announced) {
        return (byte) (LinkPacket.third(announced) & KNOWN);
    }

    /** Flags as bits of a packet. */
    static long bits(Set<AccessFlag> flags) {
        long bits = 0;
        for (AccessFlag flag : flags) {
            bits |= 1L << flag.ordinal();
        }
        return bits;
    }

    @Override
    public int remoteKey() {
        return remoteKey;
    }

    /** Where it begins in the peer's process, by the peer's word: requests name it so. */
    @Override
    public long address() {
        return address;
    }

    @Override
    public boolean allows(long first, long bytes, AccessFlag needed) {
        long offset = first - address;
        return (access >>> needed.ordinal() & 1) != 0 && offset >= 0 && bytes >= 0 && offset <= lengthBytes() - bytes;
    }

    /** How long it is: checked, and mapped. */
    public long lengthBytes() {
        return memory().byteSize();
    }

    @Override
    public long tag() {
        return tag;
    }

    /** The mapping, always writable memory; only between {@link #tryEnter} and {@link #leave}. */
    @Override
    public MemorySegment segment() {
        return memory();
    }

    /** A region that is a slab, and so less than 2 GiB. */
    ByteBuffer buffer() {
        ByteBuffer made = buffer;
        if (made == null) {
            made = asBuffer();
            buffer = made;
        }
        return made;
    }

    /** The same, for plain accesses. */
    LongBuffer words() {
        LongBuffer made = words;
        if (made == null) {
            made = buffer().asLongBuffer();
            words = made;
        }
        return made;
    }

    /**
     * Begins an access: as long as it lasts, the memory stays mapped. False if the peer closed the region, the link is
     * dead, or this process had no room to map the region; then {@link #leave} must not be called.
     */
    @Override
    public boolean tryEnter() {
        if (!enter()) {
            return false;
        }
        if ((long) SegmentLayout.LONG.getAcquire(behind, 0) == VALID) {
            return true;
        }
        leave();
        return false;
    }

    @Override
    protected void free() {
        super.free();
        if (memory().address() != 0) {
            release(lengthBytes());
        }
    }
}
