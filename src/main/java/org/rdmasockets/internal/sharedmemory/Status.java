package org.rdmasockets.internal.sharedmemory;

/** Numbers of {@code WorkCompletionStatus}, which a first connect need not load, and two more. */
final class Status {
    /** Not a status: the peer has no receive yet; to be tried again. */
    static final int NOT_READY = -1;
    /** Not a status: there is no room for it on the way to the peer; to be tried again. */
    static final int NO_ROOM = -2;
    static final int SUCCESS = 0;
    static final int LOCAL_LENGTH = 1;
    static final int LOCAL_PROTECTION = 4;
    static final int FLUSHED = 5;
    static final int REMOTE_INVALID_REQUEST = 9;
    static final int REMOTE_ACCESS = 10;
    static final int REMOTE_OPERATION = 11;
    static final int RETRY_EXCEEDED = 12;
    static final int RECEIVER_NOT_READY_RETRY_EXCEEDED = 13;

    private Status() {}

    /** Whether the responder found fault with the request, which breaks its queue pair, too. */
    static boolean breaksPeer(int status) {
        return status == REMOTE_INVALID_REQUEST || status == REMOTE_ACCESS || status == REMOTE_OPERATION;
    }
}
