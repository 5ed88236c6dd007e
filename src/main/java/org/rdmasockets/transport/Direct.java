package org.rdmasockets.transport;

import java.io.IOException;

/**
 * What a connection does without copying bytes, as far as its carrier can. One for each connection that uses it. The
 * rules for threads are those of {@link Connection}.
 */
public interface Direct {
    /**
     * Allocates at least 1 byte that {@link #write} can send from. Throws {@code SocketException} if the connection is
     * closed or the device refuses, with the remedy; {@code InterruptedIOException} if this virtual thread was
     * interrupted (status left set).
     */
    DirectMemory allocate(int bytes) throws IOException;

    /**
     * Writes everything of memory that the caller has entered, waiting while the peer does not read. When it returns,
     * the bytes are on their way and the memory may be changed. If it throws, as {@link Connection#write} does, the
     * memory may still be read until the connection has ended.
     */
    void write(DirectMemory from, int offset, int length) throws IOException;

    /**
     * Lends what has arrived to the calling thread, waiting for the first byte as {@link Connection#read} does; null at
     * the end of the stream. Until the view is closed, reads throw {@code IllegalStateException}.
     */
    DirectView receive(long deadlineNanos) throws IOException;

    /**
     * Allocates memory that the peer can write to beside the stream, by an offset that is not negative, and tells it,
     * waiting until it can be told. When it is closed, the peer can do so no more. Throws as {@link #allocate} and
     * {@link #write}; {@code SocketException}, too, if the peer takes no more maps, or the carrier has none,
     * {@code IllegalArgumentException} if some of the offsets are mapped, or they run over the largest number.
     */
    DirectMemory map(int bytes, long offset) throws IOException;

    /**
     * Writes memory that the caller has entered into memory that the peer has mapped. The peer is not told; what is
     * written to the stream later arrives later. Throws as {@link #write}; {@code SocketException}, too, if the peer
     * has not mapped all of it, or the carrier has no maps.
     */
    void place(long at, DirectMemory from, int offset, int length) throws IOException;
}
