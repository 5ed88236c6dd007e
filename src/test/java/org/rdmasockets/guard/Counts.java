package org.rdmasockets.guard;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLongArray;
import org.rdmasockets.verbs.ScatterGatherList;

/** How often something was done, by all threads together. Counting allocates nothing. */
final class Counts {
    /** The events and bytes that are counted. */
    enum What {
        /** Calls of {@code ibv_post_send}, but for the next ones; each rings a doorbell. */
        POST_SEND,
        /** Writes of nothing, which the peer does not notice: by the clock, so more per message on a slow machine. */
        SIGN_OF_LIFE,
        /** Of the posts, the ones with payload in place of a bare message. */
        PAYLOADS,
        /** Bytes that the requests carried. */
        PAYLOAD_BYTES,
        /** Bytes that the processor copied until they were posted, or by the post. */
        COPIED_BYTES,
        /** Calls of {@code ibv_post_recv}. */
        POST_RECEIVE,
        /** Calls of {@code ibv_poll_cq} that found something. */
        POLL,
        /** Completions that were polled. */
        COMPLETION,
        /** Calls of {@code ibv_req_notify_cq}. */
        ARM,
        /** Events that a waiting thread was woken for, and wake-ups asked for by another thread. */
        EVENT
    }

    private final AtomicLongArray counts = new AtomicLongArray(What.values().length);
    /** Memory of the application: bytes that a device reads there were not copied. */
    private volatile MemorySegment own = MemorySegment.NULL;

    /**
     * Names memory of the application that is sent from.
     *
     * @param memory native memory
     */
    void own(MemorySegment memory) {
        own = memory;
    }

    /**
     * Tells whether a request reads from the application's memory.
     *
     * @param elements the memory that the request reads
     * @return true if its first element lies there
     */
    boolean isOwn(ScatterGatherList elements) {
        return elements.count() > 0 && elements.address(0) >= own.address()
                && elements.address(0) < own.address() + own.byteSize();
    }

    /**
     * Counts.
     *
     * @param what the event that happened
     * @param times how often
     */
    void add(What what, long times) {
        counts.getAndAdd(what.ordinal(), times);
    }

    /**
     * How often it was done since the start.
     *
     * @param what the event
     * @return the number
     */
    long get(What what) {
        return counts.get(what.ordinal());
    }
}
