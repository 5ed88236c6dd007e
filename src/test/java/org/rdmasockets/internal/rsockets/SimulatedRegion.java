package org.rdmasockets.internal.rsockets;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.MemoryRegion;

/** Registered memory without a device. Each has keys of its own, so that a wrong key is noticed. */
final class SimulatedRegion implements MemoryRegion {
    private static final int PAGE = 4096;
    private static int nextKey = 0x4711;

    private final MemorySegment segment;
    private final Set<AccessFlag> access;
    private final int localKey = nextKey++;
    private final int remoteKey = nextKey++ << 8;
    private boolean closed;

    SimulatedRegion(Arena arena, long bytes, AccessFlag... access) {
        this.segment = arena.allocate(bytes, PAGE);
        this.access = Set.of(access);
    }

    static SimulatedRegion local(Arena arena, long bytes) {
        return new SimulatedRegion(arena, bytes, AccessFlag.LOCAL_WRITE);
    }

    static SimulatedRegion remote(Arena arena, long bytes) {
        return new SimulatedRegion(arena, bytes, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    static SimulatedRegion readable(Arena arena, long bytes) {
        return new SimulatedRegion(arena, bytes, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_READ);
    }

    /** The piece at an address, or an IndexOutOfBoundsException. */
    MemorySegment at(long address, long bytes) {
        if (closed) {
            throw new AssertionError("a region is used that was closed");
        }
        Objects.checkFromIndexSize(address - segment.address(), bytes, segment.byteSize());
        return segment.asSlice(address - segment.address(), bytes);
    }

    boolean covers(long address, long bytes) {
        long offset = address - segment.address();
        return offset >= 0 && offset + bytes <= segment.byteSize();
    }

    @Override
    public MemorySegment segment() {
        return segment;
    }

    @Override
    public long address() {
        return segment.address();
    }

    @Override
    public long lengthBytes() {
        return segment.byteSize();
    }

    @Override
    public int localKey() {
        return localKey;
    }

    @Override
    public int remoteKey() {
        return remoteKey;
    }

    @Override
    public Set<AccessFlag> access() {
        return access;
    }

    @Override
    public void close() {
        closed = true;
        segment.fill((byte) '?'); // it is another's now
    }
}
