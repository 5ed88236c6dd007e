package org.rdmasockets.internal.sharedmemory.link;

import org.rdmasockets.internal.ffi.PageSize;
import org.rdmasockets.internal.ffi.SharedMapping;
import org.rdmasockets.verbs.VerbsException;

/**
 * How a region lies in its memfd: whole pages for the data, then one page whose first word is 1 as long as the owner
 * lets peers in. Owner and peer map both as one, and show the data.
 */
class RegionMemory extends SharedMapping {
    static final long VALID = 1;

    /**
     * Maps a region of so many bytes by a descriptor, which stays the caller's, for memory of {@link #totalBytes},
     * which is checked; {@code own} if this process made it.
     */
    RegionMemory(int descriptor, long lengthBytes, boolean own) throws VerbsException {
        super(descriptor, totalBytes(lengthBytes), lengthBytes, own);
    }

    /** Stands for a region of so many bytes that could not be mapped: no thread can enter it. */
    RegionMemory(long lengthBytes) {
        super(lengthBytes);
    }

    /** The size of the memfd for a region of so many bytes. */
    static long totalBytes(long lengthBytes) {
        return PageSize.roundUp(lengthBytes) + PageSize.BYTES;
    }

    @Override
    protected final long mappedBytes() {
        return totalBytes(memory().byteSize());
    }
}
