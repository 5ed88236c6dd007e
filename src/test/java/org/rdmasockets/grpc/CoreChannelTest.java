package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ClientStreamTracer;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.EquivalentAddressGroup;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusOr;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.internal.ClientStream;
import io.grpc.internal.ClientStreamListener;
import io.grpc.internal.DisconnectError;
import io.grpc.internal.ManagedClientTransport;
import io.grpc.stub.ClientCalls;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.rpc.RpcClient;

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
        return serve(RdmaServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)));
    }

    private Named serve(RdmaServerBuilder builder) throws IOException {
        Named service = new Named();
        Server server = builder.addService(service).build().start();
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

    /** As over Netty, by a retry that no policy has to allow: the server has not begun it. */
    @Test
    void aRefusedCallIsMadeAgainOnce() throws Exception {
        Named service = serve(RdmaServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .maxConcurrentCalls(1));
        use(RdmaChannelBuilder.forAddress("127.0.0.1", service.port).enableRetry());
        CompletableFuture<StreamingOutputCallResponse> begun = new CompletableFuture<>();
        StreamObserver<StreamingOutputCallRequest> requests = TestServiceGrpc.newStub(channel).fullDuplexCall(
                new StreamObserver<>() {
                    @Override
                    public void onNext(StreamingOutputCallResponse answer) {
                        begun.complete(answer);
                    }

                    @Override
                    public void onError(Throwable failure) {
                        begun.completeExceptionally(failure);
                    }

                    @Override
                    public void onCompleted() {
                        // It goes on until the test ends.
                    }
                });
        requests.onNext(StreamingOutputCallRequest.newBuilder().addResponseParameters(
                ResponseParameters.newBuilder().setSize(1)).build());
        begun.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        List<Boolean> attempts = Collections.synchronizedList(new ArrayList<>());
        CallOptions options = CallOptions.DEFAULT.withStreamTracerFactory(new ClientStreamTracer.Factory() {
            @Override
            public ClientStreamTracer newClientStreamTracer(ClientStreamTracer.StreamInfo info, Metadata headers) {
                attempts.add(info.isTransparentRetry());
                return new ClientStreamTracer() { };
            }
        });
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, assertThrows(StatusRuntimeException.class, () ->
                ClientCalls.blockingUnaryCall(channel, TestServiceGrpc.getUnaryCallMethod(), options,
                SimpleRequest.getDefaultInstance())).getStatus().getCode());
        assertEquals(List.of(false, true), attempts);
    }

    /** Notes what it hears of a transport. */
    private static class Told implements ManagedClientTransport.Listener {
        final List<String> told;
        final CompletableFuture<Thread> ready = new CompletableFuture<>();

        Told(List<String> told) {
            this.told = told;
        }

        @Override
        public void transportShutdown(Status why, DisconnectError error) {
            told.add("shutdown");
        }

        @Override
        public void transportTerminated() {
            told.add("terminated");
        }

        @Override
        public void transportReady() {
            told.add("ready");
            ready.complete(Thread.currentThread());
        }

        @Override
        public void transportInUse(boolean inUse) {
            told.add(inUse ? "in use" : "not in use");
        }
    }

    private static CoreTransports.CoreTransport ready(int port, Told listener) throws Exception {
        CoreTransports.CoreTransport transport = new CoreTransports.CoreTransport(new InetSocketAddress("127.0.0.1",
                port), new RdmaChannel(state -> RpcClient.builder().onState(state).unconnected(new InetSocketAddress(
                "127.0.0.1", port)), new RdmaChannel.Settings("test", "test", Encoding.DIRECT, Duration.ofSeconds(30),
                CompressorRegistry.getDefaultInstance(), DecompressorRegistry.getDefaultInstance(), 1000, 1000),
                List.of(), UnaryOperator.identity()));
        transport.start(listener);
        Thread connecting = listener.ready.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        connecting.join(); // until then it would run what the test begins
        return transport;
    }

    /** And its transport hears of it also if that throws. */
    @Test
    void theListenerOfAStreamHearsOfItsEndBeforeItsTransport() throws Exception {
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        CoreTransports.CoreTransport transport = ready(serve().port, new Told(told));
        begin(transport, 20_000, told);
        transport.shutdown(Status.UNAVAILABLE);
        begin(transport, 1, told);
        assertEquals(List.of("ready", "in use", "closed, PROCESSED", "not in use", "shutdown", "terminated", "in use",
                "closed, MISCARRIED", "not in use"), told);
    }

    /** One of its start, which fails, and one of a cancel by another thread. */
    @Test
    void aStreamThatEndsTwiceAtOnceCountsOnce() throws Exception {
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch mayLeave = new CountDownLatch(1);
        CoreTransports.CoreTransport transport = ready(serve().port, new Told(told) {
            @Override
            public void transportInUse(boolean inUse) {
                super.transportInUse(inUse);
                if (!inUse) {
                    inside.countDown();
                    await(mayLeave);
                }
            }
        });
        AtomicReference<ClientStream> stream = new AtomicReference<>();
        FutureTask<Void> cancel = new FutureTask<>(() -> stream.get().cancel(Status.CANCELLED), null);
        stream.set(transport.newStream(TestServiceGrpc.getUnaryCallMethod(), new Metadata(), CallOptions.DEFAULT,
                new ClientStreamTracer[] {new ClientStreamTracer() {
                    @Override
                    public void outboundHeaders() {
                        Thread.ofPlatform().daemon().start(cancel);
                        await(inside);
                        throw new IllegalStateException() {
                            @Override
                            public String toString() {
                                throw new IllegalStateException("says the test");
                            }
                        };
                    }
                }}));
        assertEquals("says the test", assertThrows(IllegalStateException.class, () -> stream.get().start(
                new Ends(told))).getMessage());
        mayLeave.countDown();
        cancel.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        begin(transport, 20_000, told);
        assertEquals(List.of("ready", "in use", "closed, PROCESSED", "not in use", "in use", "closed, PROCESSED",
                "not in use"), told);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the other thread does not come");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Begins a stream that cannot go, with so many bytes of headers. */
    private static void begin(CoreTransports.CoreTransport transport, int bytes, List<String> told) {
        Metadata headers = new Metadata();
        headers.put(Metadata.Key.of("filler", Metadata.ASCII_STRING_MARSHALLER), "x".repeat(bytes));
        transport.newStream(TestServiceGrpc.getUnaryCallMethod(), headers, CallOptions.DEFAULT,
                new ClientStreamTracer[0]).start(new Ends(told));
    }

    /** Notes the end of a stream, and throws. */
    private record Ends(List<String> told) implements ClientStreamListener {
        @Override
        public void headersRead(Metadata arrived) {
            // None come.
        }

        @Override
        public void closed(Status status, RpcProgress progress, Metadata trailers) {
            told.add("closed, " + progress);
            throw new AssertionError("says the test");
        }

        @Override
        public void messagesAvailable(MessageProducer producer) {
            // None come.
        }

        @Override
        public void onReady() {
            // It never is.
        }
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
