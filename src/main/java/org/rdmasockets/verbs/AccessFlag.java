package org.rdmasockets.verbs;

/** What may be done to registered memory ({@code enum ibv_access_flags}); local reading is always allowed. */
public enum AccessFlag {
    /** The local device may write: needed for receives, reads and atomics into this memory. */
    LOCAL_WRITE,
    /** A peer may write; requires {@link #LOCAL_WRITE}. */
    REMOTE_WRITE,
    /** A peer may read. */
    REMOTE_READ,
    /** A peer may compare-and-swap and fetch-and-add; requires {@link #LOCAL_WRITE}. */
    REMOTE_ATOMIC
}
