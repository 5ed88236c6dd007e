package org.rdmasockets.internal.rsockets;

import java.io.IOException;
import java.net.SocketException;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.WorkCompletionStatus;

/**
 * Why a connection broke: for the application, in the JDK's words where it has some; in detail, for the log and as the
 * cause; and whether that is a violation of the protocol, so that nothing the peer sent may be read any more.
 */
public record StreamFailure(String message, String detail, boolean violation) {
    /** The JDK's text for a connection that broke. */
    public static final String CONNECTION_RESET = "Connection reset";
    /** The JDK's text for a write to a peer that reads no more. */
    public static final String BROKEN_PIPE = "Broken pipe";

    /** The peer or the way to it is gone: "Connection reset". Data that arrived before can still be read. */
    public static StreamFailure reset(String detail) {
        return new StreamFailure(CONNECTION_RESET, detail, false);
    }

    /** Not the peer's doing, such as a deadline or a removed device. Data that arrived before can still be read. */
    public static StreamFailure of(String message, String detail) {
        return new StreamFailure(message, detail, false);
    }

    /** The peer broke the protocol. */
    static StreamFailure violation(String what) {
        return new StreamFailure("rsockets protocol violated by the peer: " + what, what, true);
    }

    /** A request failed. No status accuses the peer: one that was killed refuses access, for its memory goes first. */
    static StreamFailure completion(long workRequestId, int status) {
        return reset(WorkRequestId.name(workRequestId) + " failed: " + WorkCompletionStatus.of(status) + " (" + status
                + ")");
    }

    /** A work request could not be posted. */
    static StreamFailure post(String call, int errorNumber) {
        return reset(call + " failed: " + Errno.of(errorNumber) + " (" + errorNumber + ")");
    }

    /**
     * Tells which of two failures counts: the first, but a reset that turns out to have a reason of its own, such as a
     * removed device, gets that, and after a violation nothing may be read.
     */
    boolean outranks(StreamFailure earlier) {
        return !earlier.violation && (violation || earlier.message.equals(CONNECTION_RESET)
                && !message.equals(CONNECTION_RESET));
    }

    /** A new exception each time, with {@link #message()}, caused by {@link #detail()}. */
    public SocketException exception() {
        SocketException exception = new SocketException(message);
        if (!violation) {
            exception.initCause(new IOException(detail));
        }
        return exception;
    }
}
