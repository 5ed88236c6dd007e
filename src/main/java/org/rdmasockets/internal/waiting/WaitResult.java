package org.rdmasockets.internal.waiting;

/** How a wait ended. */
public enum WaitResult {
    /** The client says that this role can go on. */
    READY,
    /** The deadline passed first. */
    TIMED_OUT,
    /** The inbox was closed, or its completion queue has failed and nothing more can arrive. */
    CLOSED,
    /** A virtual thread was interrupted; its interrupt status is still set. Platform threads never see this. */
    INTERRUPTED
}
