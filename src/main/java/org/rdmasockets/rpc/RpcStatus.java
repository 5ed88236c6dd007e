package org.rdmasockets.rpc;

/**
 * How a call ended. Names and numbers (their order) are gRPC's.
 *
 * @since 0.1
 */
public enum RpcStatus {
    /** All went well. */
    OK,
    /** The caller has given up, or was interrupted. */
    CANCELLED,
    /** The method failed and did not say how; the server's log does. */
    UNKNOWN,
    /** The request makes no sense, whatever state the server is in. */
    INVALID_ARGUMENT,
    /** The time of the call was over. The method may have run. */
    DEADLINE_EXCEEDED,
    /** The thing that was asked for is not there. */
    NOT_FOUND,
    /** The thing to be made is there already. */
    ALREADY_EXISTS,
    /** The caller may not do this. */
    PERMISSION_DENIED,
    /** A limit was reached: of calls at once, of memory, of the length of a message. */
    RESOURCE_EXHAUSTED,
    /** The server is not in the state that the call needs. */
    FAILED_PRECONDITION,
    /** Another call has got in the way: begin again from the first step. */
    ABORTED,
    /** Beyond the end. */
    OUT_OF_RANGE,
    /** The server has no such method. */
    UNIMPLEMENTED,
    /** A rule was broken that should hold. */
    INTERNAL,
    /** The server cannot be reached, is shutting down, or was lost during the call. */
    UNAVAILABLE,
    /** Data was lost or is damaged. */
    DATA_LOSS,
    /** The caller has not shown who it is. */
    UNAUTHENTICATED;

    private static final RpcStatus[] ALL = values();

    static RpcStatus of(int code) {
        return code >= 0 && code < ALL.length ? ALL[code] : UNKNOWN;
    }
}
