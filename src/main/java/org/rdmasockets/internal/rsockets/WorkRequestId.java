package org.rdmasockets.internal.rsockets;

/**
 * The low 24 bits of {@code wr_id}, which belong to this package; the high 32 bits name the connection.
 *
 * <pre>
 *  63                        32 31  24 23  20 19                     0
 * +----------------------------+------+------+------------------------+
 * |  connection, not of ours   | none | kind |         index          |
 * +----------------------------+------+------+------------------------+
 * </pre>
 *
 * The index is a slot of the send queue, or of the receive queue if the kind is {@link #RECEIVE}.
 */
final class WorkRequestId {
    /** How many low bits are ours. */
    static final int BITS = 24;
    /** A receive. */
    static final int RECEIVE = 0;
    /** Data, or the message that tells of it. */
    static final int DATA = 1;
    /** A credit limit, or the chunk that goes with it. */
    static final int UPDATE = 2;
    /** A disconnect or shut-down message. */
    static final int CONTROL = 3;
    /** A write of nothing, to see whether the peer is there. */
    static final int KEEPALIVE = 4;

    /** A read of how far the peer is. */
    static final int POSITION = 5;

    private static final int INDEX_BITS = 20;
    private static final int INDEX_MASK = (1 << INDEX_BITS) - 1;
    private static final int KIND_MASK = (1 << BITS - INDEX_BITS) - 1;

    private WorkRequestId() {}

    /** Makes an identifier of the connection's part, one of the constants, and a slot below 2^20. */
    static long of(long base, int kind, int index) {
        return base | (long) kind << INDEX_BITS | index;
    }

    /** The purpose of the work request: one of the constants, if it was made here. */
    static int kind(long workRequestId) {
        return (int) (workRequestId >>> INDEX_BITS) & KIND_MASK;
    }

    /** The slot of the work request, below 2^20. */
    static int index(long workRequestId) {
        return (int) workRequestId & INDEX_MASK;
    }

    static String name(long workRequestId) {
        return switch (kind(workRequestId)) {
            case RECEIVE -> "receive";
            case DATA -> "write of data";
            case UPDATE -> "credit update";
            case CONTROL -> "control message";
            case KEEPALIVE -> "keep-alive write";
            case POSITION -> "read of the peer's position";
            default -> "work request " + Long.toHexString(workRequestId);
        };
    }
}
