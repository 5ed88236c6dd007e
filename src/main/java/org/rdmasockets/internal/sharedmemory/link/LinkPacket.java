package org.rdmasockets.internal.sharedmemory.link;

import java.nio.ByteBuffer;
import org.rdmasockets.internal.ffi.PacketBuffer;

/**
 * Packets of a link's socket, in the byte order of the host. A packet of one byte is a doorbell; all others are:
 *
 * <pre>
 *  0  type          4  number
 *  8  first        16  second       24  third       32  fourth
 *
 * type       number    first      second   third         fourth   descriptor
 * HELLO      version   nonce                                                    the dialler, to the listener
 * WELCOME    version   nonce                                                    the listener, to the dialler
 * REFUSED    user                                                               the listener; the dialler's user there
 * SEGMENT                                                         link memory   the dialler; the link is up
 * ANNOUNCE   key       address    length   access bits   tag      region
 * RETRACT    key
 * </pre>
 */
final class LinkPacket {
    static final int HELLO = 1;
    static final int WELCOME = 2;
    static final int SEGMENT = 3;
    static final int ANNOUNCE = 4;
    static final int RETRACT = 5;
    static final int REFUSED = 6;
    /** Version of the packets, of {@link SegmentLayout} and of {@link Slabs}. */
    static final int VERSION = 9;
    /** Length of every packet but a doorbell. */
    static final int BYTES = 40;

    private static final int NUMBER_OFFSET = 4;
    private static final int FIRST_OFFSET = 8;
    private static final int SECOND_OFFSET = 16;
    private static final int THIRD_OFFSET = 24;
    private static final int FOURTH_OFFSET = 32;

    private LinkPacket() {}

    /** Writes a packet with a number and at most one argument. */
    static void write(PacketBuffer buffer, int type, int number, long first) {
        buffer.packet().putInt(0, type).putInt(NUMBER_OFFSET, number).putLong(FIRST_OFFSET, first);
        writeRegion(buffer, 0, 0, 0);
    }

    /** Writes what an announcement has besides its address. */
    static void writeRegion(PacketBuffer buffer, long lengthBytes, long accessBits, long tag) {
        ByteBuffer packet = buffer.packet().putLong(SECOND_OFFSET, lengthBytes);
        packet.putLong(THIRD_OFFSET, accessBits).putLong(FOURTH_OFFSET, tag);
    }

    /** Whether the packet received is a doorbell. */
    static boolean isDoorbell(PacketBuffer buffer) {
        return buffer.length() == 1 && !buffer.isMalformed() && !buffer.isDescriptorLost() && buffer.descriptor() < 0;
    }

    /** The type of the packet received, 0 if it is none of ours; a descriptor came with exactly the right types. */
    static int type(PacketBuffer buffer) {
        if (buffer.length() != BYTES || buffer.isMalformed()) {
            return 0;
        }
        int type = buffer.packet().getInt(0);
        boolean carries = type == SEGMENT || type == ANNOUNCE;
        return carries == (buffer.descriptor() >= 0 || buffer.isDescriptorLost()) ? type : 0;
    }

    /** The number of the packet received. */
    static int number(PacketBuffer buffer) {
        return buffer.packet().getInt(NUMBER_OFFSET);
    }

    /** The first argument of the packet received. */
    static long first(PacketBuffer buffer) {
        return buffer.packet().getLong(FIRST_OFFSET);
    }

    /** The second argument of the packet received. */
    static long second(PacketBuffer buffer) {
        return buffer.packet().getLong(SECOND_OFFSET);
    }

    /** The third argument of the packet received. */
    static long third(PacketBuffer buffer) {
        return buffer.packet().getLong(THIRD_OFFSET);
    }

    /** The fourth argument of the packet received. */
    static long fourth(PacketBuffer buffer) {
        return buffer.packet().getLong(FOURTH_OFFSET);
    }
}
