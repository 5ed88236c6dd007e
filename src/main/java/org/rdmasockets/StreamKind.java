package org.rdmasockets;

/**
 * How a byte stream is carried over RDMA: the value of {@link RdmaSocketOptions#STREAM_KIND}. To the application all of
 * them are the same stream; they differ in what they cost, what they ask of a peer, and how much they hold.
 *
 * @since 0.1
 */
public enum StreamKind {
    /**
     * The protocol of rsockets: writes into memory that the peer lends, which tells of more. The only one that C
     * programs know, the one with maps ({@link RdmaSocket#map}), and the one whose memory grows and shrinks with use.
     */
    CREDIT_RING,
    /**
     * Messages into receives that the peer has posted; the end that accepts opens no memory to its peer. Each write
     * takes a receive of {@link RdmaSocketOptions#MESSAGE_BYTES} there until it was read, however short it is: a writer
     * waits after so many writes, not only after so many bytes.
     */
    SEND_RECEIVE,
    /**
     * Writes into a ring of {@code SO_RCVBUF} bytes ({@code SO_SNDBUF} comes on top over shared memory), whose position
     * the writer reads by RDMA: the reader of the stream sends nothing unless the writer waits for room.
     */
    READ_RING
}
