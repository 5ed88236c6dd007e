package org.rdmasockets.verbs;

/**
 * The cause of a failure in classes, so that a program can decide what to do without knowing every status and errno.
 *
 * @since 0.1
 */
public enum ErrorClass {
    /** Nothing failed. */
    NONE,
    /** This program asked for something that cannot be: the same request fails again. */
    LOCAL_PROGRAMMING,
    /** This host has not enough of something, such as memory, handles or room: it may work later, or with less. */
    LOCAL_RESOURCE,
    /** The peer refused or could not do what was asked. */
    REMOTE,
    /** The connection is gone, and this request with it. */
    TRANSPORT,
    /** The peer did not answer in time, or had no receive in time. */
    TIMEOUT,
    /** The device is broken or was removed. */
    FATAL,
    /** The device does not say. */
    UNKNOWN
}
