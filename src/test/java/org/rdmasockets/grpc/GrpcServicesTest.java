package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ClientStreamTracer;
import io.grpc.HandlerRegistry;
import io.grpc.InternalChannelz;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.channelz.v1.ChannelzGrpc;
import io.grpc.channelz.v1.GetServersRequest;
import io.grpc.channelz.v1.GetTopChannelsRequest;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.opentelemetry.GrpcOpenTelemetry;
import io.grpc.protobuf.services.ChannelzService;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.grpc.testing.integration.EmptyProtos.Empty;
import io.grpc.testing.integration.Messages.SimpleRequest;
import io.grpc.testing.integration.Messages.SimpleResponse;
import io.grpc.testing.integration.Messages.StreamingOutputCallRequest;
import io.grpc.testing.integration.Messages.StreamingOutputCallResponse;
import io.grpc.testing.integration.TestServiceGrpc;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.TestBed;

/** Servers and channels of gRPC over this library: services of others, and settings. */
class GrpcServicesTest {
    private Server server;
    private ManagedChannel channel;

    private static RdmaServerBuilder server() {
        return RdmaServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    private void start(ServerBuilder<?> builder) throws IOException {
        server = builder.build().start();
        channel = RdmaChannelBuilder.forAddress("127.0.0.1", server.getPort()).build();
    }

    private TestServiceGrpc.TestServiceBlockingStub stub() {
        return TestServiceGrpc.newBlockingStub(channel).withDeadlineAfter(TestBed.PATIENCE_MILLIS,
                TimeUnit.MILLISECONDS);
    }

    private static Status statusOf(Runnable call) {
        return assertThrows(StatusRuntimeException.class, call::run).getStatus();
    }

    @AfterEach
    void end() throws Exception {
        if (channel != null) {
            channel.shutdownNow();
            assertTrue(channel.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the channel ends");
        }
        if (server != null) {
            server.shutdownNow();
        }
    }

    @Test
    void healthAndReflectionAnswer() throws Exception {
        HealthStatusManager health = new HealthStatusManager();
        health.setStatus("store", ServingStatus.NOT_SERVING);
        start(server().addService(health.getHealthService()).addService(ProtoReflectionServiceV1.newInstance()));
        assertEquals(ServingStatus.NOT_SERVING, HealthGrpc.newBlockingStub(channel)
                .check(HealthCheckRequest.newBuilder().setService("store").build()).getStatus());
        CompletableFuture<ServerReflectionResponse> come = new CompletableFuture<>();
        StreamObserver<ServerReflectionRequest> requests = ServerReflectionGrpc.newStub(channel)
                .serverReflectionInfo(new StreamObserver<>() {
                    @Override
                    public void onNext(ServerReflectionResponse answer) {
                        come.complete(answer);
                    }

                    @Override
                    public void onError(Throwable failure) {
                        come.completeExceptionally(failure);
                    }

                    @Override
                    public void onCompleted() {
                        // The answer has come before.
                    }
                });
        requests.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
        List<String> services = come.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS).getListServicesResponse()
                .getServiceList().stream().map(one -> one.getName()).sorted().toList();
        requests.onCompleted();
        assertEquals(List.of("grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"), services);
    }

    @Test
    void channelzCountsTheCallsOfBothEnds() throws Exception {
        start(server().addService(new TestService()).addService(ChannelzService.newInstance(100)));
        for (int i = 0; i < 3; i++) {
            stub().emptyCall(Empty.getDefaultInstance());
        }
        assertEquals(Status.Code.UNIMPLEMENTED, statusOf(() -> stub().unimplementedCall(Empty.getDefaultInstance()))
                .getCode());
        ChannelzGrpc.ChannelzBlockingStub channelz = ChannelzGrpc.newBlockingStub(channel);
        String target = "127.0.0.1:" + server.getPort();
        var ours = channelz.getTopChannels(GetTopChannelsRequest.getDefaultInstance()).getChannelList().stream()
                .filter(one -> one.getData().getTarget().equals(target)).findFirst().orElseThrow().getData();
        assertEquals(3, ours.getCallsSucceeded());
        assertEquals(1, ours.getCallsFailed());
        Await.until("the server has counted the calls", () -> channelz.getServers(
                GetServersRequest.getDefaultInstance()).getServerList().stream().anyMatch(one ->
                one.getData().getCallsSucceeded() >= 4 && one.getData().getCallsFailed() == 1));
        RdmaServer shown = (RdmaServer) server;
        assertTrue(InternalChannelz.instance().containsServer(shown.getLogId()));
        server.shutdownNow();
        assertFalse(InternalChannelz.instance().containsServer(shown.getLogId()));
    }

    @Test
    void metricsOfOpenTelemetryTellOfBothEnds() throws Exception {
        InMemoryMetricReader reader = InMemoryMetricReader.create();
        GrpcOpenTelemetry metrics = GrpcOpenTelemetry.newBuilder().sdk(OpenTelemetrySdk.builder().setMeterProvider(
                SdkMeterProvider.builder().registerMetricReader(reader).build()).build()).build();
        RdmaServerBuilder serving = server().addService(new TestService());
        metrics.configureServerBuilder(serving);
        server = serving.build().start();
        RdmaChannelBuilder calling = RdmaChannelBuilder.forAddress("127.0.0.1", server.getPort());
        metrics.configureChannelBuilder(calling);
        channel = calling.build();
        stub().emptyCall(Empty.getDefaultInstance());
        Set<String> told = new HashSet<>();
        Await.until("both ends have told of the call", () -> {
            reader.collectAllMetrics().forEach(one -> told.add(one.getName() + " " + List.copyOf(
                    one.getData().getPoints().iterator().next().getAttributes().asMap().values())));
            return told.stream().anyMatch(one -> one.startsWith("grpc.server.call.duration"));
        });
        String call = "grpc.testing.TestService/EmptyCall";
        assertTrue(told.contains("grpc.server.call.duration [" + call + ", OK]"), told::toString);
        assertTrue(told.contains("grpc.client.call.duration [" + call + ", OK, rdma:///127.0.0.1:" + server.getPort()
                + "]"), told::toString);
        assertTrue(told.stream().anyMatch(one -> one.startsWith("grpc.client.attempt.sent_total_compressed")),
                told::toString);
    }

    /** Adds up what goes and comes of messages, over the wire and as they are. */
    private static final class Sizes extends ClientStreamTracer.Factory {
        private final AtomicLong sentWire = new AtomicLong();
        private final AtomicLong sentPlain = new AtomicLong();
        private final AtomicLong cameWire = new AtomicLong();
        private final AtomicLong camePlain = new AtomicLong();

        @Override
        public ClientStreamTracer newClientStreamTracer(ClientStreamTracer.StreamInfo info, Metadata headers) {
            return new ClientStreamTracer() {
                @Override
                public void outboundWireSize(long bytes) {
                    sentWire.addAndGet(bytes);
                }

                @Override
                public void outboundUncompressedSize(long bytes) {
                    sentPlain.addAndGet(bytes);
                }

                @Override
                public void inboundWireSize(long bytes) {
                    cameWire.addAndGet(bytes);
                }

                @Override
                public void inboundUncompressedSize(long bytes) {
                    camePlain.addAndGet(bytes);
                }
            };
        }
    }

    @Test
    void messagesAreCompressedWhereTheEndsSaySo() throws Exception {
        start(server().maxInboundMessageSize(200_000).addService(new TestServiceGrpc.TestServiceImplBase() {
            @Override
            public void unaryCall(SimpleRequest request, StreamObserver<SimpleResponse> answers) {
                ((ServerCallStreamObserver<SimpleResponse>) answers).setCompression("gzip");
                new TestService().unaryCall(request, answers);
            }
        }));
        Sizes sizes = new Sizes();
        var compressing = stub().withCompression("gzip").withInterceptors(new io.grpc.ClientInterceptor() {
                    @Override
                    public <Q, A> ClientCall<Q, A> interceptCall(io.grpc.MethodDescriptor<Q, A> method,
                            CallOptions options, io.grpc.Channel next) {
                        return next.newCall(method, options.withStreamTracerFactory(sizes));
                    }
                });
        SimpleResponse answer = compressing.unaryCall(SimpleRequest.newBuilder().setResponseSize(100_000)
                .setPayload(TestService.payload(100_000)).build());
        assertEquals(TestService.payload(100_000), answer.getPayload());
        assertTrue(sizes.sentPlain.get() > 100_000 && sizes.sentWire.get() < 5_000, () -> "sent " + sizes.sentWire);
        assertTrue(sizes.camePlain.get() > 100_000 && sizes.cameWire.get() < 5_000, () -> "came " + sizes.cameWire);
        // A short message that grows beyond what the server takes.
        Status bomb = statusOf(() -> compressing.unaryCall(SimpleRequest.newBuilder().setPayload(
                TestService.payload(64 << 20)).build()));
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, bomb.getCode());
        assertEquals("Decompressed gRPC message exceeds maximum size 200000", bomb.getDescription());
        bomb = statusOf(() -> compressing.withMaxInboundMessageSize(150_000).unaryCall(SimpleRequest.newBuilder()
                .setResponseSize(64 << 20).build()));
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, bomb.getCode());
        assertEquals("Decompressed gRPC message exceeds maximum size 150000", bomb.getDescription());
        assertEquals(Status.Code.INTERNAL, statusOf(() -> stub().withCompression("rar")
                .unaryCall(SimpleRequest.getDefaultInstance())).getCode());
        Metadata strange = new Metadata();
        strange.put(Metadata.Key.of("grpc-encoding", Metadata.ASCII_STRING_MARSHALLER), "rar");
        assertTrue(stub().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(strange))
                .unaryCall(SimpleRequest.getDefaultInstance()).isInitialized(), "only a compressor names an encoding");
    }

    private static final class Twice extends CallCredentials {
        @Override
        public void applyRequestMetadata(RequestInfo call, Executor executor, MetadataApplier applier) {
            assertThrows(IllegalArgumentException.class, () -> applier.fail(Status.OK));
            applier.apply(new Metadata());
            assertThrows(IllegalStateException.class, () -> applier.apply(new Metadata()));
            assertThrows(IllegalStateException.class, () -> applier.fail(Status.ABORTED));
        }
    }

    @Test
    void credentialsThatAreAppliedTwiceMakeOneCall() throws Exception {
        AtomicInteger handled = new AtomicInteger();
        start(server().addService(new TestServiceGrpc.TestServiceImplBase() {
            @Override
            public void emptyCall(Empty request, StreamObserver<Empty> answers) {
                handled.incrementAndGet();
                answers.onNext(request);
                answers.onCompleted();
            }
        }));
        stub().withCallCredentials(new Twice()).emptyCall(Empty.getDefaultInstance());
        stub().emptyCall(Empty.getDefaultInstance());
        assertEquals(2, handled.get());
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }

    /** And a line feed could begin a line in the log of the peer. */
    @Test
    void metadataThatAreTheTransportsOwnOrNoTextDoNotTravel() throws Exception {
        CompletableFuture<Metadata> come = new CompletableFuture<>();
        start(server().intercept(new ServerInterceptor() {
            @Override
            public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers,
                    ServerCallHandler<Q, A> next) {
                come.complete(headers);
                Metadata trailers = new Metadata();
                trailers.put(key("grpc-status"), "0");
                trailers.put(key("grpc-message"), "all is well");
                trailers.put(key("own"), "word");
                call.close(Status.ABORTED.withDescription("says the test"), trailers);
                return new ServerCall.Listener<>() { };
            }
        }).addService(new TestService()));
        Metadata more = new Metadata();
        more.put(key("grpc-timeout"), "1H");
        more.put(key("user-agent"), "another");
        more.put(key("lines"), "one\ntwo");
        more.put(key("own"), "word");
        StatusRuntimeException end = assertThrows(StatusRuntimeException.class, () -> TestServiceGrpc.newBlockingStub(
                channel).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(more))
                .emptyCall(Empty.getDefaultInstance()));
        assertEquals(Set.of("own"), end.getTrailers().keys());
        assertEquals("says the test", end.getStatus().getDescription());
        Metadata headers = come.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        assertEquals(Set.of("own", "user-agent"), headers.keys());
        assertEquals("grpc-java-rdma", headers.get(key("user-agent")));
    }

    @Test
    void aCallThatIsUsedWronglySaysSo() throws Exception {
        start(server().addService(new TestService()));
        var call = channel.newCall(TestServiceGrpc.getFullDuplexCallMethod(), CallOptions.DEFAULT);
        assertThrows(IllegalStateException.class, () -> call.request(1));
        assertThrows(NullPointerException.class, () -> call.start(new ClientCall.Listener<>() { }, null));
        assertThrows(NullPointerException.class, () -> call.start(null, new Metadata()));
        call.start(new ClientCall.Listener<>() { }, new Metadata());
        call.cancel(null, null);
        assertThrows(IllegalStateException.class, () -> call.sendMessage(
                StreamingOutputCallRequest.getDefaultInstance()));
        assertThrows(IllegalStateException.class, call::halfClose);
        assertEquals("Method not found: grpc.health.v1.Health/Check", statusOf(() -> HealthGrpc.newBlockingStub(channel)
                .check(HealthCheckRequest.getDefaultInstance())).getDescription());
    }

    @Test
    void handlersDoNotRunWhereTheirExecutorRefuses() throws Exception {
        AtomicInteger handled = new AtomicInteger();
        ExecutorService over = Executors.newSingleThreadExecutor();
        over.shutdownNow();
        start(server().executor(over).intercept(new ServerInterceptor() {
            @Override
            public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers,
                    ServerCallHandler<Q, A> next) {
                handled.incrementAndGet();
                return next.startCall(call, headers);
            }
        }).addService(new TestService()));
        for (int i = 0; i < 5; i++) {
            Status status = statusOf(() -> stub().emptyCall(Empty.getDefaultInstance()));
            assertEquals(Status.Code.INTERNAL, status.getCode(), status::toString);
            assertTrue(status.getDescription().contains("executor"), status::toString);
        }
        assertEquals(0, handled.get());
    }

    @Test
    void aCallWhoseExecutorRefusesLaterIsOver() throws Exception {
        AtomicInteger tasks = new AtomicInteger();
        CompletableFuture<Void> first = new CompletableFuture<>();
        Executor once = task -> {
            if (tasks.getAndIncrement() > 0) {
                throw new RejectedExecutionException("the second task");
            }
            Thread.ofVirtual().start(() -> {
                task.run();
                first.complete(null);
            });
        };
        start(server().executor(once).addService(new TestService()));
        CompletableFuture<Status> end = new CompletableFuture<>();
        var requests = TestServiceGrpc.newStub(channel).fullDuplexCall(new StreamObserver<>() {
            @Override
            public void onNext(StreamingOutputCallResponse answer) {
                // None comes.
            }

            @Override
            public void onError(Throwable failure) {
                end.complete(Status.fromThrowable(failure));
            }

            @Override
            public void onCompleted() {
                end.complete(Status.OK);
            }
        });
        first.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        requests.onNext(StreamingOutputCallRequest.getDefaultInstance());
        Status status = end.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        assertEquals(Status.Code.INTERNAL, status.getCode(), status::toString);
    }

    /** As calls of {@code rpc}: a client that gives its calls up at once has no more handlers run than it may. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallKeepsItsPlaceUntilItsCallbackReturns(boolean virtual) throws Exception {
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        CountDownLatch mayEnd = new CountDownLatch(1);
        try (ExecutorService own = Executors.newCachedThreadPool()) {
            start(server().executor(virtual ? null : own).maxConcurrentCallsPerConnection(4)
                    .addService(new TestServiceGrpc.TestServiceImplBase() {
                        @Override
                        public void emptyCall(Empty request, StreamObserver<Empty> answers) {
                            answers.onNext(request);
                            answers.onCompleted();
                        }

                        @Override
                        public StreamObserver<StreamingOutputCallRequest> fullDuplexCall(
                                StreamObserver<StreamingOutputCallResponse> answers) {
                            most.accumulateAndGet(running.incrementAndGet(), Math::max);
                            try {
                                mayEnd.await();
                            } catch (InterruptedException e) {
                                throw new AssertionError("nothing interrupts it", e);
                            }
                            running.decrementAndGet();
                            return new TestService().fullDuplexCall(answers);
                        }
                    }));
            stub().emptyCall(Empty.getDefaultInstance()); // from now on there is a connection
            for (int i = 0; i < 50; i++) {
                var call = channel.newCall(TestServiceGrpc.getFullDuplexCallMethod(), CallOptions.DEFAULT);
                call.start(new ClientCall.Listener<>() { }, new Metadata());
                call.cancel("at once", null);
            }
            Await.until("as many run as may", () -> running.get() >= 4);
            Status refused = statusOf(() -> TestServiceGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(300, TimeUnit.MILLISECONDS).emptyCall(Empty.getDefaultInstance()));
            assertTrue(refused.getCode() == Status.Code.RESOURCE_EXHAUSTED
                    || refused.getCode() == Status.Code.DEADLINE_EXCEEDED, refused::toString);
            mayEnd.countDown();
            Await.until("the places are free", () -> {
                try {
                    return stub().emptyCall(Empty.getDefaultInstance()).isInitialized();
                } catch (StatusRuntimeException e) {
                    assertEquals(Status.Code.RESOURCE_EXHAUSTED, e.getStatus().getCode());
                    return false;
                }
            });
            assertEquals(4, most.get());
        } finally {
            mayEnd.countDown();
        }
    }

    @Test
    void aCallRunsOnTheExecutorThatIsSuppliedForIt() throws Exception {
        CompletableFuture<String> thread = new CompletableFuture<>();
        try (ExecutorService own = Executors.newSingleThreadExecutor(Thread.ofPlatform().name("supplied").factory())) {
            start(server().callExecutor(new io.grpc.ServerCallExecutorSupplier() {
                @Override
                public <Q, A> Executor getExecutor(ServerCall<Q, A> call, Metadata headers) {
                    return call.getMethodDescriptor().getFullMethodName().endsWith("EmptyCall") ? own : null;
                }
            }).addService(new TestServiceGrpc.TestServiceImplBase() {
                @Override
                public void emptyCall(Empty request, StreamObserver<Empty> answers) {
                    thread.complete(Thread.currentThread().getName());
                    answers.onNext(request);
                    answers.onCompleted();
                }
            }));
            stub().emptyCall(Empty.getDefaultInstance());
            assertEquals("supplied", thread.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
            assertEquals(Status.Code.UNIMPLEMENTED, statusOf(() -> stub().unaryCall(
                    SimpleRequest.getDefaultInstance())).getCode());
        }
    }

    @Test
    void metadataOverTheLimitAreRefused() throws Exception {
        Metadata.Key<String> key = Metadata.Key.of("filler", Metadata.ASCII_STRING_MARSHALLER);
        Metadata more = new Metadata();
        more.put(key, "x".repeat(2000));
        start(server().maxInboundMetadataSize(1000).addService(new TestService()));
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, statusOf(() -> stub().withInterceptors(
                MetadataUtils.newAttachHeadersInterceptor(more)).emptyCall(Empty.getDefaultInstance())).getCode());
        stub().emptyCall(Empty.getDefaultInstance());
        assertThrows(IllegalArgumentException.class, () -> server().maxInboundMetadataSize(1 << 20));
        end();
        start(server().addService(new TestServiceGrpc.TestServiceImplBase() {
            @Override
            public void emptyCall(Empty request, StreamObserver<Empty> answers) {
                answers.onError(Status.ABORTED.asException(more));
            }
        }));
        assertEquals(Status.Code.ABORTED, statusOf(() -> stub().emptyCall(Empty.getDefaultInstance())).getCode());
        channel.shutdownNow();
        channel = RdmaChannelBuilder.forAddress("127.0.0.1", server.getPort()).maxInboundMetadataSize(1000).build();
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, statusOf(() -> stub().emptyCall(Empty.getDefaultInstance()))
                .getCode());
    }

    /** The fallback is not asked, and has no part in it. */
    @Test
    void metadataOverTheLimitAreNoFaultOfTheFallback() throws Exception {
        Metadata more = new Metadata();
        more.put(Metadata.Key.of("filler", Metadata.ASCII_STRING_MARSHALLER), "x".repeat(2000));
        start(server().maxInboundMetadataSize(1000).fallbackHandlerRegistry(new HandlerRegistry() {
            @Override
            public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
                throw new IllegalStateException("says the test");
            }
        }));
        PrintStream before = System.err;
        ByteArrayOutputStream lines = new ByteArrayOutputStream();
        System.setErr(new PrintStream(lines, true));
        try {
            assertEquals(Status.Code.RESOURCE_EXHAUSTED, statusOf(() -> stub().withInterceptors(
                    MetadataUtils.newAttachHeadersInterceptor(more)).emptyCall(Empty.getDefaultInstance())).getCode());
            assertEquals(Status.Code.UNKNOWN, statusOf(() -> stub().unaryCall(SimpleRequest.getDefaultInstance()))
                    .getCode());
            Await.until("the fallback's own fault is in the log", () -> lines.toString().contains("/UnaryCall"),
                    lines::toString);
        } finally {
            System.setErr(before);
        }
        assertFalse(lines.toString().contains("/EmptyCall"), lines::toString);
    }

    @Test
    void connectionsEndWhenTheyAreOldOrIdleAndCallsGoOnOverOthers() throws Exception {
        for (RdmaServerBuilder builder : List.of(server().maxConnectionAge(100, TimeUnit.MILLISECONDS),
                server().maxConnectionIdle(100, TimeUnit.MILLISECONDS))) {
            start(builder.addService(new TestService()));
            stub().emptyCall(Empty.getDefaultInstance());
            RdmaServer ours = (RdmaServer) server;
            Await.until("the server ends the connection", () -> ours.connections() == 0);
            stub().emptyCall(Empty.getDefaultInstance());
            end();
        }
    }

    @Test
    void eachBuilderMethodOfGrpcHasAnAnswerHere() throws Exception {
        assertOwn(ManagedChannelBuilder.class, RdmaChannelBuilder.class);
        assertOwn(ServerBuilder.class, RdmaServerBuilder.class);
        assertThrows(IllegalArgumentException.class, () -> server().keepAliveTime(0, TimeUnit.SECONDS));
        assertThrows(IllegalArgumentException.class, () -> server().permitKeepAliveTime(-1, TimeUnit.SECONDS));
        assertThrows(IllegalArgumentException.class, () -> RdmaChannelBuilder.forAddress("h", 1).keepAliveTimeout(0,
                TimeUnit.SECONDS));
        assertThrows(IllegalArgumentException.class, () -> RdmaChannelBuilder.forAddress("h", 1)
                .overrideAuthority("no [authority"));
        String why = assertThrows(UnsupportedOperationException.class, () -> server().handshakeTimeout(1,
                TimeUnit.SECONDS)).getMessage();
        assertTrue(why.contains("10 seconds"), why);
        assertTrue(assertThrows(UnsupportedOperationException.class, () -> RdmaChannelBuilder.forAddress("h", 1)
                .proxyDetector(null)).getMessage().contains("proxy"));
    }

    /** An inherited method refuses without a word, or does nothing. */
    private static void assertOwn(Class<?> builder, Class<?> ours) throws NoSuchMethodException {
        int seen = 0;
        for (Method method : builder.getDeclaredMethods()) {
            boolean offered = Modifier.isPublic(method.getModifiers()) || Modifier.isProtected(method.getModifiers());
            if (offered && !Modifier.isStatic(method.getModifiers()) && !Modifier.isFinal(method.getModifiers())
                    && !method.isSynthetic()) {
                assertNotNull(ours.getDeclaredMethod(method.getName(), method.getParameterTypes()), method::toString);
                seen++;
            }
        }
        assertTrue(seen > 15, builder + " has " + seen + " methods");
    }
}
