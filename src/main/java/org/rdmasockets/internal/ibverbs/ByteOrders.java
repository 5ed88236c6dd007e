package org.rdmasockets.internal.ibverbs;

import java.nio.ByteOrder;

/** Turns numbers between network order (big endian, {@code __be16}, {@code __be32}) and the host's. */
final class ByteOrders {
    private static final boolean SWAP = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private ByteOrders() {}

    /** A number as it stands in memory in network order, read as a host number, to the number it means. */
    static int fromNetwork(int number) {
        return SWAP ? Integer.reverseBytes(number) : number;
    }

    /** The inverse of {@link #fromNetwork(int)}. */
    static int toNetwork(int number) {
        return fromNetwork(number);
    }

    /** A 16-bit number in network order, such as a port, to the number it means, 0 to 65535. */
    static int fromNetwork(short number) {
        return Short.toUnsignedInt(SWAP ? Short.reverseBytes(number) : number);
    }

    /** A 64-bit number in network order, such as a GUID, to the number it means. */
    static long fromNetwork(long number) {
        return SWAP ? Long.reverseBytes(number) : number;
    }

    /** The inverse of {@link #fromNetwork(short)}. */
    static short toNetworkShort(int number) {
        return (short) fromNetwork((short) number);
    }
}
