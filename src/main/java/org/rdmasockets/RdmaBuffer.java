package org.rdmasockets;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.connection.DirectMemory;

/**
 * Memory that an {@link RdmaSocket} sends from without a copy: {@link RdmaSocket#allocateBuffer} makes it,
 * {@link RdmaSocket#write(RdmaBuffer, int, int)} writes it. A device knows it, but no peer does, unless it comes from
 * {@link RdmaSocket#map}: then the peer may write to it.
 *
 * <p>Any thread may fill it, but no thread should change a part that is being written: the peer would read a mix of old
 * and new bytes. Closed or not, it ends with the connection of its socket: then it can no longer be written.
 *
 * @since 0.1
 */
public final class RdmaBuffer implements AutoCloseable {
    /** The transport's side of it. */
    final DirectMemory memory;
    private final int lengthBytes;

    RdmaBuffer(DirectMemory memory) {
        this.memory = memory;
        this.lengthBytes = (int) memory.segment().byteSize();
    }

    /**
     * The content. {@code segment().asByteBuffer()} gives it as a buffer. A segment that is used after {@link #close}
     * leads to memory of this connection all the same, perhaps to that of another buffer; if it was mapped, its use
     * throws {@code IllegalStateException} then.
     *
     * @return a native segment for all threads, of as many bytes as were asked for
     * @throws IllegalStateException if this is closed
     */
    public MemorySegment segment() {
        return memory.segment();
    }

    /** {@return how many bytes it has, also after {@link #close}} */
    public int lengthBytes() {
        return lengthBytes;
    }

    /**
     * Gives the memory back to the socket, for its next buffer, and ends its map, if it has one. A write that is in
     * progress ends first, as if this had not been called; it is not waited for. Idempotent, any thread.
     *
     * @throws IllegalStateException if it is mapped and a channel is reading or writing its segment: it stays open,
     *         and can be closed later. So it does, without this exception, if that happens when the last write ends
     */
    @Override
    public void close() {
        memory.close();
    }
}
