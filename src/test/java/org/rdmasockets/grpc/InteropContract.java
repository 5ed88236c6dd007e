package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ConnectivityState;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingClientCall;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.grpc.testing.integration.EmptyProtos.Empty;
import io.grpc.testing.integration.Messages.ResponseParameters;
import io.grpc.testing.integration.Messages.SimpleRequest;
import io.grpc.testing.integration.Messages.SimpleResponse;
import io.grpc.testing.integration.Messages.StreamingInputCallRequest;
import io.grpc.testing.integration.Messages.StreamingInputCallResponse;
import io.grpc.testing.integration.Messages.StreamingOutputCallRequest;
import io.grpc.testing.integration.Messages.StreamingOutputCallResponse;
import io.grpc.testing.integration.TestServiceGrpc;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.TestBed;

/** gRPC's own interop cases, and what else its stubs rely on, over any of its transports. */
abstract class InteropContract {
    private static final int LARGE_REQUEST = 271_828;
    private static final int LARGE_ANSWER = 314_159;
    private static final int[] ANSWERS = {31_415, 9, 2653, 58_979};
    private static final Metadata.Key<String> TEXT = Metadata.Key.of("text", Metadata.ASCII_STRING_MARSHALLER);

    private Server server;
    private ManagedChannel channel;
    private TestServiceGrpc.TestServiceBlockingStub blocking;
    private TestServiceGrpc.TestServiceStub async;

    /** A server on any port. */
    abstract ServerBuilder<?> server() throws IOException;

    /** A channel to it. */
    abstract ManagedChannelBuilder<?> channel(int port) throws IOException;

    /** How a request ends that is too long for the server. */
    Set<Status.Code> tooLong() {
        return EnumSet.of(Status.Code.RESOURCE_EXHAUSTED);
    }

    /** Takes what a stream brings: messages, and its end. */
    private static class Come<T> implements StreamObserver<T> {
        private final BlockingQueue<T> messages = new LinkedBlockingQueue<>();
        private final CompletableFuture<Status> end = new CompletableFuture<>();

        @Override
        public void onNext(T message) {
            messages.add(message);
        }

        @Override
        public void onError(Throwable failure) {
            end.complete(Status.fromThrowable(failure));
        }

        @Override
        public void onCompleted() {
            end.complete(Status.OK);
        }

        T next() throws InterruptedException {
            T message = messages.poll(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
            assertNotNull(message, () -> "no message has come; the end: " + end.getNow(null));
            return message;
        }

        Status.Code end() throws Exception {
            return end.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS).getCode();
        }
    }

    private void serve(ServerBuilder<?> builder) throws IOException {
        server = builder.build().start();
        use(channel(server.getPort()).build());
    }

    private void use(ManagedChannel made) {
        channel = made;
        blocking = TestServiceGrpc.newBlockingStub(channel);
        async = TestServiceGrpc.newStub(channel);
    }

    private void serve() throws IOException {
        serve(server().addService(new TestService()));
    }

