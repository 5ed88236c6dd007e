package org.rdmasockets.endpoint;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The header of every message between two endpoints: 56 bytes, big-endian.
 *
 * <pre>
 *  0       1       2               4               8              12
 * +-------+-------+---------------+---------------+---------------+---------------+
 * | kind  | flags |       0       | control taken |  data taken   |  word         |
 * +-------+-------+---------------+---------------+---------------+---------------+
 * | number (16)                   | answers (24)                  |
 * +-------------------------------+-------------------------------+
 * | address (32)                  | length (40)                   |
 * +-------------------------------+-------------------------------+
 * | nanoseconds (48)              | payload (56) ...
 * +-------------------------------+
 * </pre>
 *
 * <p>The two counts say how many messages of each class the sender of this header has taken in since the connection
 * began, modulo 2^32: so many credits are free again. Each kind says what the other fields mean to it; those it does
 * not use are 0.
 *
 * @param kind the kind of message
 * @param flags {@link #FIRST}, {@link #IMMEDIATE}, {@link #LEAVING}, {@link #RENDEZVOUS}, or access rights as
 *        {@link Rights} codes them
 * @param controlTaken control messages that the sender has taken in
 * @param dataTaken data messages that the sender has taken in
 * @param word immediate data, a remote key or a result
 * @param number of a lease
 * @param answers the request that this answers, or that is to be answered
 * @param address of a lease's memory, or of a message
 * @param lengthBytes of a whole message, or of a lease's memory
 * @param nanos how long a lease lasts from now on
 */
record Header(Kind kind, int flags, int controlTaken, int dataTaken, int word, long number, long answers,
        long address, long lengthBytes, long nanos) {
    /** How long it is. */
    static final int BYTES = 56;

    /** The first piece of a message: its length is that of the whole message. */
    static final int FIRST = 1;
    /** The message has immediate data. */
    static final int IMMEDIATE = 2;
    /** On nothing but counts: the sender's process ends, and its connection with it. The receiver sends its counts. */
    static final int LEAVING = 4;
    /**
     * Of a MESSAGE without bytes: the message is in memory of its sender, at the address, and {@code word} is the key.
     * The receiver reads it from there, then answers with MESSAGE_READ.
     */
    static final int RENDEZVOUS = 8;

    private static final int FLAGS_OFFSET = 1;
    private static final int CONTROL_TAKEN_OFFSET = 4;
    private static final int DATA_TAKEN_OFFSET = 8;
    private static final int WORD_OFFSET = 12;
    private static final int NUMBER_OFFSET = 16;
    private static final int ANSWERS_OFFSET = 24;
    private static final int ADDRESS_OFFSET = 32;
    private static final int LENGTH_OFFSET = 40;
    private static final int NANOS_OFFSET = 48;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    /** The kinds of messages, in the order of their numbers from 1. The first three are data, the others control. */
    enum Kind {
        /** A piece of a message of the application. */
        MESSAGE,
        /** Memory of the sender for the receiver to use. */
        SHARE,
        /** A lease of the sender goes back to the receiver, whose memory it is, for the application to use. */
        HAND_OVER,
        /** A number for a node of a group; so few at a time that untaken ones hold up nothing. */
        SIGNAL,
        /** Nothing but the counts. */
        CREDIT,
        /** The sender wants memory. */
        LEASE_REQUEST,
        /** Memory that the receiver has asked for. */
        LEASE_GRANT,
        /** No memory for the receiver's request: word says why. */
        LEASE_REFUSAL,
        /** The sender does not need the lease any more. */
        LEASE_RELEASE,
        /** The outcome of a HAND_OVER: word is 0, or says why it failed. */
        HANDED_OVER,
        /** The sender is about to leave. */
        BYE,
        /** The sender has read the oldest message that it had to read. */
        MESSAGE_READ;

        private static final Kind[] VALUES = values();

        /** Whether it takes up room until the application has taken it. */
        boolean isData() {
            return compareTo(HAND_OVER) <= 0;
        }
    }

    /** A header that says nothing but its kind. */
    static Header of(Kind kind) {
        return new Header(kind, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    }

    Header withTaken(int control, int data) {
        return new Header(kind, flags, control, data, word, number, answers, address, lengthBytes, nanos);
    }

    Header withNanos(long time) {
        return new Header(kind, flags, controlTaken, dataTaken, word, number, answers, address, lengthBytes, time);
    }

    void write(MemorySegment to) {
        to.set(ValueLayout.JAVA_BYTE, 0, (byte) (kind.ordinal() + 1));
        to.set(ValueLayout.JAVA_BYTE, FLAGS_OFFSET, (byte) flags);
        to.set(ValueLayout.JAVA_BYTE, 2, (byte) 0);
        to.set(ValueLayout.JAVA_BYTE, 3, (byte) 0);
        to.set(INT, CONTROL_TAKEN_OFFSET, controlTaken);
        to.set(INT, DATA_TAKEN_OFFSET, dataTaken);
        to.set(INT, WORD_OFFSET, word);
        to.set(LONG, NUMBER_OFFSET, number);
        to.set(LONG, ANSWERS_OFFSET, answers);
        to.set(LONG, ADDRESS_OFFSET, address);
        to.set(LONG, LENGTH_OFFSET, lengthBytes);
        to.set(LONG, NANOS_OFFSET, nanos);
    }

    /** Reads a peer's header, of which nothing but the kind is checked. */
    static Header read(MemorySegment from) throws Violation {
        int kind = from.get(ValueLayout.JAVA_BYTE, 0);
        if (kind < 1 || kind > Kind.VALUES.length) {
            throw new Violation("there is no kind " + kind + " of message");
        }
        return new Header(Kind.VALUES[kind - 1], Byte.toUnsignedInt(from.get(ValueLayout.JAVA_BYTE, FLAGS_OFFSET)),
                from.get(INT, CONTROL_TAKEN_OFFSET), from.get(INT, DATA_TAKEN_OFFSET), from.get(INT, WORD_OFFSET),
                from.get(LONG, NUMBER_OFFSET), from.get(LONG, ANSWERS_OFFSET), from.get(LONG, ADDRESS_OFFSET),
                from.get(LONG, LENGTH_OFFSET), from.get(LONG, NANOS_OFFSET));
    }
}
