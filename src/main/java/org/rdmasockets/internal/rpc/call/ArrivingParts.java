package org.rdmasockets.internal.rpc.call;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Messages that come in parts, until their frames come: each in an array that is the message in the end, and grows with
 * what has come, whatever the peer has announced. Each counts as what has arrived and waits. One that finds no room is
 * dropped alone: further parts of it are ignored, and its frame lacks its message. The reader adds, any thread may
 * drop.
 */
public final class ArrivingParts {
    /** The reason for the end of a call whose message was dropped. */
    static final String DROPPED = "the server had no room for a message";
    /** So many times what has come, a message has memory. */
    private static final int GROWTH = 32;
    /** So many messages come at once; of an honest peer, as many as threads that send. */
    private static final int MOST = 1024;
    /** The weight of a message beside its bytes. */
    private static final int ENTRY_BYTES = 256;
    /** So long a message may take, and again for each MiB of it that has come, where others want its room. */
    private static final long SLOW_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final CallConnection connection;
    /** By their number; guarded by this, as the next. */
    private final Map<Integer, Arriving> arriving = new HashMap<>(2);
    private boolean closed;

    /** The bytes of a part, where they are. */
    @FunctionalInterface
    interface Bytes {
        /** Copies them to an array, from an index on. */
        void copyTo(byte[] to, int at);
    }

    private static final class Arriving {
        private byte[] bytes = {};
        private int done;
        private final int call;
        private final int whole;
        private final long beganNanos = System.nanoTime();

        private Arriving(int call, int whole) {
            this.call = call;
            this.whole = whole;
        }

        private long weight() {
            return bytes.length + ENTRY_BYTES;
        }
    }

    /** None, of a connection that bounds them. */
    ArrivingParts(CallConnection connection) {
        this.connection = connection;
    }

    /**
     * Reads the next frame of a message, with its own message if that has come in parts.
     *
     * @return null if it was a part, which goes up to the end
     */
    public Frame read(ByteBuffer from) throws ProtocolViolation {
        if (Frame.isPart(from)) {
            int size = from.remaining() - Frame.FIXED_BYTES;
            add(from, size, (to, at) -> from.get(from.position() + Frame.FIXED_BYTES, to, at, size));
            from.position(from.limit());
            return null;
        }
        Frame frame = Frame.decodeNext(from);
        if (frame.has(Frame.IN_PARTS)) {
            finish(frame);
        }
        if (frame.kind == Frame.CANCEL || frame.has(Frame.LAST)) {
            drop(frame.call);
        }
        return frame;
    }

    /** Adds a part of some bytes with a head, which {@link Frame#isPart} has found. */
    void add(ByteBuffer head, int size, Bytes bytes) throws ProtocolViolation {
        int at = head.position();
        int flags = head.get(at + 1) & ~Frame.BEGINS;
        int call = head.getInt(at + 4);
        int number = head.getInt(at + 8);
        int whole = head.getInt(at + 12);
        if (flags != Frame.HAS_MESSAGE || size < 1 || whole > connection.maxMessage()) {
            throw new ProtocolViolation("a part of " + size + " bytes of a message of " + whole + ", flags " + flags
                    + "; this end has said " + connection.maxMessage());
        }
        boolean full = connection.isFull(); // without a lock: it may drop messages of other connections
        synchronized (this) {
            boolean begins = (head.get(at + 1) & Frame.BEGINS) != 0;
            Arriving one = begins ? begin(number, call, whole) : arriving.get(number);
            if (one == null) {
                return;
            }
            int have = one.done + size;
            if (call != one.call || whole != one.whole || have > whole || have < 0) {
                throw new ProtocolViolation("a part of " + size + " bytes of a message of " + whole + " of call " + call
                        + ", of which " + one.done + " of " + one.whole + " of call " + one.call + " have come");
            }
            if (have > one.bytes.length) {
                if (full) {
                    remove(number, one);
                    return;
                }
                int before = one.bytes.length;
                one.bytes = Arrays.copyOf(one.bytes, (int) Math.min(whole, (long) GROWTH * have));
                connection.onHeld(one.bytes.length - before);
            }
            bytes.copyTo(one.bytes, one.done);
            one.done = have;
        }
    }

    /** This held: begins a message; null if it is of no use. */
    private Arriving begin(int number, int call, int whole) throws ProtocolViolation {
        if (arriving.containsKey(number)) {
            throw new ProtocolViolation("a second message by number " + number + ", of call " + call);
        }
        if (closed || arriving.size() == MOST || !connection.awaitsParts(call)) {
            return null;
        }
        Arriving one = new Arriving(call, whole);
        arriving.put(number, one);
        connection.onHeld(one.weight());
        return one;
    }

    /** Gives the frame that follows the parts its message, or says that it lacks it. */
    private synchronized void finish(Frame frame) throws ProtocolViolation {
        boolean named = frame.message != null && frame.message.length == Integer.BYTES;
        int number = named ? ByteBuffer.wrap(frame.message).getInt() : 0;
        Arriving one = named ? arriving.get(number) : null;
        if (!named || one != null && (one.done < one.whole || one.call != frame.call)) {
            throw new ProtocolViolation("behind the parts of a message that is not whole: " + frame);
        }
        if (closed) { // its message was not dropped alone
            throw new ProtocolViolation("behind the end of the connection: " + frame);
        }
        frame.lacksMessage = one == null;
        if (one != null) {
            frame.message = one.bytes;
            remove(number, one);
        }
    }

    /** The messages of a call are of no use any more. */
    synchronized void drop(int call) {
        if (!arriving.isEmpty()) { // takes no memory then
            removeIf(one -> one.call == call);
        }
    }

    /** Drops messages that come too slowly. */
    synchronized void dropSlow(long nowNanos) {
        removeIf(one -> nowNanos - one.beganNanos > SLOW_NANOS * (1 + (one.done >> 20)));
    }

    private void remove(int number, Arriving one) {
        arriving.remove(number);
        connection.onHeld(-one.weight());
    }

    private void removeIf(Predicate<Arriving> which) {
        if (!arriving.isEmpty()) {
            arriving.values().removeIf(one -> {
                boolean goes = which.test(one);
                if (goes) {
                    connection.onHeld(-one.weight());
                }
                return goes;
            });
        }
    }

    /** The connection is over: all are dropped, and none begins. */
    synchronized void close() {
        closed = true;
        removeIf(one -> true);
    }
}
