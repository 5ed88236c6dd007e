package org.rdmasockets.internal.rsockets;

/**
 * The 32-bit message that comes with every write ({@code rs_msg}): immediate data on InfiniBand and RoCE (the verbs
 * layer puts it into network order), a 4-byte send in the sender's byte order on iWARP.
 *
 * <pre>
 *  31  29 28                                                             0
 * +------+----------------------------------------------------------------+
 * |  op  |                            argument                            |
 * +------+----------------------------------------------------------------+
 *    0     DATA     bytes written into the current chunk
 *    4     UPDATE   credit limit, absolute, 16 bits (C: SGL); a chunk may come with it
 *    6     MAP      index of a direct placement map (C: IOMAP_SGL)
 *    7     CONTROL  0 disconnect, 1 keep alive, 2 shut down; ours: 8 offer, 9 moved on, 10 and 11 blocked, 12 wake,
 *                13 leaving, 14 unread
 * </pre>
 */
final class ImmediateData {
    /** Bytes of a message that travels as a send. */
    static final int BYTES = 4;
    /** Data was written into the chunk; costs a credit. */
    static final int DATA = 0;
    /** New credit limit, with or without a new chunk. */
    static final int UPDATE = 4;
    /** A direct placement map was written; costs a credit. */
    static final int MAP = 6;
    /** Something happens to the connection. */
    static final int CONTROL = 7;

    /** Argument of {@link #CONTROL}: the peer neither sends nor receives any more. */
    static final int DISCONNECT = 0;
    /** Argument of {@link #CONTROL}: the peer sends no more data. */
    static final int SHUTDOWN = 2;

    /**
     * Argument of {@link #CONTROL}: a chunk comes with this message, and the peer asks us to use that instead of all
     * that it has lent. Only between ends that both said they take offers, as the next one.
     */
    static final int OFFER = 8;
    /** Argument of {@link #CONTROL}: all data after this goes to the chunk that was offered. */
    static final int MOVED_ON = 9;

    /**
     * Argument of {@link #CONTROL}: the receiver's ring has no room for the sender of this, and the sender waits for
     * {@link #WAKE}. Only between ends that agreed on {@link FlowKind#READ_RING}, as the next two.
     */
    static final int BLOCKED_BY_BYTES = 10;
    /** Argument of {@link #CONTROL}: likewise, all messages that may be on their way are. */
    static final int BLOCKED_BY_MESSAGES = 11;
    /** Argument of {@link #CONTROL}: there is room. */
    static final int WAKE = 12;

    /**
     * Argument of {@link #CONTROL}: the sender's process ends soon. When its queue pair goes without another word, all
     * that has come is all that there was, as when TCP sends the FIN of a process that has ended.
     */
    static final int LEAVING = 13;

    /**
     * Argument of {@link #CONTROL}, before {@link #DISCONNECT}: the sender closes without having read all that has come
     * to it, where TCP resets.
     */
    static final int UNREAD = 14;

    /** Most bytes that one data message can tell. */
    static final int MAX_ARGUMENT = (1 << 29) - 1;

    private static final int OPERATION_SHIFT = 29;
    private static final int CREDIT_MASK = 0xFFFF;

    private ImmediateData() {}

    /** Tells of data, 1 to {@link #MAX_ARGUMENT} bytes. */
    static int data(int bytes) {
        assert bytes > 0 && bytes <= MAX_ARGUMENT : bytes;
        return bytes;
    }

    /** Tells how many data messages the peer may have sent since the start; the low 16 bits travel. */
    static int update(long limit) {
        return UPDATE << OPERATION_SHIFT | (int) limit & CREDIT_MASK;
    }

    /** Tells of data, whose length the message itself has, and a credit limit ({@link FlowKind#SEND_RECEIVE}). */
    static int limit(long limit) {
        return (int) limit & CREDIT_MASK;
    }

    /** Tells of a map: the entry that was written, 0 to 65535. */
    static int map(int index) {
        return MAP << OPERATION_SHIFT | index;
    }

    /** Tells of the connection: {@link #DISCONNECT}, {@link #SHUTDOWN}, {@link #OFFER} or another of these. */
    static int control(int what) {
        return CONTROL << OPERATION_SHIFT | what;
    }

    /** The subject of a message of the peer: 0 to 7. */
    static int operation(int message) {
        return message >>> OPERATION_SHIFT;
    }

    /** The rest of a message of the peer: 0 to {@link #MAX_ARGUMENT}. */
    static int argument(int message) {
        return message & MAX_ARGUMENT;
    }
}
