package org.rdmasockets.provider.ibverbs;

import org.rdmasockets.verbs.EventSource;

/** An event source with a descriptor that {@link IbverbsEventPoller} can wait for. */
interface Pollable extends EventSource {
    /** The descriptor, valid while {@link #holdDescriptor} is in force. */
    int descriptor();

    /** Keeps the descriptor open, {@link #releaseDescriptor} has to follow; false if this is closed. */
    boolean holdDescriptor();

    /** Ends what {@link #holdDescriptor} began. */
    void releaseDescriptor();

    /** Whether this is closed, so that nobody will drain it any more. */
    boolean isDescriptorClosed();
}
