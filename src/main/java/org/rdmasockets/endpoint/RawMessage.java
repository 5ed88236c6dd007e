package org.rdmasockets.endpoint;

import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;

/**
 * The result of a raw receive. Close it, or its region, when it is of no use any more.
 *
 * @param region the memory that was posted, of the size that was asked for
 * @param length how many bytes of it the peer has sent; 0 if this tells of a write
 * @param immediate the 32 bits beside the bytes, or empty
 * @param write true if the peer has not sent anything into this memory, but written elsewhere, with immediate data
 * @since 0.1
 */
public record RawMessage(LocalRegion region, long length, OptionalInt immediate, boolean write)
        implements AutoCloseable {
    /** {@return the bytes that have come: a segment of {@link #length} bytes that throws once this is closed} */
    public MemorySegment segment() {
        return region.segment().asSlice(0, length);
    }

    /** Gives the memory back. Idempotent. */
    @Override
    public void close() {
        region.close();
    }
}
