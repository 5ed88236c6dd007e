package org.rdmasockets.verbs;

/** How a request ended ({@code enum ibv_wc_status}), in the order of its numbers from 0. */
public enum WorkCompletionStatus {
    /** Done. */
    SUCCESS,
    /** A local buffer was shorter than the data. */
    LOCAL_LENGTH_ERROR,
    /** The queue pair was not consistent, or the link went down under soft-iWARP. */
    LOCAL_QUEUE_PAIR_OPERATION_ERROR,
    /** End-to-end context error. */
    LOCAL_EE_CONTEXT_OPERATION_ERROR,
    /** A local address or key was not valid. */
    LOCAL_PROTECTION_ERROR,
    /** The queue pair went to the error state before this request was executed. */
    FLUSHED,
    /** A memory window could not be bound. */
    MEMORY_WINDOW_BIND_ERROR,
    /** The responder answered with an opcode that was not expected. */
    BAD_RESPONSE_ERROR,
    /** A local buffer could not be used for the data that came. */
    LOCAL_ACCESS_ERROR,
    /** The responder found the request invalid. */
    REMOTE_INVALID_REQUEST_ERROR,
    /** The responder refused the address or key; a peer that was killed answers so, too. */
    REMOTE_ACCESS_ERROR,
    /** The responder could not complete the request. */
    REMOTE_OPERATION_ERROR,
    /** The peer did not answer in all retries. */
    RETRY_EXCEEDED,
    /** The peer had no receive posted in all retries. */
    RECEIVER_NOT_READY_RETRY_EXCEEDED,
    /** Local RDD violation. */
    LOCAL_RDD_VIOLATION_ERROR,
    /** Remote invalid RD request. */
    REMOTE_INVALID_RD_REQUEST,
    /** The request was aborted. */
    REMOTE_ABORTED_ERROR,
    /** Invalid end-to-end context number. */
    INVALID_EE_CONTEXT_NUMBER,
    /** Invalid end-to-end context state. */
    INVALID_EE_CONTEXT_STATE,
    /** The device broke. */
    FATAL_ERROR,
    /** Timeout of a response. */
    RESPONSE_TIMEOUT_ERROR,
    /** Something else. */
    GENERAL_ERROR,
    /** A number that has no name here. */
    UNKNOWN;

    private static final WorkCompletionStatus[] VALUES = values();

    /**
     * Finds the name of a status number.
     *
     * @param number the device's number
     * @return the name, or {@link #UNKNOWN}
     */
    public static WorkCompletionStatus of(int number) {
        return number >= 0 && number < UNKNOWN.ordinal() ? VALUES[number] : UNKNOWN;
    }
}
