package org.rdmasockets.internal.rsockets;

import org.rdmasockets.verbs.MemoryRegion;

/**
 * Where things lie in the two regions that a connection has for all its life.
 *
 * <pre>
 * send region, LOCAL_WRITE                 remote region, LOCAL_WRITE and REMOTE_WRITE
 * +-------------------------------+ 0      +---------------------------+ 0
 * | small send ring               |        | target table, 2 x 16 B    |
 * +-------------------------------+        +---------------------------+ 32
 * | staged chunks, 4 x 16 B       |        | maps, 24 B each; or none  |
 * |                               |        | READ_RING: sink of the    | ring - 128
 * |                               |        | peer's position, and own  | ring - 64
 * |                               |        | position, 32 B each       |
 * +-------------------------------+        +---------------------------+ ring - 16
 * |                               |        | offered chunk, 16 B       |
 * +-------------------------------+        +---------------------------+ ring, 64 without maps
 * | iWARP: messages to send, 4 B  |        | two small chunks          |
 * | per send request              |        +---------------------------+
 * +-------------------------------+
 * | received messages, 4 B per    |  unless receives need no memory;
 * | receive                       |  longer ones for SEND_RECEIVE
 * +-------------------------------+
 * </pre>
 *
 * Where the device copies what is posted, there is no send ring and nothing is staged: payloads come from arrays, and
 * where receives need no memory either, there is no send region. Received messages do not lie behind the ring, as in C:
 * the peer has a key for that region and could rewrite a message after it was delivered.
 */
record RegionLayout(StreamSettings settings, long stagedOffset, long outgoingOffset, long incomingOffset,
        long sendBytes, long ringOffset, long remoteBytes) {
    /** Where the position of a {@link ReadRing} lies: so far before the ring, on both ends. */
    static final int POSITION_BEFORE_RING = 64;
    /** Where the peer's position is read to: so far before the ring. iWARP wants that the peer may write there. */
    static final int SINK_BEFORE_RING = 128;

    private static final int LINE_BYTES = 64;

    /** The one made last: thousands of connections have equal ones, which they share. */
    private static volatile RegionLayout last;

    /** The layout for some sizes. */
    static RegionLayout of(StreamSettings settings) {
        RegionLayout before = last;
        if (before != null && before.settings.equals(settings)) {
            return before;
        }
        long staged = settings.copiesAtPost() ? 0 : line(settings.firstSendBytes());
        long outgoing = line(staged
                + (settings.copiesAtPost() ? 0 : (long) MessageSender.CONTROL_SLOTS * RemoteTargetTable.ENTRY_BYTES));
        long incoming = line(outgoing
                + (settings.immediateData() ? 0 : (long) settings.maxSends() * ImmediateData.BYTES));
        long end = line(incoming
                + (needsMessageSlots(settings) ? (long) settings.maxReceives() * receiveStride(settings) : 0));
        long maps = MapTable.OFFSET + (long) settings.maps() * MapTable.ENTRY_BYTES;
        long ring = settings.flow() == FlowKind.READ_RING ? line(maps) + SINK_BEFORE_RING
                : line(maps + RemoteTargetTable.ENTRY_BYTES);
        RegionLayout made = new RegionLayout(settings, staged, outgoing, incoming, end, ring,
                ring + 2L * settings.firstChunkBytes());
        last = made;
        return made;
    }

    /** Where an offered chunk lies: before the first chunk, in bytes from the beginning of the remote region. */
    long offerOffset() {
        return ringOffset - RemoteTargetTable.ENTRY_BYTES;
    }

    /** The private data for connect or accept, which tells a peer where to write. */
    ConnectData describe(MemoryRegion remote) {
        return new ConnectData(ConnectData.isNativeBigEndian(), true, settings.credits(), remote.address(),
                remote.remoteKey(), RemoteTargetTable.ENTRIES, remote.address() + ringOffset, remote.remoteKey(),
                settings.firstChunkBytes(), settings.maps(), settings.flow(), settings.flowBytes());
    }

    /** Whether receives need memory: each has a slot then. */
    static boolean needsMessageSlots(StreamSettings settings) {
        return !settings.immediateData() || !settings.emptyReceive() || settings.flow() == FlowKind.SEND_RECEIVE;
    }

    /** How far it is from one receive's slot to the next. */
    static int receiveStride(StreamSettings settings) {
        int bytes = settings.receiveBytes();
        return bytes == ImmediateData.BYTES ? bytes : (int) line(bytes);
    }

    /** Checks that everything has its place; the send region may be null if it has no size. */
    void check(MemoryRegion send, MemoryRegion remote) {
        long there = send == null ? 0 : send.lengthBytes();
        if (there < sendBytes || remote.lengthBytes() < remoteBytes) {
            throw new IllegalArgumentException("regions of " + there + " and " + remote.lengthBytes()
                    + " bytes, need " + sendBytes + " and " + remoteBytes);
        }
    }

    private static long line(long offset) {
        return (offset + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    }
}
