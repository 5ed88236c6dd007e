package org.rdmasockets.verbs;

/** What a queue pair promises ({@code enum ibv_qp_type}). */
public enum QueuePairType {
    /** Connected to one peer; everything arrives once and in order, or the connection breaks. */
    RELIABLE_CONNECTION,
    /**
     * Sends single packets to whom each request says, and receives from anybody who knows its number and key. A packet
     * may be lost, or come in another order, and nobody is told.
     */
    UNRELIABLE_DATAGRAM
}
