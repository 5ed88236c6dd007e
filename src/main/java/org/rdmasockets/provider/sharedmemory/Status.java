package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.WorkCompletionStatus;

/** Numbers of {@link WorkCompletionStatus} as the data path uses them, and one more. */
final class Status {
    /** Not a status: the peer has no receive yet; to be tried again. */
    static final int NOT_READY = -1;
    /** Not a status: there is no room for it on the way to the peer; to be tried again. */
    static final int NO_ROOM = -2;
    static final int SUCCESS = WorkCompletionStatus.SUCCESS.ordinal();
    static final int LOCAL_LENGTH = WorkCompletionStatus.LOCAL_LENGTH_ERROR.ordinal();
    static final int LOCAL_PROTECTION = WorkCompletionStatus.LOCAL_PROTECTION_ERROR.ordinal();
    static final int FLUSHED = WorkCompletionStatus.FLUSHED.ordinal();
    static final int REMOTE_INVALID_REQUEST = WorkCompletionStatus.REMOTE_INVALID_REQUEST_ERROR.ordinal();
    static final int REMOTE_ACCESS = WorkCompletionStatus.REMOTE_ACCESS_ERROR.ordinal();
    static final int REMOTE_OPERATION = WorkCompletionStatus.REMOTE_OPERATION_ERROR.ordinal();
    static final int RETRY_EXCEEDED = WorkCompletionStatus.RETRY_EXCEEDED.ordinal();
    static final int RECEIVER_NOT_READY_RETRY_EXCEEDED =
            WorkCompletionStatus.RECEIVER_NOT_READY_RETRY_EXCEEDED.ordinal();

    private Status() {}

    /** Whether the responder found fault with the request, which breaks its queue pair, too. */
    static boolean breaksPeer(int status) {
        return status == REMOTE_INVALID_REQUEST || status == REMOTE_ACCESS || status == REMOTE_OPERATION;
    }
}
