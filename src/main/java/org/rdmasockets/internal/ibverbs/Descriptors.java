package org.rdmasockets.internal.ibverbs;

import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.VerbsException;

/** Operations on file descriptors. */
final class Descriptors {
    private Descriptors() {}

    /** Makes reads return EAGAIN when there is nothing: the calls for events cannot be interrupted otherwise. */
    static void makeNonBlocking(int descriptor) throws VerbsException {
        String text = "descriptor=" + descriptor;
        int flags = ControlCall.FCNTL.number(text, descriptor, rdma_h.F_GETFL(), 0);
        ControlCall.FCNTL.number(text, descriptor, rdma_h.F_SETFL(), flags | rdma_h.O_NONBLOCK());
    }
}
