package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Attributes;
import io.grpc.EquivalentAddressGroup;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusOr;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.StreamObserver;
import io.grpc.testing.integration.Messages.ResponseParameters;
import io.grpc.testing.integration.Messages.SimpleRequest;
import io.grpc.testing.integration.Messages.SimpleResponse;
import io.grpc.testing.integration.Messages.StreamingOutputCallRequest;
import io.grpc.testing.integration.Messages.StreamingOutputCallResponse;
import io.grpc.testing.integration.TestServiceGrpc;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.TestBed;

/** Channels of gRPC's core over connections of this library: resolvers, balancing and retries are gRPC's own. */
class CoreChannelTest {
    private final List<Server> servers = new ArrayList<>();
    private final Names names = new Names();
    private ManagedChannel channel;
    private TestServiceGrpc.TestServiceBlockingStub stub;

    /** Names of the scheme "cast", which stand for the servers of the test. */
    private final class Names extends NameResolverProvider {
        private volatile List<EquivalentAddressGroup> found = List.of();

        @Override
        protected boolean isAvailable() {
            return true;
        }

        @Override
        protected int priority() {
            return 5;
        }

        @Override
        public String getDefaultScheme() {
            return "cast";
        }

        @Override
        public NameResolver newNameResolver(URI target, NameResolver.Args args) {
            return !target.getScheme().equals("cast") ? null : new NameResolver() {
                @Override
                public String getServiceAuthority() {
                    return "cast";
                }

                @Override
                public void start(Listener2 listener) {
                    listener.onResult(ResolutionResult.newBuilder().setAddressesOrError(StatusOr.fromValue(found))
                            .setAttributes(Attributes.EMPTY).build());
                }

                @Override
                public void shutdown() {
                    // Nothing goes on.
                }
            };
        }
    }

    /** Answers with its port, and fails as often as it is told. */
    private static final class Named extends TestServiceGrpc.TestServiceImplBase {
        private final AtomicInteger failures = new AtomicInteger();
        private volatile int port;

        @Override
        public void unaryCall(SimpleRequest request, StreamObserver<SimpleResponse> answers) {
            if (failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                answers.onError(Status.UNAVAILABLE.withDescription("not yet").asException());
                return;
            }
            answers.onNext(SimpleResponse.newBuilder().setUsername(Integer.toString(port)).build());
            answers.onCompleted();
        }

        @Override
        public StreamObserver<StreamingOutputCallRequest> fullDuplexCall(
                StreamObserver<StreamingOutputCallResponse> answers) {
            return new TestService().fullDuplexCall(answers);
        }
    }

    private Named serve() throws IOException {
        Named service = new Named();
        Server server = RdmaServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .addService(service).build().start();
        service.port = server.getPort();
        servers.add(server);
        return service;
    }

