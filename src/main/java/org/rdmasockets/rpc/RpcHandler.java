package org.rdmasockets.rpc;

/**
 * A method with one request and one answer. Any number of threads call it at once.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface RpcHandler {
    /**
     * Answers. The thread is virtual and is interrupted when the call is cancelled or its time is over. It has the
     * context class loader of the thread that started the server, and none of its inheritable thread-locals.
     *
     * @param request the handler's own
     * @param call metadata, deadline, the caller's address
     * @return the answer, the library's from now on; not null
     * @throws RpcException a status for the client
     * @throws Exception any other is {@link RpcStatus#UNKNOWN} for the client, and logged
     */
    byte[] answer(byte[] request, RpcServerCall call) throws Exception;
}
