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
 * @since 0.1
 */
public record RpcOptions(Duration timeout, boolean idempotent, RpcMetadata metadata) {
    /** No deadline, at most once, no metadata. */
    public static final RpcOptions DEFAULT = new RpcOptions(null, false, RpcMetadata.EMPTY);

    /**
     * Checks.
     *
     * @param timeout longer than nothing, or null
     * @param idempotent whether the method may run more than once
     * @param metadata headers
     */
    public RpcOptions {
        Objects.requireNonNull(metadata);
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
        return new RpcOptions(time, idempotent, metadata);
    }

    /**
     * The same, but so.
     *
     * @param may whether the method may run more than once
     * @return new options
     */
    public RpcOptions idempotent(boolean may) {
        return new RpcOptions(timeout, may, metadata);
    }

    /**
     * The same with other headers.
     *
     * @param headers for the server
     * @return new options
     */
    public RpcOptions metadata(RpcMetadata headers) {
        return new RpcOptions(timeout, idempotent, headers);
    }

    /** The deadline of a call that begins now, by {@code System.nanoTime}. */
    long deadlineNanos() {
        return timeout == null ? Long.MAX_VALUE : System.nanoTime() + NanoTimes.nanos(timeout);
    }
}
