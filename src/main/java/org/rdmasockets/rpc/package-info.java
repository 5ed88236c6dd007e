/**
 * Calls: methods of a server by their names, with deadlines, cancellation, status codes, retry and streams.
 *
 * {@snippet lang="java" :
 * try (RpcServer server = RpcServer.builder().unary("echo", (request, call) -> request).listen(7471);
 *         RpcClient client = RpcClient.builder().connect("10.0.0.1", 7471)) {
 *     byte[] answer = client.call("echo", new byte[64], RpcOptions.DEFAULT.timeout(Duration.ofSeconds(1)));
 * }
 * }
 *
 * <p>Calls go over a reliable connection to the server: shared memory between processes of a host, an RDMA device
 * otherwise; or, if both ends say so, in sessions over datagrams. {@code docs/rpc.md} has the settings, limits and
 * codes. The layers below are {@code internal.rpc.call} and {@code internal.rpc.session}.
 *
 * <p>Threads: a server handles each call on a virtual thread; a client works on its callers' threads.
 */
package org.rdmasockets.rpc;
