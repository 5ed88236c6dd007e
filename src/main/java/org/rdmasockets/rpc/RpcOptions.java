package org.rdmasockets.rpc;

import java.time.Duration;
import java.util.Objects;
import org.rdmasockets.internal.lock.NanoTimes;

/**
 * The options of a call. Immutable.
 *
 * @param timeout how long it may take; null for ever. It travels with the call, and the server interrupts the method
 *         then
 * @param idempotent whether the server may run the method more than once: the call is made again, over a new connection
 *        or to a server that was started anew. Without it a method runs at most once
 * @param metadata headers for the server
 * @param retryTime how long connecting is tried again for the call, until its deadline at most; zero for a call that
 *        fails when one attempt has failed; null for the client's own time, or the deadline. With a time of its own a
 *        call that is not idempotent does not wait for a server that it has lost: one further connection asks for its
 *        answer
 * @since 0.1
 */
public record RpcOptions(Duration timeout, boolean idempotent, RpcMetadata metadata, Duration retryTime) {
    /** No deadline, at most once, no metadata, the client's time to try again. */
    public static final RpcOptions DEFAULT = new RpcOptions(null, false, RpcMetadata.EMPTY, null);

    /**
     * Checks.
     *
     * @param timeout longer than nothing, or null
     * @param idempotent whether the method may run more than once
     * @param metadata headers
     * @param retryTime not negative, or null
     */
    public RpcOptions {
        Objects.requireNonNull(metadata);
        if (retryTime != null && retryTime.isNegative()) {
            throw new IllegalArgumentException("the time to try again cannot be negative: " + retryTime);
        }
        if (timeout != null && (timeout.isNegative() || timeout.isZero())) {
            throw new IllegalArgumentException("the time of a call has to be longer than nothing, not " + timeout);
        }
    }

    /**
     * The same with another time.
     *
     * @param time longer than nothing; null for ever
     * @return new options
     */
    public RpcOptions timeout(Duration time) {
        return new RpcOptions(time, idempotent, metadata, retryTime);
    }

    /**
     * The same, but so.
     *
     * @param may whether the method may run more than once
     * @return new options
     */
    public RpcOptions idempotent(boolean may) {
        return new RpcOptions(timeout, may, metadata, retryTime);
    }

    /**
     * The same with other headers.
     *
     * @param headers for the server
     * @return new options
     */
    public RpcOptions metadata(RpcMetadata headers) {
        return new RpcOptions(timeout, idempotent, headers, retryTime);
    }

    /**
     * The same with another time to try again.
     *
     * @param time not negative; zero for one attempt; null for the client's own
     * @return new options
     */
    public RpcOptions retryTime(Duration time) {
        return new RpcOptions(timeout, idempotent, metadata, time);
    }

    /** The deadline of a call that begins now, by {@code System.nanoTime}. */
    long deadlineNanos() {
        return timeout == null ? Long.MAX_VALUE : System.nanoTime() + NanoTimes.nanos(timeout);
    }
}
