package org.rdmasockets.rpc;

import java.io.IOException;
import java.util.Objects;

/**
 * A call did not end well. A method throws this to say so; any other exception of a method is
 * {@link RpcStatus#UNKNOWN} to its client.
 *
 * @since 0.1
 */
public final class RpcException extends IOException {
    private static final long serialVersionUID = 1L;

    /** How it ended. */
    private final RpcStatus status;
    /** The metadata that the server has sent with it. */
    private final transient RpcMetadata trailers;

    /**
     * A failure.
     *
     * @param status not {@link RpcStatus#OK}
     * @param message says what went wrong, and what to do about it
     */
    public RpcException(RpcStatus status, String message) {
        this(status, message, RpcMetadata.EMPTY, null);
    }

    /**
     * A failure with metadata.
     *
     * @param status not {@link RpcStatus#OK}
     * @param message says what went wrong, and what to do about it; at most 4 KiB travel
     * @param trailers more about it, for programs
     * @param cause null for none; does not travel
     */
    public RpcException(RpcStatus status, String message, RpcMetadata trailers, Throwable cause) {
        super(Objects.requireNonNullElse(message, ""), cause);
        if (status == RpcStatus.OK) {
            throw new IllegalArgumentException("OK is no failure");
        }
        this.status = status;
        this.trailers = trailers;
    }

    /** {@return how the call ended, never {@link RpcStatus#OK}} */
    public RpcStatus status() {
        return status;
    }

    /** {@return the metadata that the server has sent at the end, empty for none} */
    public RpcMetadata trailers() {
        return trailers == null ? RpcMetadata.EMPTY : trailers;
    }

    @Override
    public String toString() {
        return "RpcException: " + status + ": " + getMessage();
    }
}
