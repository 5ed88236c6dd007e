package org.rdmasockets.verbs;

/**
 * The promises of a queue pair ({@code enum ibv_qp_type}).
 *
 * @since 0.1
 */
public enum QueuePairType {
    /** Connected to one peer; everything arrives once and in order, or the connection breaks. */
    RELIABLE_CONNECTION,
    /**
     * Sends single packets, each to the peer that its request names, and receives from any peer that knows its number
     * and key. A packet may be lost, or come in another order, without notice.
     */
    UNRELIABLE_DATAGRAM
}
