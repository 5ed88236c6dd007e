package org.rdmasockets.internal.rsockets;

import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * Maps memory of this end, for the peer to write to beside the stream (rsockets' direct data placement). Each map has
 * an entry in the peer's table, see {@link MapTable}, and offsets of our choice.
 *
 * <p>Telling of a map costs a credit. C charges itself for that, but gives none back when it is told, so with C each
 * map would cost one for ever. Where the device tries again if the peer has no receive, the message goes to C as one of
 * control; where that would break the connection, on iWARP, the credit is lost as in C.
 *
 * <p>Threads: as the connection's.
 */
public final class MemoryMapper {
    private static final int MAX_ENTRIES = 1 << 16;

    private final StreamConnection connection;
    private final MessageSender sendQueue;
    private final CreditGranter lending;
    private final SendWindow window;
    private final byte[] entry = new byte[MapTable.ENTRY_BYTES];
    /** Lengths of what is mapped, 0 for an entry that is free, and offsets. */
    private final int[] lengths;
    private final long[] offsets;

    private MemoryMapper(StreamConnection connection, CreditRing flow) {
        this.connection = connection;
        sendQueue = connection.sendQueue;
        lending = flow.lending;
        window = flow.window;
        int entries = Math.min(lending.maps, MAX_ENTRIES);
        lengths = new int[entries];
        offsets = new long[entries];
    }

    /** Maps memory for the peer of a connection that has started; it has no maps if its flow has none. */
    public static MemoryMapper of(StreamConnection connection) throws SocketException {
        if (connection.carrier() instanceof CreditRing ring) {
            return new MemoryMapper(connection, ring);
        }
        throw new SocketException("No memory can be mapped over a stream of kind " + connection.flow()
                + "; set STREAM_KIND to CREDIT_RING where the connection is made");
    }

    /**
     * Finds an entry for a map, in use until {@link #release}. An {@code IllegalArgumentException} says that offsets
     * are mapped already or run over the largest number, a {@code SocketException} that the peer takes no more maps.
     */
    public int reserve(long offset, int length) throws SocketException {
        if (offset < 0 || offset > Long.MAX_VALUE - length) {
            throw new IllegalArgumentException("cannot map " + length + " bytes at offset " + offset);
        }
        int free = -1;
        for (int i = lengths.length - 1; i >= 0; i--) {
            if (lengths[i] == 0) {
                free = i;
            } else if (offset < offsets[i] + lengths[i] && offsets[i] < offset + length) {
                throw new IllegalArgumentException("offset " + Math.max(offset, offsets[i]) + " is mapped already");
            }
        }
        if (free < 0) {
            throw new SocketException("The peer takes " + (lengths.length == 0 ? "no maps" : "no more than "
                    + lengths.length + " maps") + ": RDMA_IOMAPSIZE of its socket, or of its server socket, says so");
        }
        offsets[free] = offset;
        lengths[free] = length;
        return free;
    }

    /** Tells the peer of a map that it may write to, if it can be told now. */
    public boolean announce(int index, MemoryRegion region) throws SocketException {
        boolean possible = canTell();
        if (possible) {
            tell(index, region.address(), region.remoteKey(), lengths[index]);
        }
        connection.ensureOutput();
        return possible;
    }

    /**
     * Gives an entry back, and tells the peer, if that is possible at once. C does not tell: ends have to agree anyway,
     * because what is on its way into memory that was closed breaks the connection.
     */
    public void release(int index) {
        if (canTell()) {
            tell(index, 0, 0, 0);
        }
        lengths[index] = 0;
    }

    private boolean canTell() {
        SendBuffer ring = sendQueue.ring;
        return connection.canSend() && ring.hasRoom() && ring.free() >= entry.length;
    }

    private void tell(int index, long address, int key, int length) {
        boolean big = ConnectData.isNativeBigEndian() != lending.swap;
        ByteBuffer.wrap(entry).order(big ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN)
                .putLong(offsets[index]).putLong(address).putInt(key).putInt(length);
        sendQueue.ring.place(entry, 0, entry.length,
                sendQueue.begin(WorkRequestId.DATA, lending.mapAddress(index), lending.key));
        int kept = sendQueue.isInline(entry.length) ? 0 : sendQueue.ring.keep(entry.length);
        if (lending.peerMovesOn() || !window.isRetried()) {
            window.dataSent();
        }
        connection.failUnlessPosted("ibv_post_send", sendQueue.finish(WorkRequestId.DATA, entry.length, kept,
                ImmediateData.map(index)));
    }
}
