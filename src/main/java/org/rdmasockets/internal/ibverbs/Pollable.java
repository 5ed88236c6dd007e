package org.rdmasockets.internal.ibverbs;

import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/** An event source with a descriptor that {@link IbverbsEventPoller} can wait for. */
interface Pollable extends EventSource {
    /** Makes reads return EAGAIN when there is nothing: the calls for events cannot be interrupted otherwise. */
    static void makeNonBlocking(int descriptor) throws VerbsException {
        String text = "descriptor=" + descriptor;
        int flags = ControlCall.FCNTL.number(text, descriptor, rdma_h.F_GETFL(), 0);
        ControlCall.FCNTL.number(text, descriptor, rdma_h.F_SETFL(), flags | rdma_h.O_NONBLOCK());
    }

    /** The descriptor, valid while {@link #tryRetain} is in force. */
    int descriptor();

    /** Keeps the descriptor open, {@link #release} has to follow; false if this is closed. */
    boolean tryRetain();

    /** Undoes {@link #tryRetain}. */
    void release();

    /** Whether this is closed, so that no thread will drain it any more. */
    boolean isClosed();
}
