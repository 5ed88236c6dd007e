package org.rdmasockets.endpoint;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * Registered memory in pieces whose sizes are powers of two, cut from larger registrations and used again, by the same
 * domain only. A piece is aligned to its size, up to a page. Any thread.
 */
final class BufferPool {
    /** The largest piece. */
    static final int MOST_BYTES = 4 << 20;
    /** Bytes of a slab, which is one registration for several smaller pieces. */
    static final int SLAB_BYTES = 256 << 10;

    private static final int LEAST_BYTES = 64;

    /** All registrations; guarded by this. */
    private final List<MemoryRegion> slabs = new ArrayList<>();
    /** Free pieces by size, and behind them the uncut rests of slabs as longer pieces; guarded by this. */
    private final Map<Integer, ArrayDeque<Piece>> free = new HashMap<>();

    /** A piece of a slab. */
    record Piece(MemoryRegion region, long offset, int bytes) {}

    /** The size of a piece for so many bytes, aligned as is wanted. */
    static int sizeFor(long bytes, long alignment) {
        long least = Math.max(LEAST_BYTES, Math.max(bytes, alignment));
        return (int) Math.max(LEAST_BYTES, Long.highestOneBit(2 * least - 1));
    }

    /** A free piece of a size, or null. */
    synchronized Piece take(int size) {
        ArrayDeque<Piece> pieces = free.get(size);
        Piece piece = pieces == null ? null : pieces.poll();
        return piece == null || piece.bytes == size ? piece : cut(piece, size);
    }

    /** Takes a new registration for pieces of a size and returns one of them; later calls cut the others. */
    synchronized Piece cut(MemoryRegion slab, int size) {
        slabs.add(slab);
        return cut(new Piece(slab, 0, (int) Math.min(slab.lengthBytes(), Integer.MAX_VALUE)), size);
    }

    private Piece cut(Piece uncut, int size) {
        int left = uncut.bytes - size;
        if (left >= size) {
            free.computeIfAbsent(size, bytes -> new ArrayDeque<>())
                    .add(new Piece(uncut.region, uncut.offset + size, left));
        }
        return new Piece(uncut.region, uncut.offset, size);
    }

    synchronized void giveBack(Piece piece) {
        free.computeIfAbsent(piece.bytes, bytes -> new ArrayDeque<>()).push(piece);
    }

    /** Deregisters everything; no piece is in use. May block. */
    void close() {
        List<MemoryRegion> all;
        synchronized (this) {
            all = List.copyOf(slabs);
            slabs.clear();
            free.clear();
        }
        all.forEach(MemoryRegion::close);
    }
}
