package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.rdmasockets.internal.ffi.PageSize;

/**
 * Page-aligned native memory to be registered, cut from slabs and used again. Slabs belong to the process and are never
 * freed: closing a shared arena stops every thread for up to milliseconds, and a block must outlive anything that a
 * device might still do with it. A large block is on its own, and freed when it is out of reach: applications map
 * memory of any size, and a block that one gives back may fit no other. A block may be given back only after its memory
 * region is deregistered; until then the region holds it.
 */
final class MemoryBlocks {
    private static final long SLAB_BYTES = 4 << 20;
    /** The largest block that is cut from a slab. */
    private static final long MOST_CUT_BYTES = SLAB_BYTES / 4;

    /** Blocks ready for use, by size; protected by this. */
    private final Map<Long, ArrayDeque<MemorySegment>> free = new HashMap<>();
    /** The rest of the newest slab; protected by this. */
    private MemorySegment rest = MemorySegment.NULL;

    /** Takes a block of at least so many bytes, zeroed, rounded up to whole pages. */
    MemorySegment take(long wantedBytes) {
        long bytes = PageSize.roundUp(wantedBytes);
        return bytes > MOST_CUT_BYTES ? Arena.ofAuto().allocate(bytes, PageSize.BYTES)
                : reuseOrCut(bytes).fill((byte) 0);
    }

    private synchronized MemorySegment reuseOrCut(long bytes) {
        ArrayDeque<MemorySegment> sameSize = free.get(bytes);
        if (sameSize != null && !sameSize.isEmpty()) {
            return sameSize.pop();
        }
        if (rest.byteSize() < bytes) {
            if (rest.byteSize() > 0) {
                giveBack(rest); // so that no memory is lost
            }
            rest = Arena.global().allocate(SLAB_BYTES, PageSize.BYTES);
        }
        MemorySegment block = rest.asSlice(0, bytes);
        rest = rest.asSlice(bytes);
        return block;
    }

    /** Gives a block back. */
    synchronized void giveBack(MemorySegment block) {
        if (block.byteSize() <= MOST_CUT_BYTES) {
            free.computeIfAbsent(block.byteSize(), size -> new ArrayDeque<>()).push(block);
        }
    }
}
