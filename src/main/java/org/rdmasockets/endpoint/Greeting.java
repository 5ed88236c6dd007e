package org.rdmasockets.endpoint;

import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * The greetings that two endpoints exchange when they connect, in the private data of the connection manager: 32 bytes,
 * big-endian, perhaps with zeros behind them; 52 bytes from a node of a group.
 *
 * <pre>
 *  0                               4       5       6               8
 * +-------------------------------+-------+-------+---------------+
 * | "RDEP"                        |version| flags |       0       |
 * +-------------------------------+-------+-------+---------------+
 * | data messages at once (8)     | control messages at once (12) |
 * +-------------------------------+-------------------------------+
 * | bytes of a buffer (16)        |       0                       |
 * +-------------------------------+-------------------------------+
 * | bytes of the longest message (24)                             |
 * +-------------------------------+-------------------------------+
 * | rank of a node (32)           | its token (36), 16 bytes ...
 * +-------------------------------+
 * </pre>
 *
 * @param raw there are no messages, only what the application posts itself: both ends have to agree
 * @param dataMessages how many data messages this end takes before the application has taken any
 * @param controlMessages how many control messages this end takes at once
 * @param bufferBytes longest single message, header included
 * @param maxMessageBytes longest message that is put together from several
 * @param node rank of the node that says this, 0 for any other end; to be believed if a {@link NodeEntrance} does
 */
record Greeting(boolean raw, int dataMessages, int controlMessages, int bufferBytes, long maxMessageBytes, int node) {
    /** How long it is without a pass. */
    static final int BYTES = 32;

    private static final int MAGIC = 0x52444550;
    private static final byte VERSION = 1;
    private static final byte RAW = 1;
    private static final int LEAST_CONTROL_MESSAGES = 8;

    /** The bytes for the peer, with the pass of a node, rank and token, or null. */
    byte[] encode(byte[] pass) {
        byte[] more = pass == null ? new byte[0] : pass;
        return ByteBuffer.allocate(BYTES + more.length).putInt(MAGIC).put(VERSION).put(raw ? RAW : 0)
                .putShort((short) 0).putInt(dataMessages).putInt(controlMessages).putInt(bufferBytes).putInt(0)
                .putLong(maxMessageBytes).put(more).array();
    }

    /** Reads and checks a peer's greeting; throws if it is none, or its values cannot be. */
    static Greeting decode(byte[] data) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(data);
        try {
            if (buffer.getInt() != MAGIC) {
                throw new IOException("the peer is no endpoint: its private data begins otherwise");
            }
            int version = buffer.get();
            if (version != VERSION) {
                throw new IOException("the peer speaks version " + version + ", this end version " + VERSION);
            }
            boolean raw = (buffer.get() & RAW) != 0;
            buffer.getShort();
            int dataMessages = buffer.getInt();
            int controlMessages = buffer.getInt();
            int bufferBytes = buffer.getInt();
            buffer.getInt();
            Greeting greeting = new Greeting(raw, dataMessages, controlMessages, bufferBytes, buffer.getLong(),
                    buffer.remaining() < Integer.BYTES ? 0 : buffer.getInt());
            greeting.check();
            return greeting;
        } catch (BufferUnderflowException e) {
            throw new IOException("the peer is no endpoint: it sent " + data.length + " bytes of private data", e);
        }
    }

    private void check() throws IOException {
        boolean workable = dataMessages >= 1 && controlMessages >= LEAST_CONTROL_MESSAGES
                && bufferBytes > Header.BYTES && maxMessageBytes >= 0;
        if (!raw && !workable) {
            throw new IOException("the peer says what cannot be: " + this);
        }
    }
}
