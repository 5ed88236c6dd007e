package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongPredicate;

/**
 * Messages that come in parts, each in an array of its own, which is the message in the end. Its memory grows with what
 * has come, whatever the peer has announced. One thread at a time.
 */
final class ArrivingParts {
    /** So much memory a message gets at once, and then this times what has come. */
    private static final int FIRST_BYTES = 256 << 10;
    private static final int GROWTH = 16;

    private final LongPredicate judge;
    private final long maxMessage;
    private final Map<Integer, Arriving> arriving = new HashMap<>();

    /** A message that is not whole. */
    static final class Arriving {
        /** Has room for the next part, from {@link #done} on. */
        byte[] bytes = {};
        int done;
        private final long whole;

        private Arriving(long whole) {
            this.whole = whole;
        }
    }

    /** No messages yet, of at most so many bytes; the judge is that of {@link Carrier#onParts}. */
    ArrivingParts(LongPredicate judge, long maxMessage) {
        this.judge = judge;
        this.maxMessage = maxMessage;
    }

    /** Makes room for a part of so many bytes, 1 or more, whose copy and count are the caller's. */
    Arriving room(int call, long whole, int size) throws IOException {
        Arriving one = arriving.get(call);
        if (one == null && arriving.size() < EndpointCarrier.MOST_LONG && whole <= maxMessage) {
            one = new Arriving(whole);
            arriving.put(call, one);
        }
        if (one == null || whole != one.whole || size < 1 || size > whole - one.done) {
            throw new ProtocolViolation("a part of " + size + " bytes of a message of " + whole + " for call " + call
                    + (one == null ? ", beside " + arriving.size() + "; this end has said " + maxMessage
                    : ", after " + one.done + " of " + one.whole));
        }
        int have = one.done + size;
        if (have > one.bytes.length) {
            int larger = (int) Math.min(whole, Math.max(FIRST_BYTES, (long) GROWTH * have));
            if (!judge.test(larger - one.bytes.length)) {
                throw new IOException("no memory for " + have + " bytes of a message of " + whole
                        + ": far too many bytes wait here");
            }
            one.bytes = Arrays.copyOf(one.bytes, larger);
        }
        return one;
    }

    /** Takes a message that is whole. */
    byte[] finish(int call) throws ProtocolViolation {
        Arriving one = arriving.get(call);
        if (one == null || one.done < one.whole) {
            throw new ProtocolViolation("the message of call " + call + " has not come in parts");
        }
        drop(call);
        return one.bytes;
    }

    /** The peer gives a message up. */
    void drop(int call) {
        Arriving one = arriving.remove(call);
        if (one != null) {
            judge.test(-one.bytes.length);
        }
    }
}
