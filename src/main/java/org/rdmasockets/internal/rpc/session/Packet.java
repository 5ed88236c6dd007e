package org.rdmasockets.internal.rpc.session;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.rdmasockets.internal.datagram.DatagramWays;

/**
 * A packet's header, in network byte order:
 *
 * <pre>
 *   0  magic (2), version (1), kind (1)     32  acknowledged: all below this number have come (8)
 *   4  CRC32C of the packet with 0 here (4) 40  bit i: number acknowledged + 1 + i has come (8)
 *   8  receiver's identifier (8)            48  numbers from acknowledged on that may be sent (4)
 *  16  sender's identifier (8)              52  when this was sent, microseconds (4)
 *  24  number, of DATA (8)                  56  the same of the packet that is acknowledged (4)
 *                                           60  flags (2), payload bytes (2)
 * </pre>
 *
 * <p>The payload follows. One packet object is read into again and again.
 */
final class Packet {
    static final int INIT = 1;
    static final int COOKIE = 2;
    static final int OPEN = 3;
    static final int OPENED = 4;
    static final int DATA = 5;
    /** Nothing but what is in each packet. */
    static final int ACK = 6;
    /** Asks for an ACK. */
    static final int PING = 7;
    /** The receiver's session is not known here. */
    static final int RESET = 8;

    /** A message begins. */
    static final int FIRST = 1;
    /** A message ends. */
    static final int LAST = 2;
    /** Nothing follows. */
    static final int FIN = 4;

    static final int HEADER_BYTES = 64;
    /** The longest payload that any end sends. */
    static final int MOST_PAYLOAD = DatagramWays.NEAR_BYTES - HEADER_BYTES;
    private static final short MAGIC = 0x5253;
    private static final byte VERSION = 2;
    private static final int CRC_OFFSET = 4;

    int kind;
    long receiver;
    long sender;
    long number;
    long acknowledged;
    long selective;
    int room;
    int sentMicros;
    int echoMicros;
    int flags;
    /** The payload, within the packet's buffer. */
    ByteBuffer payload;

    private final CRC32C crc = new CRC32C();

    /** Reads a packet; false if it is damaged, or none. */
    boolean read(ByteBuffer from) {
        int start = from.position();
        if (from.remaining() < HEADER_BYTES || from.getShort(start) != MAGIC || from.get(start + 2) != VERSION) {
            return false;
        }
        int sum = from.getInt(start + CRC_OFFSET);
        kind = from.get(start + 3);
        receiver = from.getLong(start + 8);
        sender = from.getLong(start + 16);
        number = from.getLong(start + 24);
        acknowledged = from.getLong(start + 32);
        selective = from.getLong(start + 40);
        room = from.getInt(start + 48);
        sentMicros = from.getInt(start + 52);
        echoMicros = from.getInt(start + 56);
        flags = from.getShort(start + 60);
        int length = from.getShort(start + 62) & 0xFFFF;
        if (length != from.remaining() - HEADER_BYTES || sum != checksum(from, start, from.remaining())) {
            return false;
        }
        payload = from.slice(start + HEADER_BYTES, length);
        return true;
    }

    /** Writes the header and a payload, and makes the buffer ready to be sent. */
    void write(ByteBuffer to, byte[] bytes, int offset, int length) {
        to.clear();
        to.putShort(MAGIC).put(VERSION).put((byte) kind).putInt(0).putLong(receiver).putLong(sender).putLong(number)
                .putLong(acknowledged).putLong(selective).putInt(room).putInt(sentMicros).putInt(echoMicros)
                .putShort((short) flags).putShort((short) length);
        if (length > 0) {
            to.put(bytes, offset, length);
        }
        to.flip();
        to.putInt(CRC_OFFSET, checksum(to, 0, to.limit()));
    }

    private int checksum(ByteBuffer all, int start, int length) {
        crc.reset();
        crc.update(all.slice(start, CRC_OFFSET));
        crc.update(all.slice(start + CRC_OFFSET + 4, length - CRC_OFFSET - 4));
        return (int) crc.getValue();
    }
}
