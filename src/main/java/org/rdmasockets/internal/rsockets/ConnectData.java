package org.rdmasockets.internal.rsockets;

import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The private data that both ends exchange while connecting ({@code rs_conn_data}), all of it big-endian.
 *
 * <pre>
 *  0        1        2               4                        7           8
 * +--------+--------+---------------+------------------------+-----------+
 * |version |flags   |credits        |reserved, 0             |map entries|
 * +--------+--------+---------------+------------------------+-----------+
 * |target table: address                                                 | 8
 * +-----------------------------------+----------------------------------+
 * |target table: key                  |target table: number of entries   | 16
 * +-----------------------------------+----------------------------------+
 * |first chunk: address                                                  | 24
 * +-----------------------------------+----------------------------------+
 * |first chunk: key                   |first chunk: length in bytes      | 32
 * +-----------------------------------+----------------------------------+ 40
 * |ours, if byte 4 is not 0: size of the ring, or of a message           |
 * +----------------------------------------------------------------------+ 48
 * flags: 1 = the sender is a big-endian host, 2 = the map fields mean something, 4 = the sender moves to a chunk that
 * is offered for all others (ours: C sends 0 and ignores it)
 * </pre>
 *
 * C ignores bytes 4 to 6, the other flags, and all bytes after byte 39: room for extensions; the version stays 1. Byte
 * 4 is ours: the end that connects proposes a {@link FlowKind} there, and the end that accepts agrees by saying the
 * same; every other value means rsockets' own.
 *
 * @param bigEndian true if the sender's table is in big-endian order
 * @param movesOn true if the sender takes offers (see {@link ImmediateData#OFFER})
 * @param credits how many data messages the sender of this takes ahead, 1 to 65534
 * @param tableAddress where the sender's target table is
 * @param tableKey the key for it
 * @param tableEntries how many entries it has, 2 to {@link #MAX_TABLE_ENTRIES}
 * @param chunkAddress where the first chunk is
 * @param chunkKey the key for it
 * @param chunkBytes how long it is, at least 1
 * @param maps how many pieces of memory may be mapped for the sender of this to write to, see {@link MapTable}; the
 *        entries lie behind the table
 * @param flow the kind that is proposed, or agreed to
 * @param flowBytes for {@link FlowKind#READ_RING} the size of the ring, which begins with the first chunk; for
 *        {@link FlowKind#SEND_RECEIVE} the longest message
 */
public record ConnectData(boolean bigEndian, boolean movesOn, int credits, long tableAddress, int tableKey,
        int tableEntries, long chunkAddress, int chunkKey, int chunkBytes, int maps, FlowKind flow, long flowBytes) {
    /** Length on the wire in bytes, without our own fields behind C's. */
    public static final int BYTES = 40;
    /** Length on the wire in bytes, if another flow than rsockets' is proposed. */
    static final int LONG_BYTES = 48;

    /** More entries than any end has a use for; C has 2. */
    static final int MAX_TABLE_ENTRIES = 1 << 16;

    private static final int VERSION = 1;
    private static final int FLAG_BIG_ENDIAN = 1;
    private static final int FLAG_MAP = 2;
    private static final int FLAG_MOVES_ON = 4;

    private static final int VERSION_OFFSET = 0;
    private static final int FLOW_OFFSET = 4;
    private static final int FLAGS_OFFSET = 1;
    private static final int CREDITS_OFFSET = 2;
    private static final int MAPS_OFFSET = 7;
    private static final int TABLE_ADDRESS_OFFSET = 8;
    private static final int TABLE_KEY_OFFSET = 16;
    private static final int TABLE_ENTRIES_OFFSET = 20;
    private static final int CHUNK_ADDRESS_OFFSET = 24;
    private static final int CHUNK_KEY_OFFSET = 32;
    private static final int CHUNK_BYTES_OFFSET = 36;
    private static final int FLOW_BYTES_OFFSET = 40;

    /** Tells the byte order of this host as this protocol does: true on a big-endian host. */
    static boolean isNativeBigEndian() {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;
    }

    /**
     * The bytes for the wire: a new array of {@link #BYTES} bytes, or more if another flow than rsockets' is proposed.
     */
    public byte[] encode() {
        boolean plain = flow == FlowKind.CREDIT_RING;
        ByteBuffer buffer = ByteBuffer.allocate(plain ? BYTES : LONG_BYTES);
        if (!plain) {
            buffer.put(FLOW_OFFSET, (byte) flow.code());
            buffer.putLong(FLOW_BYTES_OFFSET, flowBytes);
        }
        buffer.put(VERSION_OFFSET, (byte) VERSION);
        // C always sets the map flag, also without maps.
        buffer.put(FLAGS_OFFSET, (byte) (FLAG_MAP | (bigEndian ? FLAG_BIG_ENDIAN : 0) | (movesOn ? FLAG_MOVES_ON : 0)));
        buffer.putShort(CREDITS_OFFSET, (short) credits);
        buffer.put(MAPS_OFFSET, (byte) MapTable.scale(maps));
        buffer.putLong(TABLE_ADDRESS_OFFSET, tableAddress);
        buffer.putInt(TABLE_KEY_OFFSET, tableKey);
        buffer.putInt(TABLE_ENTRIES_OFFSET, tableEntries);
        buffer.putLong(CHUNK_ADDRESS_OFFSET, chunkAddress);
        buffer.putInt(CHUNK_KEY_OFFSET, chunkKey);
        buffer.putInt(CHUNK_BYTES_OFFSET, chunkBytes);
        return buffer.array();
    }

    /**
     * Reads and checks what a peer sent: at least {@link #BYTES}, mostly more, because the transport pads. A
     * {@code SocketException} says why no end of a byte stream could have sent it.
     */
    public static ConnectData decode(byte[] privateData) throws SocketException {
        if (privateData.length < BYTES) {
            throw wrong("private data of " + privateData.length + " bytes, need " + BYTES);
        }
        ByteBuffer buffer = ByteBuffer.wrap(privateData);
        int version = Byte.toUnsignedInt(buffer.get(VERSION_OFFSET));
        if (version != VERSION) {
            throw wrong("protocol version " + version + ", need " + VERSION);
        }
        int flags = buffer.get(FLAGS_OFFSET);
        FlowKind flow = FlowKind.ofCode(buffer.get(FLOW_OFFSET));
        boolean plain = flow == FlowKind.CREDIT_RING;
        if (!plain && privateData.length < LONG_BYTES) {
            throw wrong("private data of " + privateData.length + " bytes that proposes " + flow);
        }
        ConnectData data = new ConnectData((flags & FLAG_BIG_ENDIAN) != 0, (flags & FLAG_MOVES_ON) != 0,
                Short.toUnsignedInt(buffer.getShort(CREDITS_OFFSET)), buffer.getLong(TABLE_ADDRESS_OFFSET),
                buffer.getInt(TABLE_KEY_OFFSET), buffer.getInt(TABLE_ENTRIES_OFFSET),
                buffer.getLong(CHUNK_ADDRESS_OFFSET), buffer.getInt(CHUNK_KEY_OFFSET),
                buffer.getInt(CHUNK_BYTES_OFFSET),
                (flags & FLAG_MAP) == 0 ? 0 : MapTable.unscale(Byte.toUnsignedInt(buffer.get(MAPS_OFFSET))),
                flow, plain ? 0 : buffer.getLong(FLOW_BYTES_OFFSET));
        String mistake = data.mistake();
        if (mistake != null) {
            throw wrong(mistake);
        }
        return data;
    }

    /** The first thing in this that no end of a byte stream says, or null. */
    private String mistake() {
        if (credits < 1 || credits > StreamSettings.MAX_QUEUE) {
            return credits + " credits";
        }
        // The first announcement goes to entry 1, so fewer than 2 cannot work.
        if (tableEntries < 2 || tableEntries > MAX_TABLE_ENTRIES) {
            return Integer.toUnsignedString(tableEntries) + " table entries";
        }
        if (!RemoteTargetTable.isRange(tableAddress, tableEntries * RemoteTargetTable.ENTRY_BYTES
                + maps * MapTable.ENTRY_BYTES)) {
            return "a table beyond memory";
        }
        if (!RemoteTargetTable.isRange(chunkAddress, chunkBytes)) {
            return "a first chunk of " + Integer.toUnsignedString(chunkBytes) + " bytes";
        }
        boolean fits = flow == FlowKind.CREDIT_RING || flowBytes > 0 && (flow == FlowKind.SEND_RECEIVE
                || flow == FlowKind.READ_RING
                        && Long.compareUnsigned(chunkAddress, RegionLayout.POSITION_BEFORE_RING) >= 0
                        && Long.compareUnsigned(chunkAddress + flowBytes, chunkAddress) > 0);
        return fits ? null : "a size of " + Long.toUnsignedString(flowBytes) + " bytes for " + flow;
    }

    private static SocketException wrong(String sent) {
        return new SocketException("the peer does not speak rsockets: it sent " + sent);
    }
}