    @AfterEach
    void end() throws Exception {
        if (channel != null) {
            channel.shutdownNow();
            assertTrue(channel.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the channel ends");
        }
        if (server != null) {
            server.shutdownNow();
            assertTrue(server.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the server ends");
        }
    }

    private static Status.Code codeOf(Runnable call) {
        return assertThrows(StatusRuntimeException.class, call::run).getStatus().getCode();
    }

    private static <T> T within(Future<T> future) throws Exception {
        return future.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
    }

    private static SimpleRequest large() {
        return SimpleRequest.newBuilder().setResponseSize(LARGE_ANSWER).setPayload(TestService.payload(LARGE_REQUEST))
                .build();
    }

    private static StreamingOutputCallRequest wants(int... sizes) {
        StreamingOutputCallRequest.Builder request = StreamingOutputCallRequest.newBuilder();
        for (int size : sizes) {
            request.addResponseParameters(ResponseParameters.newBuilder().setSize(size));
        }
        return request.build();
    }

    /** Whether gRPC's own cases run as well, which take some seconds: over transports of this library. */
    boolean runsCasesOfGrpc() {
        return true;
    }

    @TestFactory
    Stream<DynamicTest> casesOfGrpc() {
        return runsCasesOfGrpc() ? GrpcCases.all(this::server, this::channel) : Stream.of();
    }

    // Stubs rely on this, too.

    /** Notes what a call says of itself, in the order of interceptors. */
    private static ServerInterceptor noting(String name, List<String> seen) {
        return new ServerInterceptor() {
            @Override
            public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers,
                    ServerCallHandler<Q, A> next) {
                seen.add(name + " " + call.getMethodDescriptor().getFullMethodName() + " " + headers.get(TEXT) + " "
                        + call.getAuthority());
                assertNotNull(call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
                assertTrue(headers.get(Metadata.Key.of("user-agent", Metadata.ASCII_STRING_MARSHALLER))
                        .startsWith("tester "));
                return next.startCall(call, headers);
            }
        };
    }

    /** A client that makes one call after the other, as gRPC's own cases do, relies on this. */
    @Test
    void tracersHearOfTheEndBeforeTheNextCallBegins() throws Exception {
        List<String> heard = new CopyOnWriteArrayList<>();
        serve(server().addService(new TestService()).addStreamTracerFactory(new ServerStreamTracer.Factory() {
            @Override
            public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
                heard.add("begins");
                return new ServerStreamTracer() {
                    @Override
                    public void streamClosed(Status status) {
                        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100)); // a client that knows is quicker
                        heard.add(status.getCode().name());
                    }
                };
            }
        }));
        assertEquals(LARGE_ANSWER, blocking.unaryCall(large()).getPayload().getBody().size());
        blocking.streamingOutputCall(wants(ANSWERS)).forEachRemaining(answer -> { });
        assertEquals(Status.Code.UNIMPLEMENTED, codeOf(() -> blocking.unimplementedCall(Empty.getDefaultInstance())));
        blocking.emptyCall(Empty.getDefaultInstance());
        Await.until("the last call ends", () -> heard.size() == 8);
        assertEquals(List.of("begins", "OK", "begins", "OK", "begins", "UNIMPLEMENTED", "begins", "OK"), heard);
    }

    private static ClientInterceptor adding(String text) {
        return new ClientInterceptor() {
            @Override
            public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options,
                    Channel next) {
                return new ForwardingClientCall.SimpleForwardingClientCall<>(next.newCall(method, options)) {
                    @Override
                    public void start(Listener<A> listener, Metadata headers) {
                        headers.put(TEXT, headers.containsKey(TEXT) ? headers.removeAll(TEXT).iterator().next() + text
                                : text);
                        super.start(listener, headers);
                    }
                };
            }
        };
    }

    @Test
    void interceptorsOfBothEndsRunInTheirOrder() throws Exception {
        List<String> seen = new ArrayList<>();
        server = server().addService(new TestService()).intercept(noting("inner", seen))
                .intercept(noting("outer", seen)).build().start();
        use(channel(server.getPort()).intercept(adding("b"), adding("a")).userAgent("tester")
                .overrideAuthority("example.org").build());
        blocking.emptyCall(Empty.getDefaultInstance());
        String call = " grpc.testing.TestService/EmptyCall ab example.org";
        assertEquals(List.of("outer" + call, "inner" + call), seen);
        assertEquals("example.org", channel.authority());
    }

    /** A unary call that never answers, and how its context ends. */
    private static final class Silent extends TestServiceGrpc.TestServiceImplBase {
        private final CompletableFuture<Long> secondsLeft = new CompletableFuture<>();
        private final CompletableFuture<Status.Code> ended = new CompletableFuture<>();

        @Override
        public void unaryCall(SimpleRequest request, StreamObserver<SimpleResponse> answers) {
            if (Context.current().getDeadline() != null) {
                secondsLeft.complete(Context.current().getDeadline().timeRemaining(TimeUnit.SECONDS));
            }
            Context.current().addListener(context -> ended.complete(Contexts.statusFromCancelled(context).getCode()),
                    Runnable::run);
        }
    }

    @Test
    void theDeadlineTravelsAndCancelsTheWork() throws Exception {
        Silent silent = new Silent();
        serve(server().addService(silent));
        assertEquals(Status.Code.DEADLINE_EXCEEDED, codeOf(() -> blocking.withDeadlineAfter(2, TimeUnit.SECONDS)
                .unaryCall(SimpleRequest.getDefaultInstance())));
        assertTrue(within(silent.secondsLeft) <= 2);
        assertTrue(within(silent.ended) != Status.Code.OK);
    }

    @Test
    void theDeadlineOfAContextCounts() throws Exception {
        serve(server().addService(new Silent()));
        var scheduler = Executors.newSingleThreadScheduledExecutor();
        try (Context.CancellableContext context = Context.current().withDeadlineAfter(200, TimeUnit.MILLISECONDS,
                scheduler)) {
            context.run(() -> assertEquals(Status.Code.DEADLINE_EXCEEDED,
                    codeOf(() -> blocking.withDeadlineAfter(1, TimeUnit.HOURS)
                            .unaryCall(SimpleRequest.getDefaultInstance()))));
            context.run(() -> assertEquals(Status.Code.DEADLINE_EXCEEDED,
                    codeOf(() -> blocking.emptyCall(Empty.getDefaultInstance()))));
        } finally {
            scheduler.shutdownNow();
        }
    }

    @Test
    void aContextThatIsCancelledCancelsTheCallAtBothEnds() throws Exception {
        Silent silent = new Silent();
        serve(server().addService(silent));
        Come<SimpleResponse> come = new Come<>();
        Context.CancellableContext context = Context.current().withCancellation();
        context.run(() -> async.withDeadlineAfter(1, TimeUnit.HOURS).unaryCall(SimpleRequest.getDefaultInstance(),
                come));
        within(silent.secondsLeft);
        context.cancel(null);
        assertEquals(Status.Code.CANCELLED, come.end());
        assertEquals(Status.Code.CANCELLED, within(silent.ended));
    }

    @Test
    void anInterruptOfABlockedCallerCancelsTheCall() throws Exception {
        for (Thread.Builder threads : List.of(Thread.ofPlatform(), Thread.ofVirtual())) {
            Silent silent = new Silent();
            serve(server().addService(silent));
            CompletableFuture<Status.Code> status = new CompletableFuture<>();
            Thread caller = threads.start(() -> status.complete(codeOf(() -> blocking.withDeadlineAfter(1,
                    TimeUnit.HOURS).unaryCall(SimpleRequest.getDefaultInstance()))));
            within(silent.secondsLeft);
            caller.interrupt();
            assertEquals(Status.Code.CANCELLED, within(status));
            assertEquals(Status.Code.CANCELLED, within(silent.ended));
            end();
        }
    }

    @Test
    void aHandlerThatIsCancelledIsToldSo() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch cancelled = new CountDownLatch(1);
        serve(server().addService(new TestServiceGrpc.TestServiceImplBase() {
            @Override
            public StreamObserver<StreamingOutputCallRequest> fullDuplexCall(
                    StreamObserver<StreamingOutputCallResponse> answers) {
                ((ServerCallStreamObserver<?>) answers).setOnCancelHandler(cancelled::countDown);
                begun.countDown();
                return new Come<>();
            }
        }));
        Come<StreamingOutputCallResponse> come = new Come<>();
        ClientCallStreamObserver<?> requests = (ClientCallStreamObserver<?>) async.fullDuplexCall(come);
        assertTrue(begun.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the call begins");
        requests.cancel("no", null);
        assertTrue(cancelled.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the handler is told");
    }

    /** Answers as long as the client takes answers, and counts them. */
    private static final class Pouring extends TestServiceGrpc.TestServiceImplBase {
        private static final int MANY = 200;
        private static final int BYTES = 50_000;
        private final AtomicInteger poured = new AtomicInteger();
        private final CountDownLatch held = new CountDownLatch(1);

        @Override
        public void streamingOutputCall(StreamingOutputCallRequest request,
                StreamObserver<StreamingOutputCallResponse> observer) {
            var answers = (ServerCallStreamObserver<StreamingOutputCallResponse>) observer;
            var answer = StreamingOutputCallResponse.newBuilder().setPayload(TestService.payload(BYTES)).build();
            answers.setOnReadyHandler(() -> {
                while (answers.isReady() && poured.get() < MANY) {
                    answers.onNext(answer);
                    if (poured.incrementAndGet() == MANY) {
                        answers.onCompleted();
                    }
                }
                held.countDown();
            });
        }
    }

    @Test
    void aClientThatAsksForNothingHoldsTheServerUp() throws Exception {
        Pouring pouring = new Pouring();
        serve(server().addService(pouring));
        Come<StreamingOutputCallResponse> come = new Come<>();
        AtomicReference<ClientCallStreamObserver<StreamingOutputCallRequest>> call = new AtomicReference<>();
        async.streamingOutputCall(wants(), new ClientResponseObserver<StreamingOutputCallRequest,
                StreamingOutputCallResponse>() {
            @Override
            public void beforeStart(ClientCallStreamObserver<StreamingOutputCallRequest> begins) {
                begins.disableAutoRequestWithInitial(1);
                call.set(begins);
            }

            @Override
            public void onNext(StreamingOutputCallResponse answer) {
                come.onNext(answer);
            }

            @Override
            public void onError(Throwable failure) {
                come.onError(failure);
            }

            @Override
            public void onCompleted() {
                come.onCompleted();
            }
        });
        come.next();
        assertTrue(pouring.held.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the server is held up");
        assertTrue(pouring.poured.get() < Pouring.MANY, "the server poured all");
        assertTrue(come.messages.isEmpty(), "a message that nobody has asked for");
        call.get().request(Pouring.MANY);
        for (int i = 1; i < Pouring.MANY; i++) {
            assertEquals(Pouring.BYTES, come.next().getPayload().getBody().size());
        }
        assertEquals(Status.Code.OK, come.end());
    }

    @Test
    void aServerThatReadsSlowlyHoldsTheClientUp() throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        serve(server().addService(new TestServiceGrpc.TestServiceImplBase() {
            @Override
            public StreamObserver<StreamingInputCallRequest> streamingInputCall(
                    StreamObserver<StreamingInputCallResponse> answers) {
                StreamObserver<StreamingInputCallRequest> counting = new TestService().streamingInputCall(answers);
                return new StreamObserver<>() {
                    @Override
                    public void onNext(StreamingInputCallRequest request) {
                        try {
                            goOn.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
                        } catch (InterruptedException e) {
                            Thread.currentThread().interrupt();
                        }
                        counting.onNext(request);
                    }

                    @Override
                    public void onError(Throwable failure) {
                        counting.onError(failure);
                    }

                    @Override
                    public void onCompleted() {
                        counting.onCompleted();
                    }
                };
            }
        }));
        Come<StreamingInputCallResponse> come = new Come<>();
        var requests = (ClientCallStreamObserver<StreamingInputCallRequest>) async.streamingInputCall(come);
        Await.until("the call is ready", requests::isReady);
        var request = StreamingInputCallRequest.newBuilder().setPayload(TestService.payload(50_000)).build();
        int sent = 0;
        while (sent < 1000 && requests.isReady()) {
            requests.onNext(request);
            sent++;
        }
        assertTrue(sent < 1000, "the client is never held up");
        for (int i = 0; i < 10; i++, sent++) {
            requests.onNext(request); // the client keeps messages that are not taken
        }
        requests.onCompleted();
        goOn.countDown();
        assertEquals(sent * 50_000, come.next().getAggregatedPayloadSize());
        assertEquals(Status.Code.OK, come.end());
    }

    @Test
    void manyCallsAreUnderWayAtOnce() throws Exception {
        serve();
        List<Future<SimpleResponse>> answers = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            answers.add(TestServiceGrpc.newFutureStub(channel).unaryCall(
                    SimpleRequest.newBuilder().setResponseSize(i).build()));
        }
        for (int i = 0; i < answers.size(); i++) {
            assertEquals(i, within(answers.get(i)).getPayload().getBody().size());
        }
    }

    @Test
    void threadsShareAChannel() throws Exception {
        serve();
        try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Integer>> threads = new ArrayList<>();
            for (int t = 0; t < 16; t++) {
                int size = t * 100;
                threads.add(callers.submit(() -> {
                    int all = 0;
                    for (int i = 0; i < 50; i++) {
                        all += blocking.unaryCall(SimpleRequest.newBuilder().setResponseSize(size).build())
                                .getPayload().getBody().size();
                    }
                    return all;
                }));
            }
            for (int t = 0; t < threads.size(); t++) {
                assertEquals(50 * 100 * t, within(threads.get(t)));
            }
        }
    }

    @Test
    void callbacksRunWhereTheBuildersSay() throws Exception {
        CompletableFuture<String> served = new CompletableFuture<>();
        CompletableFuture<String> answered = new CompletableFuture<>();
        try (ExecutorService at = Executors.newFixedThreadPool(2, Thread.ofPlatform().name("mine").factory())) {
            Executor here = at;
            server = server().executor(here).addService(new TestServiceGrpc.TestServiceImplBase() {
                @Override
                public void emptyCall(Empty request, StreamObserver<Empty> answers) {
                    served.complete(Thread.currentThread().getName());
                    answers.onNext(request);
                    answers.onCompleted();
                }
            }).build().start();
            use(channel(server.getPort()).executor(here).build());
            async.emptyCall(Empty.getDefaultInstance(), new Come<>() {
                @Override
                public void onCompleted() {
                    answered.complete(Thread.currentThread().getName());
                }
            });
            assertEquals("mine", within(served));
            assertEquals("mine", within(answered));
            end();
        }
    }

    @Test
    void directExecutorsWillDo() throws Exception {
        server = server().directExecutor().addService(new TestService()).build().start();
        use(channel(server.getPort()).directExecutor().build());
        assertEquals(TestService.payload(LARGE_ANSWER), blocking.unaryCall(large()).getPayload());
        Come<StreamingOutputCallResponse> come = new Come<>();
        StreamObserver<StreamingOutputCallRequest> requests = async.fullDuplexCall(come);
        requests.onNext(wants(ANSWERS));
        requests.onCompleted();
        assertEquals(Status.Code.OK, come.end());
        assertEquals(ANSWERS.length, come.messages.size());
    }

    @Test
    void aHandlerThatThrowsIsUnknownOrWhatItSays() throws Exception {
        serve(server().addService(new TestServiceGrpc.TestServiceImplBase() {
            @Override
            public void emptyCall(Empty request, StreamObserver<Empty> answers) {
                throw new IllegalStateException("a fault");
            }

            @Override
            public void unaryCall(SimpleRequest request, StreamObserver<SimpleResponse> answers) {
                answers.onError(Status.NOT_FOUND.withDescription("no such thing").asException());
            }
        }));
        assertEquals(Status.Code.UNKNOWN, codeOf(() -> blocking.emptyCall(Empty.getDefaultInstance())));
        assertEquals(Status.Code.NOT_FOUND, codeOf(() -> blocking.unaryCall(SimpleRequest.getDefaultInstance())));
        assertEquals(Status.Code.UNKNOWN, codeOf(() -> blocking.emptyCall(Empty.getDefaultInstance())));
    }

    @Test
    void messagesTooLongAreRefused() throws Exception {
        server = server().addService(new TestService()).maxInboundMessageSize(10_000).build().start();
        use(channel(server.getPort()).maxInboundMessageSize(10_000).build());
        Status.Code request = codeOf(() -> blocking.unaryCall(
                SimpleRequest.newBuilder().setPayload(TestService.payload(20_000)).build()));
        assertTrue(tooLong().contains(request), () -> "a request that is too long ended with " + request);
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, codeOf(() -> blocking.unaryCall(
                SimpleRequest.newBuilder().setResponseSize(20_000).build())));
        assertEquals(Status.Code.CANCELLED, codeOf(() -> blocking.withMaxOutboundMessageSize(10).unaryCall(
                SimpleRequest.newBuilder().setPayload(TestService.payload(20)).build())));
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, codeOf(() -> blocking.withMaxInboundMessageSize(10).unaryCall(
                SimpleRequest.newBuilder().setResponseSize(20).build())));
        assertEquals(9_000, blocking.unaryCall(SimpleRequest.newBuilder().setResponseSize(9_000).build())
                .getPayload().getBody().size());
    }

    @Test
    void credentialsAddHeaders() throws Exception {
        CompletableFuture<String> text = new CompletableFuture<>();
        serve(server().addService(new TestService()).intercept(new ServerInterceptor() {
            @Override
            public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers,
                    ServerCallHandler<Q, A> next) {
                text.complete(headers.get(TEXT));
                return next.startCall(call, headers);
            }
        }));
        blocking.withCallCredentials(credentials("secret", null)).emptyCall(Empty.getDefaultInstance());
        assertEquals("secret", within(text));
        assertEquals(Status.Code.PERMISSION_DENIED, codeOf(() -> blocking.withCallCredentials(
                credentials(null, Status.PERMISSION_DENIED)).emptyCall(Empty.getDefaultInstance())));
        assertEquals(Status.Code.INTERNAL, codeOf(() -> blocking.withCallCredentials(
                credentials(null, Status.NOT_FOUND)).emptyCall(Empty.getDefaultInstance())), "no code of a method");
    }

    private static CallCredentials credentials(String secret, Status failure) {
        return new CallCredentials() {
            @Override
            public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier applier) {
                executor.execute(() -> {
                    if (failure != null) {
                        applier.fail(failure);
                        return;
                    }
                    Metadata headers = new Metadata();
                    headers.put(TEXT, secret);
                    applier.apply(headers);
                });
            }
        };
    }

    @Test
    void aChannelThatIsShutDownLetsItsCallsEnd() throws Exception {
        serve();
        Come<StreamingOutputCallResponse> come = new Come<>();
        StreamObserver<StreamingOutputCallRequest> requests = async.fullDuplexCall(come);
        requests.onNext(wants(1));
        come.next();
        channel.shutdown();
        assertTrue(channel.isShutdown());
        assertEquals(Status.Code.UNAVAILABLE, codeOf(() -> blocking.emptyCall(Empty.getDefaultInstance())));
        requests.onNext(wants(2));
        assertEquals(2, come.next().getPayload().getBody().size());
        assertFalse(channel.isTerminated());
        requests.onCompleted();
        assertEquals(Status.Code.OK, come.end());
        assertTrue(channel.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        assertEquals(ConnectivityState.SHUTDOWN, channel.getState(false));
    }

    @Test
    void shutdownNowEndsCalls() throws Exception {
        Silent silent = new Silent();
        serve(server().addService(silent));
        Come<SimpleResponse> come = new Come<>();
        async.withDeadlineAfter(1, TimeUnit.HOURS).unaryCall(SimpleRequest.getDefaultInstance(), come);
        within(silent.secondsLeft);
        channel.shutdownNow();
        assertEquals(Status.Code.UNAVAILABLE, come.end());
        assertTrue(channel.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
    }

    @Test
    void aServerThatIsShutDownLetsItsCallsEnd() throws Exception {
        serve();
        Come<StreamingOutputCallResponse> come = new Come<>();
        StreamObserver<StreamingOutputCallRequest> requests = async.fullDuplexCall(come);
        requests.onNext(wants(1));
        come.next();
        server.shutdown();
        requests.onNext(wants(2));
        assertEquals(2, come.next().getPayload().getBody().size());
        assertFalse(server.isTerminated());
        requests.onCompleted();
        assertEquals(Status.Code.OK, come.end());
        assertTrue(server.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        assertTrue(server.isTerminated());
        assertEquals(Status.Code.UNAVAILABLE, codeOf(() -> blocking.emptyCall(Empty.getDefaultInstance())));
    }

    @Test
    void theStateIsTold() throws Exception {
        serve();
        assertEquals(ConnectivityState.IDLE, channel.getState(false));
        CountDownLatch changed = new CountDownLatch(1);
        channel.notifyWhenStateChanged(ConnectivityState.IDLE, changed::countDown);
        channel.getState(true);
        assertTrue(changed.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the state changes");
        Await.until("the channel is ready", () -> channel.getState(false) == ConnectivityState.READY);
        blocking.emptyCall(Empty.getDefaultInstance());
        assertEquals(ConnectivityState.READY, channel.getState(false));
    }

    @Test
    void theServerTellsWhatItServes() throws Exception {
        serve();
        assertEquals(List.of("grpc.testing.TestService"), server.getServices().stream()
                .map(service -> service.getServiceDescriptor().getName()).toList());
        assertEquals(1, server.getListenSockets().size());
        assertThrows(IllegalStateException.class, server::start);
    }

    @Test
    void withoutAServerCallsFailAtOnceUnlessTheyWait() throws Exception {
        serve();
        int port = server.getPort();
        end();
        use(channel(port).build());
        assertEquals(Status.Code.UNAVAILABLE, codeOf(() -> blocking.emptyCall(Empty.getDefaultInstance())));
        Come<StreamingOutputCallResponse> come = new Come<>();
        async.fullDuplexCall(come);
        assertEquals(Status.Code.UNAVAILABLE, come.end());
        assertEquals(Status.Code.DEADLINE_EXCEEDED, codeOf(() -> blocking.withWaitForReady()
                .withDeadlineAfter(300, TimeUnit.MILLISECONDS).emptyCall(Empty.getDefaultInstance())));
    }
}
