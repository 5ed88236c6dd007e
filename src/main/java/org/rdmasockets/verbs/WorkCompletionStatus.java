package org.rdmasockets.verbs;

/**
 * How a request ended ({@code enum ibv_wc_status}), in the order of its numbers from 0.
 *
 * @since 0.1
 */
public enum WorkCompletionStatus {
    /** Done. */
    SUCCESS(ErrorClass.NONE, ""),
    /** A local buffer was shorter than the data. */
    LOCAL_LENGTH_ERROR(ErrorClass.LOCAL_PROGRAMMING,
            "post receives as long as the longest message, and send no more than the port and the "
            + "request allow"),
    /** The queue pair was not consistent, or the link went down under soft-iWARP. */
    LOCAL_QUEUE_PAIR_OPERATION_ERROR(ErrorClass.LOCAL_PROGRAMMING,
            "the queue pair cannot do this request in its state; on soft-iWARP the link may have "
            + "gone down"),
    /** End-to-end context error. */
    LOCAL_EE_CONTEXT_OPERATION_ERROR(ErrorClass.LOCAL_PROGRAMMING,
            "the end-to-end context of a reliable datagram does not fit the request"),
    /** A local address or key was not valid. */
    LOCAL_PROTECTION_ERROR(ErrorClass.LOCAL_PROGRAMMING,
            "keep the memory region open until the request completes, give it LOCAL_WRITE if the "
            + "device shall write, and use the protection domain of the queue pair"),
    /** The queue pair went to the error state before this request was executed. */
    FLUSHED(ErrorClass.TRANSPORT,
            "not the first failure: an earlier completion of this queue pair, a connection event "
            + "or a close says why it went to the error state"),
    /** A memory window could not be bound. */
    MEMORY_WINDOW_BIND_ERROR(ErrorClass.LOCAL_PROGRAMMING,
            "bind a window of this protection domain to a region with MEMORY_WINDOW_BIND, within "
            + "its bounds and access, and invalidate it before binding it again"),
    /** The responder answered with an opcode that was not expected. */
    BAD_RESPONSE_ERROR(ErrorClass.TRANSPORT,
            "the peer answered against the protocol: look at its device, its firmware and the "
            + "network between"),
    /** A local buffer could not be used for the data that came. */
    LOCAL_ACCESS_ERROR(ErrorClass.LOCAL_PROGRAMMING,
            "the memory of a receive was not valid for data that came by a write: keep its region "
            + "open"),
    /** The responder found the request invalid. */
    REMOTE_INVALID_REQUEST_ERROR(ErrorClass.REMOTE,
            "the peer's receive was too short for the message, the operation is not enabled on "
            + "its queue pair, or an atomic was not on a multiple of 8 bytes"),
    /** The responder refused the address or key; a peer that was killed answers so, too. */
    REMOTE_ACCESS_ERROR(ErrorClass.REMOTE,
            "the peer's key, address range or access flags do not allow this: use the remote key, "
            + "not the local one, of a region that is still open; a peer that was killed answers "
            + "so, too"),
    /** The responder could not complete the request. */
    REMOTE_OPERATION_ERROR(ErrorClass.REMOTE,
            "the peer's device could not complete the request: look at the errors of the peer"),
    /** The peer did not answer in all retries. */
    RETRY_EXCEEDED(ErrorClass.TIMEOUT,
            "the peer did not answer: it has gone, its queue pair is not ready, the path or the "
            + "GID is wrong, or the acknowledge timeout and retry count are too small"),
    /** The peer had no receive posted in all retries. */
    RECEIVER_NOT_READY_RETRY_EXCEEDED(ErrorClass.TIMEOUT,
            "the peer had no receive posted: let it post receives before this side sends, or "
            + "raise the retry count or its timer"),
    /** Local RDD violation. */
    LOCAL_RDD_VIOLATION_ERROR(ErrorClass.LOCAL_PROGRAMMING,
            "the reliable datagram domain of the queue pair is not that of its end-to-end context"),
    /** Remote invalid RD request. */
    REMOTE_INVALID_RD_REQUEST(ErrorClass.REMOTE,
            "the peer found the reliable datagram request invalid: its domains do not fit"),
    /** The request was aborted. */
    REMOTE_ABORTED_ERROR(ErrorClass.REMOTE, "the peer, or the device on its behalf, aborted the request"),
    /** Invalid end-to-end context number. */
    INVALID_EE_CONTEXT_NUMBER(ErrorClass.LOCAL_PROGRAMMING, "there is no end-to-end context of that number"),
    /** Invalid end-to-end context state. */
    INVALID_EE_CONTEXT_STATE(ErrorClass.LOCAL_PROGRAMMING, "the end-to-end context is not in a state for this request"),
    /** The device broke. */
    FATAL_ERROR(ErrorClass.FATAL, "the device broke: close it, look at the kernel log, and restart it"),
    /** Timeout of a response. */
    RESPONSE_TIMEOUT_ERROR(ErrorClass.TIMEOUT, "the peer began to answer and did not finish in time"),
    /** Something else. */
    GENERAL_ERROR(ErrorClass.UNKNOWN, "the device gives no reason: its vendor code and the kernel log may"),
    /** A number that has no name here. */
    UNKNOWN(ErrorClass.UNKNOWN, "this library does not know the number: look it up under enum ibv_wc_status, or in "
            + "the manual of the device");

    private static final WorkCompletionStatus[] VALUES = values();

    private final ErrorClass errorClass;
    private final String hint;

    WorkCompletionStatus(ErrorClass errorClass, String hint) {
        this.errorClass = errorClass;
        this.hint = hint;
    }

    /**
     * Finds the name of a status number.
     *
     * @param number the device's number
     * @return the name, or {@link #UNKNOWN}
     */
    public static WorkCompletionStatus of(int number) {
        return number >= 0 && number < UNKNOWN.ordinal() ? VALUES[number] : UNKNOWN;
    }

    /** {@return the cause of the failure, {@link ErrorClass#NONE} for success} */
    public ErrorClass errorClass() {
        return errorClass;
    }

    /** {@return advice on what to look at or change, as a sentence without its full stop; empty for success} */
    public String hint() {
        return hint;
    }
}
