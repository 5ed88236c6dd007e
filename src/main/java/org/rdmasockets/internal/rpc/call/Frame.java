package org.rdmasockets.internal.rpc.call;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One word of the protocol of calls, in network byte order:
 *
 * <pre>
 *  0                   1                   2                   3
 * +-------+-------+---------------+-------------------------------+
 * | kind  | flags |     code      |          call (id)            |   0
 * +-------+-------+---------------+-------------------------------+
 * |                             value                             |   8
 * +-------------------------------+---------------+---------------+
 * |        metadata bytes         |  text bytes   |  frame bytes  |  16
 * +-------------------------------+---------------+---------------+
 * |            number, and all below that are answered            |  24, if NUMBERED
 * +---------------------------------------------------------------+
 * | text, metadata, message (to the end)                            |
 * </pre>
 *
 * <p>A message of an endpoint has one frame or several, one behind the other. All but the last say how long they are;
 * the last, and each that is alone, says 0 and ends with the message.
 *
 * <p>Fields are written before the frame is sent, and read by the thread that received it.
 */
public final class Frame {
    /**
     * First of each end. Client: message = identifier, highest number. Server: message = instance, answered = most
     * calls.
     */
    static final int HELLO = 1;
    /** Opens a call. Text = method, value = microseconds until the deadline, 0 for none. */
    static final int CALL = 2;
    /** Headers, a message, an end, or several of these. With LAST from a server: code, text and trailers. */
    static final int MESSAGE = 3;
    /** The sender does not want the call any more; code says why. */
    static final int CANCEL = 4;
    /** The sender has consumed so many bytes more (value). */
    static final int WINDOW = 5;
    /** The server takes no more calls; those that have begun go on. With LAST they have ended, and none begins. */
    static final int GOAWAY = 6;
    /** The client has all answers below what it says is answered. */
    static final int ANSWERED = 7;
    /**
     * Some bytes of a long message of a call, by themselves. Value = a number that the sender gives the message, and in
     * its lower half the message's length. The frame of the message follows the last part, with IN_PARTS.
     */
    static final int PART = 8;

    /** The sender says no more in this call. */
    static final int LAST = 1;
    /** There is a message, perhaps an empty one. */
    static final int HAS_MESSAGE = 2;
    /** The metadata are headers, not trailers. */
    static final int HEADERS = 4;
    /** There is a number. */
    static final int NUMBERED = 8;
    /** A number that may have been sent before. */
    static final int REPEAT = 16;
    /** The call was refused before anything was done. */
    static final int NOT_BEGUN = 32;
    /** The message has come before, in parts; here is its number. */
    static final int IN_PARTS = 64;
    /** Of a PART: the first of its message. */
    static final int BEGINS = HEADERS;
    /** Of a HELLO: the sender takes messages in parts. */
    static final int TAKES_PARTS = REPEAT;
    private static final int ALL_FLAGS = 127;

    /** The longest block of metadata. */
    public static final int MAX_METADATA = 16 << 10;
    /** The longest name of a method, or text of a status, in bytes. */
    public static final int MAX_TEXT = 4 << 10;
    /** All that a frame may have beside its message. */
    public static final int MAX_OVERHEAD = 40 + MAX_METADATA + MAX_TEXT;

    /** Where a frame says how long it is, when another follows in the same message: an unsigned short. */
    static final int LENGTH_OFFSET = 22;

    /** The head of a part. */
    public static final int FIXED_BYTES = 24;
    private static final int NUMBER_BYTES = 16;
    private static final byte[] NOTHING = {};

    final int kind;
    final int flags;
    final int call;
    int code;
    long value;
    long number;
    long answered;
    String text = "";
    byte[] metadata;
    /** Null unless HAS_MESSAGE. */
    byte[] message;
    /** The message has come in parts, and was dropped here. */
    boolean lacksMessage;
    /** The number of its message, and how much of that has gone in parts: an interrupted sender goes on there. */
    private int partsNumber;
    private int partsBytes;
    /** Whether some of these are large ones, which the peer reads out of the memory of this end. */
    boolean inLargeParts;
    /** The text, while this is encoded. */
    private byte[] textBytes = NOTHING;

    Frame(int kind, int flags, int call) {
        this.kind = kind;
        this.flags = flags;
        this.call = call;
    }

    Frame(int kind, int flags, int call, byte[] message) {
        this(kind, message == null ? flags : flags | HAS_MESSAGE, call);
        this.message = message;
    }

    /** {@return how long the message is, 0 without one} */
    public int messageBytes() {
        return length(message);
    }

    /** A number for its message, the next one unless parts of it have gone already. */
    public int numberForParts(AtomicInteger last) {
        partsNumber = partsBytes == 0 ? last.incrementAndGet() : partsNumber;
        return partsNumber;
    }

    /** {@return how much of its message has gone in parts} */
    public int partsBytes() {
        return partsBytes;
    }

    /** So much of its message has gone in parts: who sends it again goes on there. */
    public void partsBytes(int bytes) {
        partsBytes = bytes;
    }

    /** A part of its message, from such a byte on, encoded; the message has such a number. */
    public byte[] part(int number, int from, int size) {
        byte[] part = new byte[FIXED_BYTES + size];
        partHead(number, from).encodeHead(ByteBuffer.wrap(part));
        System.arraycopy(message, from, part, FIXED_BYTES, size);
        return part;
    }

    /** The head of a part, which its bytes follow. */
    Frame partHead(int number, int from) {
        Frame part = new Frame(PART, from == 0 ? HAS_MESSAGE | BEGINS : HAS_MESSAGE, call);
        part.value = (long) number << 32 | message.length;
        return part;
    }

