package org.rdmasockets.internal.waiting;

/** The purpose of a wait. A connection has at most one waiter of each role at a time. */
public enum Role {
    /** Waits for data; receive completions wake it. */
    READER,
    /** Waits for room to send; send completions wake it, and credits, which come as receive completions. */
    WRITER
}