    private static EquivalentAddressGroup at(int port) {
        return new EquivalentAddressGroup(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    }

    private void use(ManagedChannelBuilder<?> builder) {
        channel = builder.build();
        stub = TestServiceGrpc.newBlockingStub(channel);
    }

    private String call() {
        return stub.withDeadlineAfter(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS)
                .unaryCall(SimpleRequest.getDefaultInstance()).getUsername();
    }

    private Set<String> called(int times) {
        Set<String> ports = new HashSet<>();
        for (int i = 0; i < times; i++) {
            ports.add(call());
        }
        return ports;
    }

    @AfterEach
    void end() throws Exception {
        NameResolverRegistry.getDefaultRegistry().deregister(names);
        if (channel != null) {
            channel.shutdownNow();
            assertTrue(channel.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the channel ends");
        }
        servers.forEach(Server::shutdownNow);
    }

    @Test
    void callsGoRoundTheServersThatANameStandsForAndPastOneThatEnds() throws Exception {
        String one = Integer.toString(serve().port);
        String other = Integer.toString(serve().port);
        names.found = List.of(at(servers.get(0).getPort()), at(servers.get(1).getPort()));
        NameResolverRegistry.getDefaultRegistry().register(names);
        use(RdmaChannelBuilder.forTarget("cast:///all").defaultLoadBalancingPolicy("round_robin"));
        Set<String> both = Set.of(one, other);
        Await.until("both servers are called", () -> called(4).equals(both));
        servers.get(0).shutdownNow();
        Await.until("the other server alone is called", () -> calledWell(4).equals(Set.of(other)));
    }

    /** A call may meet a connection that is about to end. */
    private Set<String> calledWell(int times) {
        try {
            return called(times);
        } catch (StatusRuntimeException e) {
            assertEquals(Status.Code.UNAVAILABLE, e.getStatus().getCode());
            return Set.of();
        }
    }

    @Test
    void theFirstServerThatAnswersIsPicked() throws Exception {
        int dead;
        try (var socket = new java.net.ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            dead = socket.getLocalPort();
        }
        String alive = Integer.toString(serve().port);
        names.found = List.of(new EquivalentAddressGroup(List.of(at(dead).getAddresses().get(0),
                at(servers.get(0).getPort()).getAddresses().get(0))));
        NameResolverRegistry.getDefaultRegistry().register(names);
        use(RdmaChannelBuilder.forTarget("cast:///first").retryTime(java.time.Duration.ofSeconds(2)));
        stub = stub.withWaitForReady();
        assertEquals(alive, call());
    }

    @Test
    void aServiceConfigurationRetries() throws Exception {
        Named service = serve();
        Map<String, ?> policy = Map.of("maxAttempts", 4.0, "initialBackoff", "0.01s", "maxBackoff", "0.05s",
                "backoffMultiplier", 2.0, "retryableStatusCodes", List.of("UNAVAILABLE"));
        use(RdmaChannelBuilder.forAddress("127.0.0.1", service.port).enableRetry().defaultServiceConfig(
                Map.of("methodConfig", List.of(Map.of("name", List.of(Map.of()), "retryPolicy", policy)))));
        service.failures.set(3);
        assertEquals(Integer.toString(service.port), call());
        service.failures.set(4);
        assertEquals(Status.Code.UNAVAILABLE, assertThrows(StatusRuntimeException.class, this::call).getStatus()
                .getCode());
    }

    @Test
    void streamsAndCompressionWorkAndAnIdleConnectionEnds() throws Exception {
        Named service = serve();
        use(RdmaChannelBuilder.forAddress("127.0.0.1", service.port).idleTimeout(1, TimeUnit.HOURS));
        CompletableFuture<Integer> bytes = new CompletableFuture<>();
        StreamObserver<StreamingOutputCallRequest> requests = TestServiceGrpc.newStub(channel).withCompression("gzip")
                .fullDuplexCall(new StreamObserver<>() {
                    @Override
                    public void onNext(StreamingOutputCallResponse answer) {
                        bytes.complete(answer.getPayload().getBody().size());
                    }

                    @Override
                    public void onError(Throwable failure) {
                        bytes.completeExceptionally(failure);
                    }

                    @Override
                    public void onCompleted() {
                        // The answer has come before.
                    }
                });
        requests.onNext(StreamingOutputCallRequest.newBuilder().setPayload(TestService.payload(1000))
                .addResponseParameters(ResponseParameters.newBuilder().setSize(70_000)).build());
        assertEquals(70_000, bytes.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        requests.onCompleted();
        channel.enterIdle();
        Await.until("the channel is idle", () -> channel.getState(false) == io.grpc.ConnectivityState.IDLE);
        assertEquals(Integer.toString(service.port), call());
    }

    @Test
    void gRpcFindsTheTransportByTheScheme() throws Exception {
        Named service = serve();
        String target = "rdma:///127.0.0.1:" + service.port;
        ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create());
        assertInstanceOf(RdmaChannelBuilder.class, builder);
        use(builder);
        assertEquals(Integer.toString(service.port), call());
        assertTrue(assertThrows(RuntimeException.class, () -> Grpc.newChannelBuilder(target,
                TlsChannelCredentials.create())).getMessage().contains("not encrypted"));
    }
}
