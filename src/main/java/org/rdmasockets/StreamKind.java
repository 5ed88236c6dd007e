package org.rdmasockets;

/**
 * How a byte stream is carried over RDMA: the value of {@link RdmaSocketOptions#STREAM_KIND}. To the application all of
 * them are the same stream, with the same rules; they differ in what they cost, and what they ask of a peer.
 */
public enum StreamKind {
    /**
     * The protocol of rsockets: writes into memory that the peer lends, which tells of more. The only one that C
     * programs know, the one with maps ({@link RdmaSocket#map}), and the one whose memory grows and shrinks with use.
     */
    CREDIT_RING,
    /**
     * Messages into receives that the peer has posted; no memory is open to the peer. Each write takes a receive of
     * {@link RdmaSocketOptions#MESSAGE_BYTES} there, however short it is.
     */
    SEND_RECEIVE,
    /**
     * Writes into a ring of {@code SO_RCVBUF} bytes, whose position the writer reads by RDMA: who reads the stream
     * sends nothing.
     */
    READ_RING
}
