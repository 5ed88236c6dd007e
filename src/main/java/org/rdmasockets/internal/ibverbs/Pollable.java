package org.rdmasockets.internal.ibverbs;

import org.rdmasockets.verbs.EventSource;

/** An event source with a descriptor that {@link IbverbsEventPoller} can wait for. */
interface Pollable extends EventSource {
    /** The descriptor, valid while {@link #tryRetain} is in force. */
    int descriptor();

    /** Keeps the descriptor open, {@link #release} has to follow; false if this is closed. */
    boolean tryRetain();

    /** Undoes {@link #tryRetain}. */
    void release();

    /** Whether this is closed, so that no thread will drain it any more. */
    boolean isClosed();
}
