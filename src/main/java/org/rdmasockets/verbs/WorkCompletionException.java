package org.rdmasockets.verbs;

import java.io.IOException;
import java.util.Objects;

/**
 * A request did not succeed: which one, how it ended, the vendor's own code, and what to do about it. The text reads
 * {@code write of 64 bytes failed: REMOTE_ACCESS_ERROR (10), vendor code 0x88; the peer's key, ...}.
 *
 * @since 0.1
 */
public final class WorkCompletionException extends IOException {
    private static final long serialVersionUID = 1L;

    /** How the request ended. */
    private final WorkCompletionStatus status;
    /** The device's number of the status. */
    private final int statusNumber;
    /** The vendor's own code. */
    private final int vendorError;

    /**
     * A failed request.
     *
     * @param request the request, in words
     * @param statusNumber {@link WorkCompletions#status}
     * @param vendorError {@link WorkCompletions#vendorError}, 0 if there is none
     */
    public WorkCompletionException(String request, int statusNumber, int vendorError) {
        super(text(Objects.requireNonNull(request), statusNumber, vendorError));
        this.status = WorkCompletionStatus.of(statusNumber);
        this.statusNumber = statusNumber;
        this.vendorError = vendorError;
    }

    private static String text(String request, int statusNumber, int vendorError) {
        WorkCompletionStatus status = WorkCompletionStatus.of(statusNumber);
        String vendor = vendorError == 0 ? "" : ", vendor code 0x" + Integer.toHexString(vendorError);
        return request + " failed: " + status + " (" + statusNumber + ")" + vendor + "; " + status.hint();
    }

    /** {@return how the request ended, {@link WorkCompletionStatus#UNKNOWN} for a number without a name} */
    public WorkCompletionStatus status() {
        return status;
    }

    /** {@return how the request ended, as the device's number} */
    public int statusNumber() {
        return statusNumber;
    }

    /** {@return the vendor's own code, which the manual or the driver of the device explains, 0 if there is none} */
    public int vendorError() {
        return vendorError;
    }

    /** {@return the cause of the failure: the class of {@link #status}} */
    public ErrorClass errorClass() {
        return status.errorClass();
    }
}
