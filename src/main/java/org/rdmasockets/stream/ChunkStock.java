package org.rdmasockets.stream;

import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * The memory for chunks that is not lent now. Two small chunks lie in the connection's own region and are there for
 * ever. Two large ones, each a region of its own, are asked for when bytes are about to hold the peer up, come when the
 * owner has made them, and are given back to it after a pause. There is no size between: a region costs about half a
 * millisecond, and steps would cost that again and again.
 */
final class ChunkStock {
    private static final int PERMANENT = 2;
    /** How many regions may have to be closed at a time. */
    private static final int MOST_RETIRED = 2;

    private final int least;
    private final int most;
    /** What is not lent, each leads to the next; the first is taken first. */
    private Chunk idle;
    /** Size of the chunks that are lent if there are any. */
    private int size;
    /** Grows with each change of size; larger chunks are kept when they come back if they are of this generation. */
    private int generation = 1;
    /** No larger chunk is asked for: the owner could not make one. */
    private boolean refused;
    /** The owner is to make large chunks. */
    private boolean wanting;
    /** Regions for the owner to close; null if there were none yet. */
    private List<MemoryRegion> retired;

    /**
     * Two small chunks.
     *
     * @param region the connection's remotely writable region
     * @param settings the sizes
     */
    ChunkStock(MemoryRegion region, StreamSettings settings) {
        least = settings.firstChunkBytes();
        most = settings.receiveBufferBytes() / 2;
        size = least;
        // In the order in which they are taken: the last comes first.
        long ring = RegionLayout.of(settings).ringOffset();
        for (int i = PERMANENT - 1; i >= 0; i--) {
            put(new Chunk(region, ring + (long) i * least, least, 0));
        }
    }

    /**
     * Takes a chunk, a large one if there is one.
     *
     * @return a chunk; there is one as long as fewer than two others are out
     */
    Chunk take() {
        Chunk large = find(false);
        return take(large != null ? large : find(true));
    }

    /**
     * Takes a small chunk.
     *
     * @return one of the permanent chunks
     */
    Chunk takePermanent() {
        return take(find(true));
    }

    private Chunk take(Chunk chunk) {
        if (idle == chunk) {
            idle = chunk.next();
        } else {
            Chunk before = idle;
            while (before.next() != chunk) {
                before = before.next();
            }
            before.next(chunk.next());
        }
        chunk.next(null);
        return chunk;
    }

    private void put(Chunk chunk) {
        chunk.next(idle);
        idle = chunk;
    }

    /**
     * Takes back a chunk that is used up.
     *
     * @param chunk from {@link #take} or {@link #takePermanent}
     */
    void takeBack(Chunk chunk) {
        if (chunk.isPermanent() || chunk.generation() == generation) {
            put(chunk);
        } else {
            retire(chunk.region());
        }
    }

    /** Asks for large chunks, unless they are there, on their way, or not to be had. */
    void wantMore() {
        wanting |= canGrow();
    }

    /**
     * What the owner is to make.
     *
     * @return size of each of two regions, or 0
     */
    int wanted() {
        return wanting ? most : 0;
    }

    /**
     * Takes one of the regions that were asked for; if nothing is asked for any more, it is given back at once.
     *
     * @param region zeroed, of at least the size that was asked for
     * @param bytes the size that was asked for
     * @param last true for the second one
     */
    void supply(MemoryRegion region, int bytes, boolean last) {
        if (bytes != wanted()) {
            retire(region);
            return;
        }
        if (size != bytes) {
            resize(bytes);
        }
        put(new Chunk(region, 0, bytes, generation));
        if (last) {
            wanting = false;
        }
    }

    /** Asks no more until the next {@link #shrink}: the owner could not make what was asked for. */
    void refuse() {
        wanting = false;
        refused = true;
    }

    /** Lends small chunks from now on, and gives back larger ones as they come. */
    void shrink() {
        refused = false;
        wanting = false;
        resize(least);
    }

    private void resize(int bytes) {
        size = bytes;
        generation++;
        for (Chunk large = find(false); large != null; large = find(false)) {
            takeBack(take(large));
        }
    }

    private void retire(MemoryRegion region) {
        if (retired == null) {
            retired = new ArrayList<>(MOST_RETIRED);
        }
        retired.add(region);
    }

    /**
     * What the owner is to close.
     *
     * @return regions that neither this end nor the peer uses, perhaps none
     */
    List<MemoryRegion> takeRetired() {
        List<MemoryRegion> result = retired == null ? List.of() : retired;
        retired = null;
        return result;
    }

    /**
     * Tells whether a large chunk is here.
     *
     * @return true if {@link #take} will give one
     */
    boolean hasLarge() {
        return find(false) != null;
    }

    /**
     * Tells whether a small chunk is here.
     *
     * @return true if {@link #takePermanent} may be called
     */
    boolean hasPermanent() {
        return find(true) != null;
    }

    private Chunk find(boolean permanent) {
        Chunk chunk = idle;
        while (chunk != null && chunk.isPermanent() != permanent) {
            chunk = chunk.next();
        }
        return chunk;
    }

    /**
     * Tells whether large chunks could be asked for, with success as far as we know.
     *
     * @return false if they are here or lent, or could not be had
     */
    boolean canGrow() {
        return !refused && size < most;
    }

    /**
     * How much the peer must at least be able to write, or else large chunks are wanted.
     *
     * @return bytes, half of a small chunk
     */
    int lowWater() {
        return (least + 1) / 2;
    }

    /**
     * Tells whether the owner has something to make or to close.
     *
     * @return true if so
     */
    boolean isDue() {
        return wanting || retired != null;
    }
}
