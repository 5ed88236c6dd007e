package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * A piece of memory that is lent to the peer, which fills it from beginning to end; it is read in the same order, and
 * is free again when both are done. So lent, arrived and read bytes are three positions in it.
 */
final class Chunk {
    final MemoryRegion region;
    /** The region's memory: a sender of this process writes to the region object each time, which a reader avoids. */
    private final MemorySegment memory;
    private final int offset;
    final int generation;
    /** End of what the peer may write. */
    private int lent;
    /** End of what has arrived. */
    private int arrived;
    /** End of what was read. */
    private int read;
    /** The next chunk in this one's list, idle or lent; null at its end. A chunk is in one list at most. */
    Chunk next;

    /**
     * A chunk that is not lent yet. Generation 0 stays for the life of the connection; a chunk of another generation,
     * made by a change of sizes, has its region to itself.
     */
    Chunk(MemoryRegion region, int offset, int generation) {
        this.region = region;
        this.memory = region.segment();
        this.offset = offset;
        this.generation = generation;
    }

    /** Where it begins, as the peer must name it. */
    long address() {
        return region.address() + offset;
    }

    /** Whether its memory stays for the life of the connection, so that its region is not closed before. */
    boolean isPermanent() {
        return generation == 0;
    }

    /** Lends so many bytes of it to the peer, at least 1 and at most {@link ChunkStock#bytes}. */
    void lend(int length) {
        lent = length;
        arrived = 0;
        read = 0;
    }

    /** How much of it the peer may fill in all. */
    int lent() {
        return lent;
    }

    /** The peer has promised to write no more into it. */
    void end() {
        lent = arrived;
    }

    /** How much the peer may still write. */
    int room() {
        return lent - arrived;
    }

    /** Counts bytes that have arrived, at most {@link #room()}. */
    void arrive(int count) {
        assert count <= room();
        arrived += count;
    }

    /** Copies out what is there. The only place that copies incoming data. */
    int read(byte[] target, int targetOffset, int most) {
        int count = Math.min(most, arrived - read);
        MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, offset + (long) read, target, targetOffset, count);
        read += count;
        return count;
    }

    /** How much has arrived and was not read. */
    int unread() {
        return arrived - read;
    }

    /** Where that begins in {@link #region}: bytes from the beginning of the region. */
    long unreadOffset() {
        return offset + (long) read;
    }

    /** Counts at most {@link #unread()} bytes as read without copying them. */
    void skip(int count) {
        assert count <= unread();
        read += count;
    }

    /** Whether its memory is free: all has arrived and was read. Until then, the peer may write. */
    boolean isUsedUp() {
        return read == lent;
    }

    @Override
    public String toString() {
        return read + "/" + arrived + "/" + lent + (isPermanent() ? "" : "+");
    }
}
