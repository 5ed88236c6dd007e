package org.rdmasockets.transport;

import java.io.IOException;

/**
 * What a connection does without copying bytes, as far as its carrier can. One for each connection that uses it. The
 * rules for threads are those of {@link Connection}.
 */
public interface Direct {
    /**
     * Allocates memory that {@link #write} can send from.
     *
     * @param bytes how much, at least 1
     * @return new memory of this connection
     * @throws IOException {@code SocketException} if the connection is closed or the device refuses, with the remedy;
     *         {@code InterruptedIOException} if this virtual thread was interrupted (status left set)
     */
    DirectMemory allocate(int bytes) throws IOException;

    /**
     * Writes everything, waiting while the peer does not read. When it returns, the bytes are on their way and the
     * memory may be changed.
     *
     * @param from memory of this connection that the caller has entered
     * @param offset the first byte
     * @param length how many
     * @throws IOException as {@link Connection#write}; the memory may still be read until the connection has ended
     */
    void write(DirectMemory from, int offset, int length) throws IOException;

    /**
     * Lends what has arrived, waiting for the first byte. Until the view is closed, reads throw
     * {@code IllegalStateException}.
     *
     * @param deadlineNanos end of the wait by {@code System.nanoTime}, {@code Long.MAX_VALUE} for none
     * @return a view of the calling thread, or null at the end of the stream
     * @throws IOException as {@link Connection#read}
     * @throws IllegalStateException if a view is open
     */
    DirectView receive(long deadlineNanos) throws IOException;

    /**
     * Allocates memory that the peer can write to beside the stream, and tells it, waiting until it can be told. When
     * it is closed, the peer can do so no more.
     *
     * @param bytes how much, at least 1
     * @param offset by which the peer names its first byte, not negative
     * @return new memory of this connection
     * @throws IOException as {@link #allocate} and {@link #write}; {@code SocketException}, too, if the peer takes no
     *         more maps, or the carrier has none
     * @throws IllegalArgumentException if some of the offsets are mapped, or they run over the largest number
     */
    DirectMemory map(int bytes, long offset) throws IOException;

    /**
     * Writes into memory that the peer has mapped. The peer is not told; what is written to the stream later arrives
     * later.
     *
     * @param at by which offset the peer names the first byte
     * @param from memory of this connection that the caller has entered
     * @param offset the first byte
     * @param length how many
     * @throws IOException as {@link #write}; {@code SocketException}, too, if the peer has not mapped all of it, or the
     *         carrier has no maps
     */
    void place(long at, DirectMemory from, int offset, int length) throws IOException;
}
