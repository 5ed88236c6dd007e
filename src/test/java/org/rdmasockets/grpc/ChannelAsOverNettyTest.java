package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ConnectivityState;
import io.grpc.Context;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.grpc.testing.integration.EmptyProtos.Empty;
import io.grpc.testing.integration.Messages.SimpleRequest;
import io.grpc.testing.integration.Messages.SimpleResponse;
import io.grpc.testing.integration.Messages.StreamingInputCallRequest;
import io.grpc.testing.integration.Messages.StreamingInputCallResponse;
import io.grpc.testing.integration.Messages.StreamingOutputCallRequest;
import io.grpc.testing.integration.Messages.StreamingOutputCallResponse;
import io.grpc.testing.integration.TestServiceGrpc;
import java.io.IOException;
import java.net.DatagramSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.rpc.KillableServer;

/** The states of a channel, and the ends of its calls without a server: first over Netty, which decides. */
@ParameterizedClass
@ValueSource(strings = {"netty", "sharedmemory", "udp", "datagrams"})
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ChannelAsOverNettyTest {
    /** A client that waits for its server waits for longer than any test. */
    private static final Duration FOR_EVER = Duration.ofHours(1);
    /** So long may a thread be held that is never to be held; it would be, until a peer that takes nothing is gone. */
    private static final int HANG_SECONDS = 20;
    private static final int MOST_CALLS = 1024;

    @Parameter
    private String transport;

    @TempDir
    private Path folder;
    private final List<AutoCloseable> resources = new ArrayList<>();
    private final AtomicInteger begun = new AtomicInteger();

    /** Answers empty calls and streams, and no unary one. */
    private static final class Half extends TestServiceGrpc.TestServiceImplBase {
        private final TestService all = new TestService();
        private final AtomicInteger begun;

        Half(AtomicInteger begun) {
            this.begun = begun;
        }

        @Override
        public void emptyCall(Empty request, StreamObserver<Empty> answers) {
            all.emptyCall(request, answers);
        }

        @Override
        public void unaryCall(SimpleRequest request, StreamObserver<SimpleResponse> answers) {
            begun.incrementAndGet();
        }

        @Override
        public void cacheableUnaryCall(SimpleRequest request, StreamObserver<SimpleResponse> answers) {
            answers.onNext(SimpleResponse.newBuilder().setPayload(TestService.payload(
                    request.getPayload().getBody().size())).build());
            answers.onCompleted();
        }

        @Override
        public StreamObserver<StreamingInputCallRequest> streamingInputCall(
                StreamObserver<StreamingInputCallResponse> answers) {
            begun.incrementAndGet();
            return all.streamingInputCall(answers);
        }

        @Override
        public StreamObserver<StreamingOutputCallRequest> fullDuplexCall(
                StreamObserver<StreamingOutputCallResponse> answers) {
            begun.incrementAndGet();
            return all.fullDuplexCall(answers);
        }
    }

    /** Serves in a JVM of its own. */
    public static final class Child {
        private Child() {
        }

        /** Arguments: transport and port. */
        public static void main(String[] arguments) throws Exception {
            ServerBuilder<?> builder = server(arguments[0], Integer.parseInt(arguments[1]));
            KillableServer.serve(() -> builder.addService(new Half(new AtomicInteger())).build().start());
        }
    }

    private static ServerBuilder<?> server(String transport, int port) {
        if (transport.equals("netty")) {
            return NettyServerBuilder.forAddress(KillableServer.at(port)).maxConcurrentCallsPerConnection(MOST_CALLS);
        }
        RdmaServerBuilder builder = RdmaServerBuilder.forAddress(KillableServer.at(port));
        return switch (transport) {
            case "udp" -> builder.datagrams(DatagramSocket::new);
            case "datagrams" -> builder.datagrams();
            default -> builder;
        };
    }

    private Server serve(int port) throws Exception {
        CompletableFuture<Server> started = new CompletableFuture<>();
        Await.until("the port is free", () -> {
            try {
                return started.complete(server(transport, port).addService(new Half(begun)).build().start());
            } catch (IOException e) {
                return false;
            }
        });
        Server server = started.get();
        resources.add(() -> server.shutdownNow().awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        return server;
    }

    private ManagedChannel channel(int port) {
        return channel(port, FOR_EVER);
    }

    private ManagedChannel channel(int port, Duration retryTime) {
        ManagedChannelBuilder<?> builder;
        if (transport.equals("netty")) {
            builder = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext();
        } else {
            RdmaChannelBuilder own = RdmaChannelBuilder.forAddress("127.0.0.1", port).retryTime(retryTime);
            builder = switch (transport) {
                case "udp" -> own.datagrams(DatagramSocket::new);
                case "datagrams" -> own.datagrams();
                default -> own;
            };
        }
        ManagedChannel channel = builder.build();
        resources.add(channel::shutdownNow);
        return channel;
    }

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable resource : resources.reversed()) {
            resource.close();
        }
    }

    /** How a call ends. */
    private static final class End<A> implements StreamObserver<A> {
        private final CompletableFuture<Status> end = new CompletableFuture<>();
        private volatile A last;

        @Override
        public void onNext(A answer) {
            last = answer;
        }

        @Override
        public void onError(Throwable failure) {
            end.complete(Status.fromThrowable(failure));
        }

        @Override
        public void onCompleted() {
            end.complete(Status.OK);
        }

        Status get() throws Exception {
            return end.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private static Status.Code codeOf(ManagedChannel channel) {
        return assertThrows(StatusRuntimeException.class, () -> empty(channel)).getStatus().getCode();
    }

    private static void empty(ManagedChannel channel) {
        TestServiceGrpc.newBlockingStub(channel).emptyCall(Empty.getDefaultInstance());
    }

    private static void awaitState(ManagedChannel channel, ConnectivityState state) throws Exception {
        Await.until("the channel is " + state, () -> channel.getState(false) == state, () -> channel.getState(false));
    }

    /** A channel that has a connection and no call. */
    private ManagedChannel idle(int port) throws Exception {
        ManagedChannel channel = channel(port);
        channel.getState(true);
        awaitState(channel, ConnectivityState.READY);
        return channel;
    }

    private static CountDownLatch change(ManagedChannel channel, ConnectivityState from) {
        CountDownLatch changed = new CountDownLatch(1);
        channel.notifyWhenStateChanged(from, changed::countDown);
        return changed;
    }

    private static void await(CountDownLatch latch, String what) throws InterruptedException {
        assertTrue(latch.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), what);
    }

    /** Channels and calls hear when something ends their server; then another one has its port. */
    private void endsWithItsServer(int port, Callable<?> ending, Callable<?> again, Callable<Boolean> bothRun)
            throws Exception {
        ManagedChannel idle = idle(port);
        ManagedChannel busy = channel(port);
        End<SimpleResponse> unary = new End<>();
        End<StreamingOutputCallResponse> stream = new End<>();
        TestServiceGrpc.newStub(busy).unaryCall(SimpleRequest.getDefaultInstance(), unary);
        TestServiceGrpc.newStub(busy).fullDuplexCall(stream);
        FutureTask<Status.Code> blocked = new FutureTask<>(() -> assertThrows(StatusRuntimeException.class,
                () -> TestServiceGrpc.newBlockingStub(busy).unaryCall(SimpleRequest.getDefaultInstance()))
                .getStatus().getCode());
        Thread.ofPlatform().daemon().start(blocked);
        Await.until("all calls run", bothRun);
        awaitState(busy, ConnectivityState.READY);
        CountDownLatch idleHears = change(idle, ConnectivityState.READY);
        CountDownLatch busyHears = change(busy, ConnectivityState.READY);
        ending.call();
        assertEnded(unary.get().getCode());
        assertEnded(stream.get().getCode());
        assertEnded(blocked.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        await(busyHears, "the state of the channel with calls changes");
        await(idleHears, "the state of the channel without calls changes");
        awaitState(idle, ConnectivityState.IDLE);
        assertEquals(Status.Code.UNAVAILABLE, codeOf(idle), "every connect is refused");
        assertEquals(Status.Code.UNAVAILABLE, codeOf(busy));
        again.call();
        TestServiceGrpc.newBlockingStub(busy).withWaitForReady().emptyCall(Empty.getDefaultInstance());
        assertEquals(ConnectivityState.READY, busy.getState(false));
    }

    /** A server over Netty that is shut down at once resets each call as cancelled before it hangs up. */
    private void assertEnded(Status.Code code) {
        assertTrue(code == Status.Code.UNAVAILABLE || code == Status.Code.CANCELLED && transport.equals("netty"),
                () -> "a call ended with " + code + " when its server did");
    }

    @Test
    void theEndOfAServerIsKnownAtOnce() throws Exception {
        Server server = serve(0);
        int port = server.getPort();
        endsWithItsServer(port, () -> server.shutdownNow().awaitTermination(TestBed.PATIENCE_MILLIS,
                TimeUnit.MILLISECONDS), () -> serve(port), () -> begun.get() == 3);
    }

    @Test
    void aServerThatIsStoppedHoldsNoThreadAndItsEndIsKnownAtOnce() throws Exception {
        try (KillableServer server = new KillableServer(Child.class, folder.resolve("unused"))) {
            Process process = server.start(transport);
            int port = server.address().getPort();
            ManagedChannel channel = idle(port);
            callWhileStopped(process, channel);
            endsWithItsServer(port, () -> process.destroyForcibly().waitFor(), () -> serve(port), () -> {
                empty(channel); // as the others, which were begun before
                return true;
            });
        }
    }

    /** Also one that has calls still, and so its port. */
    @Test
    void aServerThatIsShutDownRefusesOthersAtOnce() throws Exception {
        Server server = serve(0);
        ManagedChannel busy = channel(server.getPort());
        End<StreamingOutputCallResponse> stream = new End<>();
        StreamObserver<?> requests = TestServiceGrpc.newStub(busy).fullDuplexCall(stream);
        Await.until("the call runs", () -> begun.get() == 1);
        server.shutdown();
        ManagedChannel other = channel(server.getPort());
        assertEquals(Status.Code.UNAVAILABLE, assertThrows(StatusRuntimeException.class, () -> TestServiceGrpc
                .newBlockingStub(other).withDeadlineAfter(HANG_SECONDS, TimeUnit.SECONDS)
                .emptyCall(Empty.getDefaultInstance())).getStatus().getCode());
        requests.onCompleted();
        assertEquals(Status.Code.OK, stream.get().getCode());
    }

    @Test
    void aChannelThatEntersIdleLetsItsCallsEnd() throws Exception {
        ManagedChannel channel = idle(serve(0).getPort());
        End<StreamingOutputCallResponse> stream = new End<>();
        StreamObserver<?> requests = TestServiceGrpc.newStub(channel).fullDuplexCall(stream);
        Await.until("the call runs", () -> begun.get() == 1);
        channel.enterIdle();
        awaitState(channel, ConnectivityState.IDLE);
        requests.onCompleted();
        assertEquals(Status.Code.OK, stream.get().getCode());
        empty(channel);
        assertEquals(ConnectivityState.READY, channel.getState(false));
    }

    /** It may have something to free then. */
    @Test
    void aListenerThatThrowsHearsOfTheEnd() throws Exception {
        AtomicInteger ends = new AtomicInteger();
        Server server = server(transport, 0).addService(new Half(begun)).intercept(new ServerInterceptor() {
            @Override
            public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers,
                    ServerCallHandler<Q, A> next) {
                return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
                    @Override
                    public void onHalfClose() {
                        throw new IllegalStateException("says the test");
                    }

                    @Override
                    public void onComplete() {
                        ends.incrementAndGet();
                    }
                };
            }
        }).build().start();
        resources.add(server::shutdownNow);
        ManagedChannel channel = channel(server.getPort());
        assertEquals(Status.Code.UNKNOWN, codeOf(channel));
        End<StreamingOutputCallResponse> stream = new End<>();
        TestServiceGrpc.newStub(channel).fullDuplexCall(stream).onCompleted();
        assertEquals(Status.Code.UNKNOWN, stream.get().getCode());
        Await.until("both have heard", () -> ends.get() == 2, ends::get);
    }

    @Test
    void headersOfACallThatFailsAreTold() throws Exception {
        Metadata.Key<String> key = Metadata.Key.of("early", Metadata.ASCII_STRING_MARSHALLER);
        Server server = server(transport, 0).addService(new Half(begun)).intercept(new ServerInterceptor() {
            @Override
            public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers,
                    ServerCallHandler<Q, A> next) {
                Metadata early = new Metadata();
                early.put(key, "word");
                call.sendHeaders(early);
                call.close(Status.ABORTED, new Metadata());
                return new ServerCall.Listener<>() { };
            }
        }).build().start();
        resources.add(server::shutdownNow);
        AtomicReference<Metadata> headers = new AtomicReference<>();
        ManagedChannel channel = channel(server.getPort());
        assertEquals(Status.Code.ABORTED, assertThrows(StatusRuntimeException.class, () -> TestServiceGrpc
                .newBlockingStub(channel).withInterceptors(MetadataUtils.newCaptureMetadataInterceptor(headers,
                new AtomicReference<>())).emptyCall(Empty.getDefaultInstance())).getStatus().getCode());
        assertEquals("word", headers.get().get(key));
    }

    @Test
    void aCallThatWaitsForAServerWaitsWithoutEnd() throws Exception {
        Server server = serve(0);
        int port = server.getPort();
        server.shutdownNow().awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        ManagedChannel channel = channel(port, Duration.ofMillis(1));
        End<Empty> unary = new End<>();
        End<StreamingOutputCallResponse> stream = new End<>();
        TestServiceGrpc.TestServiceStub waiting = TestServiceGrpc.newStub(channel).withWaitForReady();
        waiting.emptyCall(Empty.getDefaultInstance(), unary);
        waiting.fullDuplexCall(stream).onCompleted();
        for (int i = 0; i < 5; i++) {
            assertEquals(Status.Code.UNAVAILABLE, codeOf(channel), "a call that does not wait");
        }
        assertFalse(unary.end.isDone(), () -> "ended without a server: " + unary.end.getNow(null));
        assertFalse(stream.end.isDone(), () -> "ended without a server: " + stream.end.getNow(null));
        serve(port);
        assertEquals(Status.Code.OK, unary.get().getCode());
        assertEquals(Status.Code.OK, stream.get().getCode());
    }

    @Test
    void moreCallsThanTheServerTakesHoldNoThread() throws Exception {
        ManagedChannel channel = idle(serve(0).getPort());
        TestServiceGrpc.TestServiceStub stub = TestServiceGrpc.newStub(channel);
        List<End<StreamingOutputCallResponse>> ends = new ArrayList<>();
        List<StreamObserver<StreamingOutputCallRequest>> calls = new ArrayList<>();
        notHeld("the thread that opens the calls", () -> {
            for (int i = 0; i < 1100; i++) {
                ends.add(new End<>());
                calls.add(stub.fullDuplexCall(ends.getLast()));
                calls.getLast().onNext(StreamingOutputCallRequest.getDefaultInstance());
            }
            return null;
        });
        Await.until("as many run as may", () -> begun.get() == MOST_CALLS, begun::get);
        ((ClientCallStreamObserver<?>) calls.getLast()).cancel("before its turn", null);
        assertEquals(Status.Code.CANCELLED, ends.getLast().get().getCode());
        End<Empty> last = new End<>();
        notHeld("the thread that begins a unary call", () -> {
            stub.emptyCall(Empty.getDefaultInstance(), last);
            return null;
        });
        for (int i = 0; i < calls.size() - 1; i++) {
            calls.get(i).onCompleted();
        }
        for (int i = 0; i < calls.size() - 1; i++) {
            Status end = ends.get(i).get();
            assertEquals(Status.Code.OK, end.getCode(), end::toString);
        }
        assertEquals(Status.Code.OK, last.get().getCode());
    }

    private static void notHeld(String what, Callable<?> body) throws Exception {
        FutureTask<?> task = new FutureTask<>(body);
        Thread thread = Thread.ofPlatform().daemon().start(task);
        thread.join(Duration.ofSeconds(HANG_SECONDS));
        assertTrue(task.isDone(), () -> what + " is held: " + List.of(thread.getStackTrace()));
        task.get();
    }

    private static void callWhileStopped(Process process, ManagedChannel channel) throws Exception {
        empty(channel);
        TestServiceGrpc.TestServiceStub stub = TestServiceGrpc.newStub(channel);
        List<End<SimpleResponse>> unary = new ArrayList<>();
        End<StreamingInputCallResponse> sum = new End<>();
        End<SimpleResponse> cancelled = new End<>();
        ChildJvm.signal(process.pid(), "STOP", "T");
        notHeld("the caller of a stopped server", () -> {
            for (int i = 0; i < 504; i++) {
                unary.add(new End<>());
                stub.cacheableUnaryCall(SimpleRequest.newBuilder().setPayload(TestService.payload(
                        i < 500 ? 64 : 1_000_000)).build(), unary.getLast());
            }
            StreamObserver<StreamingInputCallRequest> requests = stub.streamingInputCall(sum);
            for (int i = 0; i < 4; i++) {
                requests.onNext(StreamingInputCallRequest.newBuilder().setPayload(TestService.payload(
                        1_000_000 + i)).build());
            }
            assertFalse(((ClientCallStreamObserver<?>) requests).isReady(), "it takes more");
            requests.onCompleted();
            try (Context.CancellableContext context = Context.current().withCancellation()) {
                context.run(() -> stub.unaryCall(SimpleRequest.getDefaultInstance(), cancelled));
            }
            return null;
        });
        assertEquals(Status.Code.CANCELLED, cancelled.get().getCode());
        ChildJvm.signal(process.pid(), "CONT", "RSD");
        for (int i = 0; i < unary.size(); i++) {
            assertEquals(Status.Code.OK, unary.get(i).get().getCode());
            assertEquals(i < 500 ? 64 : 1_000_000, unary.get(i).last.getPayload().getBody().size());
        }
        assertEquals(Status.Code.OK, sum.get().getCode());
        assertEquals(4_000_006, sum.last.getAggregatedPayloadSize());
    }

    /** Makes a call of each kind whose server does not end it, and gives their ends. */
    private static void makeAll(ManagedChannel channel, List<Future<Status>> ends) {
        End<SimpleResponse> unary = new End<>();
        End<StreamingOutputCallResponse> stream = new End<>();
        TestServiceGrpc.newStub(channel).unaryCall(SimpleRequest.getDefaultInstance(), unary);
        TestServiceGrpc.newStub(channel).fullDuplexCall(stream);
        FutureTask<Status> blocking = new FutureTask<>(() -> assertThrows(StatusRuntimeException.class,
                () -> TestServiceGrpc.newBlockingStub(channel).unaryCall(SimpleRequest.getDefaultInstance()))
                .getStatus());
        Thread.ofVirtual().start(Context.current().wrap(blocking));
        ends.addAll(List.of(unary.end, stream.end, blocking));
    }

    @Test
    void aCancelledContextIsTheReasonAlways() throws Exception {
        ManagedChannel channel = idle(serve(0).getPort());
        for (int i = 0; i < 40; i++) {
            IllegalStateException cause = new IllegalStateException("call " + i);
            List<Future<Status>> ends = new ArrayList<>();
            Context.CancellableContext context = Context.current().withCancellation();
            context.run(() -> makeAll(channel, ends));
            int later = ThreadLocalRandom.current().nextInt(200);
            for (int spins = 0; spins < later; spins++) {
                Thread.onSpinWait();
            }
            context.cancel(cause);
            for (Future<Status> end : ends) {
                Status status = end.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
                assertEquals(Status.Code.CANCELLED, status.getCode());
                assertEquals("Context cancelled", status.getDescription());
                assertSame(cause, status.getCause());
            }
        }
    }

    @Test
    void calledOffChannelsAndServersAreUnavailableAlways() throws Exception {
        for (int round = 0; round < 6; round++) {
            Server server = serve(0);
            ManagedChannel channel = idle(server.getPort());
            List<Future<Status>> ends = new ArrayList<>();
            int before = begun.get();
            for (int i = 0; i < 20; i++) {
                makeAll(channel, ends);
            }
            Await.until("all calls run", () -> begun.get() == before + ends.size(), begun::get);
            if (round % 2 == 0) {
                channel.shutdownNow();
            } else {
                server.shutdownNow();
            }
            for (Future<Status> end : ends) {
                Status status = end.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
                assertEnded(status.getCode());
            }
        }
    }
}
