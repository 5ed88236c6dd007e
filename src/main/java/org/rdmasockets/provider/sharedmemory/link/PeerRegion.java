package org.rdmasockets.provider.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.rdmasockets.verbs.AccessFlag;

/** Memory of the peer that it announced, mapped here. Any thread may use it. */
public final class PeerRegion implements ReachableMemory {
    /** What matters to a peer. */
    private static final AccessFlag[] FLAGS = {AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ,
        AccessFlag.REMOTE_ATOMIC};
    /** Every set of flags by its bits: many regions have the same. */
    private static final List<Set<AccessFlag>> SETS = IntStream.range(0, 1 << FLAGS.length).mapToObj(PeerRegion::flags)
            .toList();

    /** Null if this process could not map it. */
    private final RegionMemory memory;
    private final int remoteKey;
    private final long address;
    private final long lengthBytes;
    /** As {@link #bits}; unknown ones mean nothing and are left out. */
    private final byte access;
    private final long tag;
    /** Whether the peer or the link is done with it; set once, guarded by the link's receive lock, read by anybody. */
    private volatile boolean closed;

    /** Takes over mapped memory; the key, the address, the flags and the tag are as the peer said. */
    PeerRegion(RegionMemory memory, int remoteKey, long address, long lengthBytes, long accessBits, long tag) {
        this.memory = memory;
        this.remoteKey = remoteKey;
        this.address = address;
        this.lengthBytes = lengthBytes;
        access = (byte) (accessBits & SETS.size() - 1);
        this.tag = tag;
    }

    /** Flags as bits of a packet. */
    static long bits(Set<AccessFlag> flags) {
        long bits = 0;
        for (AccessFlag flag : flags) {
            bits |= 1L << flag.ordinal();
        }
        return bits;
    }

    private static Set<AccessFlag> flags(int bits) {
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        for (AccessFlag flag : FLAGS) {
            if ((bits >>> flag.ordinal() & 1) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }

    /**
     * The key that names it.
     *
     * @return {@code rkey}, as the peer said
     */
    public int remoteKey() {
        return remoteKey;
    }

    /**
     * Where it begins in the peer's process, which is how requests name it.
     *
     * @return a virtual address of the peer, as it said
     */
    @Override
    public long address() {
        return address;
    }

    /**
     * Whether the peer allows an access; the numbers may be any.
     *
     * @param first the first address
     * @param bytes how many
     * @param needed what is to be done
     * @return true if all of it is inside, and the flag was announced
     */
    public boolean allows(long first, long bytes, AccessFlag needed) {
        long offset = first - address;
        return (access >>> needed.ordinal() & 1) != 0 && offset >= 0 && bytes >= 0 && offset <= lengthBytes - bytes;
    }

    /**
     * How long it is; that much is mapped, which was checked.
     *
     * @return length in bytes
     */
    public long lengthBytes() {
        return lengthBytes;
    }

    /**
     * What the peer allows.
     *
     * @return the flags it announced
     */
    public Set<AccessFlag> access() {
        return SETS.get(access);
    }

    /**
     * What the owner announced with it; means nothing to the link.
     *
     * @return 64 bits, as the peer said
     */
    public long tag() {
        return tag;
    }

    /**
     * The memory. Only between {@link #tryEnter} and {@link #leave}.
     *
     * @return the mapping, of {@link #lengthBytes()} bytes, always writable memory
     */
    @Override
    public MemorySegment segment() {
        return memory.memory();
    }

    /**
     * Begins an access: as long as it lasts, the memory stays mapped.
     *
     * @return false if the peer closed the region, the link is dead, or this process had no room to map the region;
     *         then {@link #leave} must not be called
     */
    public boolean tryEnter() {
        return memory != null && memory.enterIfValid();
    }

    @Override
    public void leave() {
        memory.leave();
    }

    /** Whether {@link #close} was called. */
    boolean isClosed() {
        return closed;
    }

    /** Refuses further accesses. */
    void close() {
        if (!closed) {
            closed = true;
            if (memory != null) {
                memory.close();
            }
        }
    }
}
