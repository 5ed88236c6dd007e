package org.rdmasockets.internal.rsockets;

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

    /** The connection's own, where the small chunks are. */
    final MemoryRegion region;
    /** How long a small chunk is. */
    private final int least;
    final int largeBytes;
    /** See {@link StreamMemory#takeChange}. */
    boolean changed;
    /** The chunks that are not lent, linked by {@link Chunk#next}; the first of its size is taken first. */
    private Chunk idle;
    /** Large chunks are lent if there are any. */
    private boolean large;
    /** Grows with each change of size; larger chunks are kept when they come back if they are of this generation. */
    private int generation = 1;
    /** No larger chunk is asked for: the owner could not make one. */
    private boolean refused;
    /** The owner is to make large chunks. */
    private boolean wanting;
    /** Regions for the owner to close; null if there were none yet. */
    private List<MemoryRegion> retired;

    /** Two small chunks in the connection's remotely writable region. */
    ChunkStock(MemoryRegion region, StreamSettings settings) {
        this.region = region;
        least = settings.firstChunkBytes();
        largeBytes = settings.receiveBufferBytes() / 2;
        // In the order in which they are taken: the last comes first.
        int ring = Math.toIntExact(RegionLayout.of(settings).ringOffset());
        for (int i = PERMANENT - 1; i >= 0; i--) {
            put(new Chunk(region, Math.addExact(ring, i * least), 0));
        }
    }

    /** How long a chunk is. */
    int bytes(Chunk chunk) {
        return chunk.isPermanent() ? least : largeBytes;
    }

    /** Takes a chunk, a large one if there is one; there is one as long as fewer than two others are out. */
    Chunk take() {
        Chunk one = find(false);
        return take(one != null ? one : find(true));
    }

    /** Takes a small chunk; gives one of the permanent chunks. */
    Chunk takePermanent() {
        return take(find(true));
    }

    private Chunk take(Chunk chunk) {
        if (idle == chunk) {
            idle = chunk.next;
        } else {
            Chunk before = idle;
            while (before.next != chunk) {
                before = before.next;
            }
            before.next = chunk.next;
        }
        chunk.next = null;
        return chunk;
    }

    private void put(Chunk chunk) {
        chunk.next = idle;
        idle = chunk;
    }

    /** Takes back a chunk of {@link #take} or {@link #takePermanent} that is used up. */
    void takeBack(Chunk chunk) {
        if (chunk.isPermanent() || chunk.generation == generation) {
            put(chunk);
        } else {
            retire(chunk.region);
        }
    }

    /** Asks for large chunks, unless they are there, on their way, or not to be had. */
    void wantMore() {
        if (!wanting && canGrow()) {
            wanting = true;
            changed = true;
        }
    }

    /** The size of each of the two regions that the owner is to make; 0 for none. */
    int wanted() {
        return wanting ? largeBytes : 0;
    }

    /** Takes one of the two zeroed regions that were asked for; one that is not wanted any more is given back. */
    void supply(MemoryRegion region, int bytes, boolean last) {
        changed = true;
        if (bytes != wanted()) {
            retire(region);
            return;
        }
        if (!large) {
            resize(true);
        }
        put(new Chunk(region, 0, generation));
        if (last) {
            wanting = false;
        }
    }

    /** Asks no more until the next {@link #shrink}: the owner could not make what was asked for. */
    void refuse() {
        changed = true;
        wanting = false;
        refused = true;
    }

    /** Lends small chunks from now on, and gives back larger ones as they come. */
    void shrink() {
        refused = false;
        wanting = false;
        resize(false);
    }

    private void resize(boolean toLarge) {
        changed = true;
        large = toLarge;
        generation++;
        for (Chunk old = find(false); old != null; old = find(false)) {
            takeBack(take(old));
        }
    }

    private void retire(MemoryRegion region) {
        changed = true;
        if (retired == null) {
            retired = new ArrayList<>(MOST_RETIRED);
        }
        retired.add(region);
    }

    /** Takes the regions that the owner is to close, perhaps none: neither this end nor the peer uses them. */
    List<MemoryRegion> takeRetired() {
        List<MemoryRegion> result = retired == null ? List.of() : retired;
        retired = null;
        return result;
    }

    /** Tells whether a large chunk is here: true if {@link #take} will give one. */
    boolean hasLarge() {
        return idle != null && find(false) != null;
    }

    /** Tells whether a small chunk is here: true if {@link #takePermanent} may be called. */
    boolean hasPermanent() {
        return find(true) != null;
    }

    private Chunk find(boolean permanent) {
        Chunk chunk = idle;
        while (chunk != null && chunk.isPermanent() != permanent) {
            chunk = chunk.next;
        }
        return chunk;
    }

    /** Whether large chunks could be asked for: not if they are here or lent, or could not be had. */
    boolean canGrow() {
        return !refused && !large && least < largeBytes;
    }

    /** How much the peer must be able to write, or else large chunks are wanted: bytes, half of a small chunk. */
    int lowWater() {
        return (least + 1) / 2;
    }

    /** Tells whether the owner has something to make or to close. */
    boolean isDue() {
        return wanting || retired != null;
    }
}
