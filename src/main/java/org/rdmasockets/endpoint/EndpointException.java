package org.rdmasockets.endpoint;

import java.io.IOException;
import java.util.Objects;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.WorkCompletionStatus;

/**
 * An operation of an endpoint failed. The text says what, why and what to do about it.
 *
 * @since 0.1
 */
public final class EndpointException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Why. */
    private final Reason reason;
    /** The device's status of the request. */
    private final WorkCompletionStatus status;

    /**
     * Why an operation failed.
     *
     * @since 0.1
     */
    public enum Reason {
        /** The endpoint was closed, before the operation or during it. */
        CLOSED,
        /** The peer has closed its end. */
        PEER_CLOSED,
        /** The peer has died, or the way to it is lost. */
        PEER_GONE,
        /** The peer has broken the protocol, or speaks another one. */
        PROTOCOL,
        /** The device failed a request, {@link EndpointException#status} tells how; or is gone. */
        DEVICE,
        /** A lease has ended, or does not allow what was asked. */
        LEASE,
        /** The peer said no: it gives no memory, or not so much. */
        REFUSED,
        /** The request exceeds what this device, or this peer, can do. */
        LIMIT,
        /** Other members of a group have failed before. */
        POISONED
    }

    EndpointException(Reason reason, String message) {
        this(reason, message, WorkCompletionStatus.SUCCESS);
    }

    EndpointException(Reason reason, String message, WorkCompletionStatus status) {
        super(message);
        this.reason = Objects.requireNonNull(reason);
        this.status = status;
    }

    /** A device that would not take a request, for a reason of this number. */
    static EndpointException ofPost(String call, int error) {
        return new EndpointException(Reason.DEVICE, call + " failed: " + Errno.of(error) + " (" + error + ")");
    }

    /** The same failure, as it looks to another operation that ends by it: with a stack trace of its own. */
    EndpointException again() {
        EndpointException other = new EndpointException(reason, getMessage(), status);
        other.initCause(this);
        return other;
    }

    /** {@return why it failed} */
    public Reason reason() {
        return reason;
    }

    /**
     * The device's status of the request that broke the connection.
     *
     * @return the status; {@link WorkCompletionStatus#SUCCESS} if no request of this end failed
     */
    public WorkCompletionStatus status() {
        return status;
    }
}
