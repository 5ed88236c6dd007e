package org.rdmasockets.internal.sharedmemory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import org.rdmasockets.internal.sharedmemory.link.RingEntry;
import org.rdmasockets.verbs.ConnectionParameters;

/**
 * The greeting that two processes exchange when they connect, as the payload of an entry, in network order:
 * <pre>
 *   8  number of the sender's protection domain: its regions carry the same number
 *   4  responder resources, initiator depth, retry count, receiver-not-ready retry count
 *   1+n+4+2  address, scope and port that are asked for; n is 4 or 16, the scope is 0 where there is none
 *   1+n+4+2  address, scope and port of the connecting end
 *   1+n  private data
 * </pre>
 *
 * @param domain number of the sender's protection domain
 * @param parameters the parameters that the sender asks for, or answers with
 * @param destination the address that was asked for
 * @param source the address of the connecting end
 */
record ConnectMessage(long domain, ConnectionParameters parameters, InetSocketAddress destination,
        InetSocketAddress source) {
    /** All but hosts and private data. */
    private static final int FIXED_BYTES = 8 + 4 + 2 * (1 + 4 + 2) + 1;
    private static final int MOST_BYTES = 512;
    private static final int MOST_DATA_BYTES = 255;

    /** The bytes of a payload. */
    byte[] encode() {
        byte[] data = parameters.privateData();
        byte[] to = destination.getAddress().getAddress();
        byte[] from = source.getAddress().getAddress();
        ByteBuffer out = ByteBuffer.allocate(FIXED_BYTES + to.length + from.length + data.length);
        out.putLong(domain).put((byte) parameters.responderResources()).put((byte) parameters.initiatorDepth())
                .put((byte) parameters.retryCount()).put((byte) parameters.receiverNotReadyRetryCount());
        put(out, destination, to);
        put(out, source, from);
        return out.put((byte) data.length).put(data).array();
    }

    private static void put(ByteBuffer out, InetSocketAddress address, byte[] host) {
        int scope = address.getAddress() instanceof Inet6Address scoped ? scoped.getScopeId() : 0;
        out.put((byte) host.length).put(host).putInt(scope).putShort((short) address.getPort());
    }

    /** Reads a payload, which may be any bytes; throws {@code IllegalArgumentException} if it says nothing. */
    static ConnectMessage decode(RingEntry entry) {
        ByteBuffer in = ByteBuffer.wrap(payload(entry, MOST_BYTES));
        try {
            long domain = in.getLong();
            int responder = Byte.toUnsignedInt(in.get());
            int initiator = Byte.toUnsignedInt(in.get());
            int retries = in.get() & 7;
            int notReadyRetries = in.get() & 7;
            InetSocketAddress destination = LocalAddresses.recent(address(in));
            InetSocketAddress source = address(in);
            byte[] data = new byte[Byte.toUnsignedInt(in.get())];
            in.get(data);
            return new ConnectMessage(domain, new ConnectionParameters(data, responder, initiator, retries,
                    notReadyRetries), destination, source);
        } catch (RuntimeException e) {
            throw e instanceof BufferUnderflowException
                    ? new IllegalArgumentException("a greeting of " + in.limit() + " bytes is too short", e) : e;
        }
    }

    private static InetSocketAddress address(ByteBuffer in) {
        int length = in.get();
        if (length != LocalAddresses.IPV4_BYTES && length != LocalAddresses.IPV6_BYTES) {
            throw new IllegalArgumentException("an address has no " + length + " bytes");
        }
        byte[] host = new byte[length];
        in.get(host);
        int scope = in.getInt();
        return new InetSocketAddress(LocalAddresses.host(host, scope), Short.toUnsignedInt(in.getShort()));
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
}
