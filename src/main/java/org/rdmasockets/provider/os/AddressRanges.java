package org.rdmasockets.provider.os;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.rdmasockets.verbs.VerbsException;

/**
 * Ranges of addresses of this process that are never unmapped. A free range holds private memory that nobody reads: an
 * access that comes too late lands there and does no harm. Sizes are powers of two, so that ranges fit again.
 *
 * <p>A range whose mapping could not be changed is given up, not given back: what is there now is not known.
 */
final class AddressRanges {
    private static final long PAGE_BYTES = 4096;
    private static final int PRIVATE = Posix.MAP_PRIVATE | Posix.MAP_ANONYMOUS | Posix.MAP_NORESERVE;

    /** Addresses of free ranges by their size; guarded by the class. */
    private static final Map<Long, ArrayDeque<Long>> FREE = new HashMap<>();

    private AddressRanges() {
    }

    /** The size of the range that holds so many bytes. */
    private static long sizeFor(long bytes) {
        return Math.max(PAGE_BYTES, Long.highestOneBit(bytes - 1) << 1);
    }

    /**
     * Maps memory over a free range.
     *
     * @param descriptor a sealed memfd of at least as many bytes
     * @param bytes how much to map, a multiple of the page size
     * @return the address
     * @throws VerbsException if there are too many mappings
     */
    static long map(int descriptor, long bytes) throws VerbsException {
        long address = take(sizeFor(bytes));
        long mapped = Posix.MMAP.call(address, bytes, Posix.PROT_READ_WRITE, Posix.MAP_SHARED | Posix.MAP_FIXED,
                descriptor, 0L);
        if (mapped != address) {
            throw Posix.MMAP.failure(-mapped, "lengthBytes=" + bytes);
        }
        return address;
    }

    /**
     * Puts harmless private memory in place of what {@link #map} mapped, and takes the range back.
     *
     * @param address from {@link #map}
     * @param bytes as given there
     */
    static void unmap(long address, long bytes) {
        if (Posix.MMAP.call(address, bytes, Posix.PROT_READ_WRITE, PRIVATE | Posix.MAP_FIXED, -1, 0L) == address) {
            synchronized (AddressRanges.class) {
                FREE.computeIfAbsent(sizeFor(bytes), size -> new ArrayDeque<>()).push(address);
            }
        }
    }

    private static long take(long size) throws VerbsException {
        synchronized (AddressRanges.class) {
            ArrayDeque<Long> free = FREE.get(size);
            if (free != null && !free.isEmpty()) {
                return free.pop();
            }
        }
        return Posix.MMAP.check("lengthBytes=" + size, 0L, size, Posix.PROT_READ_WRITE, PRIVATE, -1, 0L);
    }
}