    /** The same frame behind the parts of its message, which has such a number, so many microseconds later. */
    public Frame behindParts(int messageNumber, long micros) {
        Frame frame = new Frame(kind, flags | IN_PARTS, call, ByteBuffer.allocate(Integer.BYTES).putInt(messageNumber)
                .array());
        frame.code = code;
        frame.value = kind == CALL && value > 0 ? Math.max(1, value - micros) : value;
        frame.number = number;
        frame.answered = answered;
        frame.text = text;
        frame.metadata = metadata;
        return frame;
    }

    /** Whether a part begins here, which goes up to the end. */
    static boolean isPart(ByteBuffer from) {
        int at = from.position();
        return from.remaining() >= FIXED_BYTES && from.get(at) == PART && from.getLong(at + 16) == 0;
    }

    boolean has(int flag) {
        return (flags & flag) != 0;
    }

    /** Whether this is a word about calls without anything of theirs: as many may wait as there are calls. */
    public boolean isShort() {
        return kind >= CANCEL;
    }

    /** Prepares for {@link #encode}, and tells how many bytes that writes. */
    public int size() {
        textBytes = text.isEmpty() ? NOTHING : text.getBytes(StandardCharsets.UTF_8);
        if (textBytes.length > MAX_TEXT) {
            textBytes = new String(textBytes, 0, MAX_TEXT - 4, StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_8);
        }
        return FIXED_BYTES + (has(NUMBERED) ? NUMBER_BYTES : 0) + textBytes.length + length(metadata) + length(message);
    }

    private static int length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    /** Writes the frame, after {@link #size}, big endian, to where there is room for it. */
    public void encode(ByteBuffer to) {
        encodeHead(to);
        if (message != null) {
            to.put(message);
        }
    }

    /** Writes what comes before the message, after {@link #size}, big endian, to where there is room for it. */
    void encodeHead(ByteBuffer to) {
        to.putLong((long) kind << 56 | (long) flags << 48 | (long) code << 32 | call & 0xFFFF_FFFFL);
        to.putLong(value);
        to.putLong((long) length(metadata) << 32 | (long) textBytes.length << 16);
        if (has(NUMBERED)) {
            to.putLong(number).putLong(answered);
        }
        to.put(textBytes);
        if (metadata != null) {
            to.put(metadata);
        }
    }

    /** Reads a frame, with copies of its parts, from all of a message, big endian, that has no other. */
    public static Frame decode(ByteBuffer from) throws ProtocolViolation {
        Frame frame = decodeNext(from);
        if (from.hasRemaining()) {
            throw new ProtocolViolation(from.remaining() + " bytes behind a frame that has to be alone");
        }
        return frame;
    }

    /** Reads the next frame of a message, up to where that says that it ends; nothing is left behind the last one. */
    static Frame decodeNext(ByteBuffer from) throws ProtocolViolation {
        int all = from.remaining();
        int own = all < FIXED_BYTES ? 0 : from.getShort(from.position() + LENGTH_OFFSET) & 0xFFFF;
        if (all < FIXED_BYTES || own > 0 && (own < FIXED_BYTES || own >= all)) {
            throw new ProtocolViolation("a frame of " + own + " bytes in " + all);
        }
        int limit = from.limit();
        if (own > 0) {
            from.limit(from.position() + own);
        }
        Frame frame = decodeAll(from);
        from.limit(limit);
        return frame;
    }

    /** Reads a frame to the end of a buffer, which has the fixed part at least. */
    private static Frame decodeAll(ByteBuffer from) throws ProtocolViolation {
        long head = from.getLong();
        long value = from.getLong();
        long lengths = from.getLong();
        Frame frame = new Frame((int) (head >>> 56), (int) (head >>> 48) & 0xFF, (int) head);
        frame.code = (int) (head >>> 32) & 0xFFFF;
        frame.value = value;
        long metadataBytes = lengths >>> 32;
        int textBytes = (int) (lengths >>> 16) & 0xFFFF;
        boolean numbered = frame.has(NUMBERED);
        long need = metadataBytes + textBytes + (numbered ? NUMBER_BYTES : 0);
        if (frame.kind < HELLO || frame.kind > ANSWERED || frame.flags > ALL_FLAGS || frame.code >= Code.COUNT
                || metadataBytes > MAX_METADATA || textBytes > MAX_TEXT || need > from.remaining()) {
            throw new ProtocolViolation("kind " + frame.kind + ", flags " + frame.flags + ", code " + frame.code + ", "
                    + metadataBytes + " bytes of metadata and " + textBytes + " of text in " + from.limit() + " bytes");
        }
        if (numbered) {
            frame.number = from.getLong();
            frame.answered = from.getLong();
        }
        if (textBytes > 0) {
            frame.text = new String(bytes(from, textBytes), StandardCharsets.UTF_8);
        }
        if (metadataBytes > 0) {
            frame.metadata = bytes(from, (int) metadataBytes);
        }
        if (frame.has(HAS_MESSAGE)) {
            frame.message = bytes(from, from.remaining());
        } else if (from.hasRemaining()) {
            throw new ProtocolViolation(from.remaining() + " bytes behind a frame without a message");
        }
        return frame;
    }

    private static byte[] bytes(ByteBuffer from, int count) {
        byte[] bytes = new byte[count];
        from.get(bytes);
        return bytes;
    }

    @Override
    public String toString() {
        return "Frame[kind=" + kind + " flags=" + flags + " call=" + call + " code=" + code + " value=" + value
                + " message=" + (message == null ? "none" : message.length + " bytes") + "]";
    }
}
