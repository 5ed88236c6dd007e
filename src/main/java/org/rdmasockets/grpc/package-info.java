/**
 * gRPC's stubs over {@code org.rdmasockets.rpc}: services and stubs that {@code protoc} generates run as they are.
 *
 * {@snippet lang="java" :
 * Server server = RdmaServerBuilder.forPort(7471).addService(new StoreService()).build().start();
 * ManagedChannel channel = RdmaChannelBuilder.forAddress("10.0.0.1", 7471).build();
 * StoreGrpc.StoreBlockingStub store = StoreGrpc.newBlockingStub(channel);
 * }
 *
 * <p>It needs grpc-api, an optional dependency, and nothing else of gRPC but the stubs' own libraries; without it the
 * rest of this library works as before. The calls are those of {@code org.rdmasockets.rpc}, not HTTP/2: both ends need
 * this package. {@code docs/rpc.md} says what differs from gRPC's other transports.
 *
 * <p>Threads: callbacks of a call run one after the other on its executor, by default on virtual threads. A blocking
 * stub waits for its answer by reading the connection itself.
 */
package org.rdmasockets.grpc;
