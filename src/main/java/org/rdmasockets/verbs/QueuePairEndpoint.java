package org.rdmasockets.verbs;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * The facts that a peer needs to connect to a queue pair by hand ({@link ManualConnection}). The program chooses how
 * they get there: by {@link #exchange} over a socket, in a file, or in a protocol of its own as {@link #encode} gives
 * them, in network order:
 * <pre>
 * 0  'R' 'Q'   2  version 1   3  reads served   4  number   8  packet number   12  LID   14  MTU   16  GID
 * </pre>
 *
 * @param number the queue pair, 24 bits
 * @param packetNumber the first packet number that it sends, 24 bits
 * @param gid the GID of its port; all zero if the LID is enough
 * @param lid the LID of its port, 0 to 65,535; 0 on Ethernet
 * @param mtuBytes the path MTU that its port can use: 256, 512, 1024, 2048 or 4096
 * @param readsServed how many reads and atomics it serves at once, 0 to 255
 * @since 0.1
 */
public record QueuePairEndpoint(int number, int packetNumber, Gid gid, int lid, int mtuBytes, int readsServed) {
    /** Length of the encoded form, in bytes. */
    public static final int LENGTH_BYTES = 32;

    private static final short MAGIC = 'R' << 8 | 'Q';
    private static final byte VERSION = 1;

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if a number is out of its range
     */
    public QueuePairEndpoint {
        Objects.requireNonNull(gid);
        QueuePairAttributes.Field.DESTINATION_NUMBER.check(number);
        QueuePairAttributes.Field.RECEIVE_PACKET_NUMBER.check(packetNumber);
        QueuePairAttributes.Field.PATH_MTU_BYTES.check(mtuBytes);
        QueuePairAttributes.Field.MAX_READS_AS_TARGET.check(readsServed);
        if (lid < 0 || lid > 0xffff) {
            throw new IllegalArgumentException("a LID is 0 to 65535, not " + lid);
        }
    }

    /** {@return the form for other machines, of {@link #LENGTH_BYTES} bytes} */
    public byte[] encode() {
        return ByteBuffer.allocate(LENGTH_BYTES).putShort(MAGIC).put(VERSION).put((byte) readsServed).putInt(number)
                .putInt(packetNumber).putShort((short) lid).putShort((short) mtuBytes).put(gid.bytes()).array();
    }

    /**
     * Decodes a peer's endpoint.
     *
     * @param bytes any bytes
     * @return the endpoint
     * @throws IllegalArgumentException if they are not an endpoint
     */
    public static QueuePairEndpoint decode(byte[] bytes) {
        if (bytes.length != LENGTH_BYTES) {
            throw new IllegalArgumentException("an endpoint has " + LENGTH_BYTES + " bytes, not " + bytes.length);
        }
        ByteBuffer in = ByteBuffer.wrap(bytes);
        short magic = in.getShort();
        byte version = in.get();
        if (magic != MAGIC || version != VERSION) {
            throw new IllegalArgumentException("these bytes are no endpoint of version " + VERSION);
        }
        int reads = Byte.toUnsignedInt(in.get());
        int number = in.getInt();
        int packetNumber = in.getInt();
        int lid = Short.toUnsignedInt(in.getShort());
        int mtu = Short.toUnsignedInt(in.getShort());
        byte[] gid = new byte[Gid.LENGTH_BYTES];
        in.get(gid);
        return new QueuePairEndpoint(number, packetNumber, new Gid(gid), lid, mtu, reads);
    }

    /**
     * Sends this endpoint to the peer and receives the peer's, over a socket for example; both sides call it. The wait
     * ends when the stream's does ({@code Socket.setSoTimeout}).
     *
     * @param in the stream from the peer
     * @param out the stream to the peer
     * @return the peer's endpoint
     * @throws EOFException if the peer ends before all of it has come
     * @throws IOException if a stream fails, or the peer says something else
     */
    public QueuePairEndpoint exchange(InputStream in, OutputStream out) throws IOException {
        out.write(encode());
        out.flush();
        byte[] answer = new byte[LENGTH_BYTES];
        new DataInputStream(in).readFully(answer);
        try {
            return decode(answer);
        } catch (IllegalArgumentException e) {
            throw new IOException("the peer says something else than its endpoint: " + e.getMessage(), e);
        }
    }
}
