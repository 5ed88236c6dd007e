package org.rdmasockets.verbs;

import java.util.Arrays;
import java.util.HexFormat;

/**
 * A global identifier: 16 bytes in network order ({@code union ibv_gid}). On RoCE it is an IPv6 address, or an IPv4
 * address mapped into IPv6.
 *
 * @param bytes the 16 bytes; copied in and out
 * @since 0.1
 */
public record Gid(byte[] bytes) {
    /** Number of bytes of a GID. */
    public static final int LENGTH_BYTES = 16;

    /** The bytes before an IPv4 address. */
    private static final byte[] IPV4_PREFIX = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1};

    /**
     * A GID of 16 bytes.
     *
     * @param bytes the bytes in network order
     * @throws IllegalArgumentException if there are not exactly 16
     */
    public Gid {
        if (bytes.length != LENGTH_BYTES) {
            throw new IllegalArgumentException("a GID has 16 bytes, not " + bytes.length);
        }
        bytes = bytes.clone();
    }

    /** {@return a copy of the 16 bytes in network order} */
    @Override
    public byte[] bytes() {
        return bytes.clone();
    }

    /** {@return whether the table entry is unused: all bytes are 0} */
    public boolean isZero() {
        return Arrays.equals(bytes, new byte[LENGTH_BYTES]);
    }

    /** {@return whether this is an IPv4 address, mapped into IPv6: {@code ::ffff:a.b.c.d}} */
    public boolean isIpv4() {
        return Arrays.equals(bytes, 0, IPV4_PREFIX.length, IPV4_PREFIX, 0, IPV4_PREFIX.length);
    }

    /**
     * {@return whether this is valid on its link alone: {@code fe80::/10}, which the first GID of an InfiniBand port
     * is, too}
     */
    public boolean isLinkLocal() {
        return bytes[0] == (byte) 0xfe && (bytes[1] & 0xc0) == 0x80;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Gid gid && Arrays.equals(bytes, gid.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    @Override
    public String toString() {
        return HexFormat.of().formatHex(bytes).replaceAll("(....)(?!$)", "$1:");
    }
}
