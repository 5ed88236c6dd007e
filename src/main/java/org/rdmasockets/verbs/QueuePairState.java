package org.rdmasockets.verbs;

/**
 * State of a queue pair ({@code enum ibv_qp_state}), in the order of its numbers from 0.
 *
 * @since 0.1
 */
public enum QueuePairState {
    /** Fresh. */
    RESET,
    /** Receives may be posted. */
    INIT,
    /** Ready to receive. */
    READY_TO_RECEIVE,
    /** Ready to send. */
    READY_TO_SEND,
    /** The send queue is drained. */
    SEND_QUEUE_DRAINED,
    /** A send failed; receives go on. */
    SEND_QUEUE_ERROR,
    /** Broken or moved here on purpose: every request completes as flushed. */
    ERROR,
    /** A number that has no name here, or the device does not tell. */
    UNKNOWN
}
