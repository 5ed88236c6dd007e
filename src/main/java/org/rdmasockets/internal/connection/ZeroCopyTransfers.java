package org.rdmasockets.internal.connection;

import java.io.IOException;

/** The transfers of a connection that copy nothing, as far as its carrier can. Threads as for {@link Connection}. */
public interface ZeroCopyTransfers {
    /**
     * Allocates at least 1 byte that {@link #write} can send from. Throws if the connection is closed, the device
     * refuses, with the remedy, or this virtual thread was interrupted (status left set).
     */
    DirectMemory allocate(int bytes) throws IOException;

    /**
     * Writes memory that the caller has entered, waiting while the peer does not read; then it may be changed. If it
     * throws, as {@link Connection#write} does, the memory may still be read until the connection has ended.
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
     * Writes memory that the caller has entered into what the peer has mapped. The peer is not told; what goes into the
     * stream later arrives later. Throws as {@link #write}, and if the peer has not mapped all of it, or has no maps.
     */
    void place(long at, DirectMemory from, int offset, int length) throws IOException;
}
