package org.rdmasockets.rpc;

/**
 * A method with any number of requests and answers. Any number of threads call it at once.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface RpcStreamHandler {
    /**
     * Receives and sends. When it returns, the call has ended well. The thread is virtual and is interrupted when the
     * call is cancelled or its time is over. It has the context class loader of the thread that started the server, and
     * none of its inheritable thread-locals.
     *
     * @param call to receive from and send to, by one thread at a time for each
     * @throws RpcException a status for the client
     * @throws Exception any other is {@link RpcStatus#UNKNOWN} for the client, and logged
     */
    void handle(RpcServerCall call) throws Exception;
}
