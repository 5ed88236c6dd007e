package org.rdmasockets.internal.datagram;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.rdmasockets.verbs.AddressHandle;

/**
 * Layouts of rsockets' datagrams. Over UDP, in front of the data or of nothing:
 *
 * <pre>
 *  0        4        5          6         7        8                    12
 * | tag    | version| operation | length | 0      | queue pair number  | address, 4 or 16 bytes |
 * </pre>
 *
 * Over the queue pair, in front of the data:
 *
 * <pre>
 *  0        1        2             4                8
 * | version| length | source port | IPv4 address |
 * | version| length | source port | flow info    | IPv6 address, 16 bytes |
 * </pre>
 *
 * Numbers are big-endian. Any stranger may send: bytes that are not exactly so are no datagram of rsockets.
 */
final class DatagramWire {
    /** The key that queue pairs of all rsockets have. */
    static final int QUEUE_KEY = 0x01234567;
    /** Data follows. */
    static final int DATA = 0;
    /** Says where the queue pair is, and no more. */
    static final int CONTROL = 7;
    /** The room of a receiver in C, for the header of either way, too. */
    static final int MOST_BYTES = 2048;

    private static final int TAG = 0x55555555;
    private static final int FIRST_QUEUE_PAIR = 2; // 0 and 1 are the device's own
    private static final int LAST_QUEUE_PAIR = 0xffffff;
    private static final int IPV4 = 4;
    private static final int IPV6 = 6;
    private static final int IPV4_BYTES = 4;
    private static final int IPV6_BYTES = 16;
    private static final int UDP_FIXED_BYTES = 12;
    private static final int UDP_VERSION = 4;
    private static final int UDP_OPERATION = 5;
    private static final int UDP_LENGTH = 6;
    private static final int UDP_ZERO = 7;
    private static final int UDP_NUMBER = 8;
    private static final int PORT = 2;
    private static final int IPV4_AT = 4;
    private static final int IPV6_AT = 8;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    /** Where an IPv4 header stands in the memory of a routing header, and addresses in the two kinds. */
    private static final int IPV4_HEADER = 20;
    private static final int IPV4_SOURCE = IPV4_HEADER + 12;
    private static final int IPV6_SOURCE = 8;

    /** A message that came over UDP, {@link #DATA} or {@link #CONTROL}, with the address that the sender names. */
    record Message(int operation, int queuePair, byte[] address, int headerBytes) {
        /** Whether the sender knows its own address; C shifts those of IPv6. */
        boolean isFrom(InetAddress source) {
            return !(source instanceof Inet4Address) || Arrays.equals(source.getAddress(), address);
        }
    }

    private DatagramWire() {}

    /** Whether this may be a message; data of others that begins so is rare. */
    static boolean isTagged(byte[] data) {
        return data.length >= UDP_FIXED_BYTES && MemorySegment.ofArray(data).get(INT, 0) == TAG;
    }

    /** Reads what came over UDP from that address; null if it is no message. */
    static Message read(byte[] data, InetAddress source) {
        int addressBytes = source.getAddress().length;
        int headerBytes = UDP_FIXED_BYTES + addressBytes;
        if (!isTagged(data) || data.length < headerBytes || data[UDP_VERSION] != version(addressBytes)
                || data[UDP_LENGTH] != headerBytes || data[UDP_ZERO] != 0) {
            return null;
        }
        int operation = data[UDP_OPERATION];
        int number = MemorySegment.ofArray(data).get(INT, UDP_NUMBER);
        boolean known = operation == DATA || operation == CONTROL && data.length == headerBytes;
        return known && number >= FIRST_QUEUE_PAIR && number <= LAST_QUEUE_PAIR ? new Message(operation, number,
                Arrays.copyOfRange(data, UDP_FIXED_BYTES, headerBytes), headerBytes) : null;
    }

    /** How long the header over UDP is. */
    static int messageHeaderBytes(InetAddress own) {
        return UDP_FIXED_BYTES + (own instanceof Inet4Address ? IPV4_BYTES : IPV6_BYTES);
    }

    /** Makes a message for UDP. */
    static byte[] message(int operation, int queuePair, InetAddress own, MemorySegment data) {
        byte[] address = own.getAddress();
        int headerBytes = UDP_FIXED_BYTES + address.length;
        byte[] message = new byte[headerBytes + (int) data.byteSize()];
        MemorySegment all = MemorySegment.ofArray(message);
        all.set(INT, 0, TAG);
        message[UDP_VERSION] = version(address.length);
        message[UDP_OPERATION] = (byte) operation;
        message[UDP_LENGTH] = (byte) headerBytes;
        all.set(INT, UDP_NUMBER, queuePair);
        System.arraycopy(address, 0, message, UDP_FIXED_BYTES, address.length);
        MemorySegment.copy(data, 0, all, headerBytes, data.byteSize());
        return message;
    }

    private static byte version(int addressBytes) {
        return (byte) (addressBytes == IPV4_BYTES ? IPV4 : IPV6);
    }

    /** How long the header over a queue pair is. */
    static int headerBytes(InetAddress own) {
        return own instanceof Inet4Address ? IPV4_AT + IPV4_BYTES : IPV6_AT + IPV6_BYTES;
    }

    /** Writes the header over a queue pair. */
    static void writeHeader(MemorySegment to, InetSocketAddress source) {
        byte[] address = source.getAddress().getAddress();
        int headerBytes = headerBytes(source.getAddress());
        to.asSlice(0, headerBytes).fill((byte) 0);
        to.set(ValueLayout.JAVA_BYTE, 0, version(address.length));
        to.set(ValueLayout.JAVA_BYTE, 1, (byte) headerBytes);
        to.set(SHORT, PORT, (short) source.getPort());
        MemorySegment.copy(address, 0, to, ValueLayout.JAVA_BYTE, headerBytes - address.length, address.length);
    }

    /**
     * Reads the sender of a packet that came over a queue pair, with its routing header, to an address of the same
     * kind: the header has to name the address that the packet is from. Null if it is no datagram of rsockets.
     */
    static InetSocketAddress source(MemorySegment packet, InetAddress own) {
        MemorySegment header = packet.asSlice(AddressHandle.ROUTING_HEADER_BYTES);
        int addressBytes = own.getAddress().length;
        int headerBytes = headerBytes(own);
        if (header.byteSize() < headerBytes || header.get(ValueLayout.JAVA_BYTE, 0) != version(addressBytes)
                || header.get(ValueLayout.JAVA_BYTE, 1) != headerBytes) {
            return null;
        }
        MemorySegment address = header.asSlice(headerBytes - addressBytes, addressBytes);
        MemorySegment from = packet.asSlice(addressBytes == IPV4_BYTES ? IPV4_SOURCE : IPV6_SOURCE, addressBytes);
        int port = Short.toUnsignedInt(header.get(SHORT, PORT));
        if (address.mismatch(from) != -1 || port == 0) {
            return null;
        }
        try {
            return new InetSocketAddress(InetAddress.getByAddress(address.toArray(ValueLayout.JAVA_BYTE)), port);
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e); // of a length that no address has
        }
    }
}
