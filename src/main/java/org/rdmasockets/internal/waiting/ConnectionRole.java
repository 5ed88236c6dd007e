package org.rdmasockets.internal.waiting;

/**
 * The sides of a connection, as librdmacm names them. They have completion queues of their own: the two ends of a
 * connection within one process then never wait for each other's poll. A process that only connects or only accepts
 * has the queues of one side alone.
 */
public enum ConnectionRole {
    /** Connects. */
    ACTIVE,
    /** Accepts. */
    PASSIVE
}
