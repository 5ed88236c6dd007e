package org.rdmasockets.provider.sharedmemory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import org.rdmasockets.provider.sharedmemory.link.RingEntry;
import org.rdmasockets.verbs.ConnectionParameters;

/**
 * What two processes tell each other when they connect, as the payload of an entry, in network order:
 * <pre>
 *   8  number of the sender's protection domain: its regions carry the same number
 *   4  responder resources, initiator depth, retry count, receiver-not-ready retry count
 *   1+n+4+2  address, scope and port that are asked for; n is 4 or 16, the scope is 0 where there is none
 *   1+n+4+2  address, scope and port of the connecting end
 *   1+n  private data
 * </pre>
 *
 * @param domain number of the sender's protection domain
 * @param parameters what the sender asks for, or answers
 * @param destination the address that was asked for
 * @param source the address of the connecting end
 */
record Greeting(long domain, ConnectionParameters parameters, InetSocketAddress destination,
        InetSocketAddress source) {
    /** All but hosts and private data. */
    private static final int FIXED_BYTES = 8 + 4 + 2 * (1 + 4 + 2) + 1;
    private static final int MOST_BYTES = 512;
    private static final int MOST_DATA_BYTES = 255;
    private static final int IPV4_BYTES = 4;
    private static final int IPV6_BYTES = 16;

    /** The bytes of a payload. */
    byte[] encode() {
        byte[] data = parameters.privateData();
        byte[] to = destination.getAddress().getAddress();
        byte[] from = source.getAddress().getAddress();
        Fields out = new Fields(new byte[FIXED_BYTES + to.length + from.length + data.length]);
        out.put(domain, 8);
        out.put(parameters.responderResources(), 1);
        out.put(parameters.initiatorDepth(), 1);
        out.put(parameters.retryCount(), 1);
        out.put(parameters.receiverNotReadyRetryCount(), 1);
        put(out, destination, to);
        put(out, source, from);
        out.put(data);
        return out.bytes;
    }

    private static void put(Fields out, InetSocketAddress address, byte[] host) {
        out.put(host);
        out.put(address.getAddress() instanceof Inet6Address scoped ? scoped.getScopeId() : 0, 4);
        out.put(address.getPort(), 2);
    }

    /** Reads a payload, which may be any bytes; throws {@code IllegalArgumentException} if it says nothing. */
    static Greeting decode(RingEntry entry) {
        Fields in = new Fields(payload(entry, MOST_BYTES));
        long domain = in.take(8);
        int responder = (int) in.take(1);
        int initiator = (int) in.take(1);
        int retries = (int) in.take(1) & 7;
        int notReadyRetries = (int) in.take(1) & 7;
        InetSocketAddress destination = LocalAddresses.recent(address(in));
        InetSocketAddress source = address(in);
        return new Greeting(domain, new ConnectionParameters(in.take(), responder, initiator, retries, notReadyRetries),
                destination, source);
    }

    private static InetSocketAddress address(Fields in) {
        byte[] host = in.take();
        if (host.length != IPV4_BYTES && host.length != IPV6_BYTES) {
            throw new IllegalArgumentException("an address has no " + host.length + " bytes");
        }
        int scope = (int) in.take(4);
        int port = (int) in.take(2);
        try {
            InetAddress address = host.length == IPV6_BYTES && scope > 0
                    ? Inet6Address.getByAddress(null, host, scope) : InetAddress.getByAddress(host);
            return new InetSocketAddress(address, port);
        } catch (UnknownHostException e) {
            throw new AssertionError("4 and 16 bytes are an address", e);
        }
    }

    /**
     * Copies a payload, once; throws {@code IllegalArgumentException} if it is longer than private data and a greeting
     * can be.
     */
    static byte[] data(RingEntry entry) {
        return payload(entry, MOST_DATA_BYTES);
    }

    private static byte[] payload(RingEntry entry, int most) {
        if (entry.payloadBytes() > most) {
            throw new IllegalArgumentException("an entry of kind " + entry.kind() + " has at most " + most
                    + " bytes, not " + entry.payloadBytes());
        }
        byte[] bytes = new byte[entry.payloadBytes()];
        MemorySegment.copy(entry.memory(), ValueLayout.JAVA_BYTE, entry.payloadOffset(), bytes, 0, bytes.length);
        return bytes;
    }

    /** Numbers in network order, and short arrays behind their lengths, one after the other. */
    private static final class Fields {
        private final byte[] bytes;
        private int position;

        Fields(byte[] bytes) {
            this.bytes = bytes;
        }

        void put(long value, int count) {
            for (int shift = (count - 1) * Byte.SIZE; shift >= 0; shift -= Byte.SIZE) {
                bytes[position++] = (byte) (value >>> shift);
            }
        }

        void put(byte[] array) {
            put(array.length, 1);
            System.arraycopy(array, 0, bytes, position, array.length);
            position += array.length;
        }

        long take(int count) {
            ensure(count);
            long value = 0;
            for (int i = 0; i < count; i++) {
                value = value << Byte.SIZE | Byte.toUnsignedInt(bytes[position++]);
            }
            return value;
        }

        byte[] take() {
            int count = (int) take(1);
            ensure(count);
            position += count;
            return Arrays.copyOfRange(bytes, position - count, position);
        }

        private void ensure(int count) {
            if (bytes.length - position < count) {
                throw new IllegalArgumentException("a greeting of " + bytes.length + " bytes is too short");
            }
        }
    }
}
