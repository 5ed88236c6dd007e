package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ClientStreamTracer;
import io.grpc.ConnectivityState;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.grpc.testing.integration.EmptyProtos.Empty;
import io.grpc.testing.integration.Messages.Payload;
import io.grpc.testing.integration.Messages.StreamingOutputCallRequest;
import io.grpc.testing.integration.Messages.StreamingOutputCallResponse;
import io.grpc.testing.integration.TestServiceGrpc;
import io.grpc.testing.integration.UnimplementedServiceGrpc;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.TestBed;

/** Code of an application runs without locks and interrupts of the library, and costs one call if it fails. */
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CallbacksTest {
    private Server server;
    private ManagedChannel channel;

    private void serve(TestServiceGrpc.TestServiceImplBase service, Executor executor) throws Exception {
        server = RdmaServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .executor(executor).addService(service).build().start();
    }

    private RdmaChannelBuilder channel() {
        return RdmaChannelBuilder.forAddress("127.0.0.1", server.getPort());
    }

    private TestServiceGrpc.TestServiceBlockingStub stub() {
        return TestServiceGrpc.newBlockingStub(channel).withDeadlineAfter(TestBed.PATIENCE_MILLIS,
                TimeUnit.MILLISECONDS);
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
    }

    @AfterEach
    void end() throws Exception {
        if (channel != null) {
            channel.shutdownNow();
            assertTrue(channel.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the channel ends");
        }
        server.shutdownNow();
    }

    /** The thread that waits for a connection is interrupted when its call is cancelled, but not in a callback. */
    @Test
    void aCallbackOfADirectExecutorIsNotInterrupted() throws Exception {
        serve(new TestService(), null);
        channel = channel().directExecutor().build();
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        ClientCall<StreamingOutputCallRequest, StreamingOutputCallResponse> call =
                channel.newCall(TestServiceGrpc.getFullDuplexCallMethod(), CallOptions.DEFAULT);
        call.start(new ClientCall.Listener<>() {
            @Override
            public void onReady() {
                inside.countDown();
                try {
                    mayEnd.await();
                    interrupted.complete(Thread.currentThread().isInterrupted());
                } catch (InterruptedException e) {
                    interrupted.complete(true);
                }
            }
        }, new Metadata());
        assertTrue(inside.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the call is ready");
        call.cancel("in its callback", null);
        mayEnd.countDown();
        assertFalse(get(interrupted), "the callback was interrupted");
    }

    /** An interrupt of its thread is an event, too: a look now and then would hide that a wake-up was lost. */
    @Test
    void aBlockedCallerWaitsForEventsOnly() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        serve(new TestServiceGrpc.TestServiceImplBase() {
            @Override
            public void emptyCall(Empty request, StreamObserver<Empty> answers) {
                begun.countDown(); // and never ends by itself
            }
        }, null);
        channel = channel().build();
        channel.getState(true);
        Await.until("the channel is connected", () -> channel.getState(false) == ConnectivityState.READY);
        CompletableFuture<Status> end = new CompletableFuture<>();
        Thread caller = Thread.ofPlatform().start(() -> end.complete(assertThrows(StatusRuntimeException.class,
                () -> TestServiceGrpc.newBlockingStub(channel).emptyCall(Empty.getDefaultInstance())).getStatus()));
        assertTrue(begun.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the call has not begun");
        Await.until("the caller waits without a time", () -> caller.getState() == Thread.State.WAITING,
                () -> caller.getState() + " " + List.of(caller.getStackTrace()));
        caller.interrupt();
        assertEquals(Status.Code.CANCELLED, get(end).getCode());
    }

    /** The answers fit no window, so that most of them still wait at the server when its method fails. */
    @Test
    void aMethodThatFailsAfterItsEndLosesNoAnswer() throws Exception {
        int answers = 100;
        StreamingOutputCallResponse long10k = StreamingOutputCallResponse.newBuilder().setPayload(
                Payload.newBuilder().setBody(ByteString.copyFrom(new byte[10_000]))).build();
        CountDownLatch failed = new CountDownLatch(1);
        serve(new TestServiceGrpc.TestServiceImplBase() {
            @Override
            public StreamObserver<StreamingOutputCallRequest> fullDuplexCall(
                    StreamObserver<StreamingOutputCallResponse> client) {
                for (int i = 0; i < answers; i++) {
                    client.onNext(long10k);
                }
                client.onCompleted();
                return new StreamObserver<>() {
                    @Override
                    public void onNext(StreamingOutputCallRequest request) {
                        failed.countDown();
                        throw new IllegalStateException("says the test");
                    }

                    @Override
                    public void onError(Throwable e) {
                        // The call is over for this.
                    }

                    @Override
                    public void onCompleted() {
                        // It never comes.
                    }
                };
            }
        }, null);
        channel = channel().build();
        BlockingClientCall<StreamingOutputCallRequest, StreamingOutputCallResponse> call =
                TestServiceGrpc.newBlockingV2Stub(channel).fullDuplexCall();
        call.write(StreamingOutputCallRequest.getDefaultInstance());
        assertTrue(failed.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the method fails");
        int seen = 0;
        while (call.read(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS) != null) {
            seen++;
        }
        assertEquals(answers, seen);
    }

    /** Of both ends, on whatever thread a callback runs. */
    @Test
    void callbacksHaveTheContextClassLoaderOfTheirBuilder() throws Exception {
        CompletableFuture<ClassLoader> atServer = new CompletableFuture<>();
        CompletableFuture<ClassLoader> atClient = new CompletableFuture<>();
        ClassLoader own = new URLClassLoader(new URL[0]);
        Thread me = Thread.currentThread();
        ClassLoader before = me.getContextClassLoader();
        me.setContextClassLoader(own);
        try {
            serve(new TestServiceGrpc.TestServiceImplBase() {
                @Override
                public void streamingOutputCall(StreamingOutputCallRequest request,
                        StreamObserver<StreamingOutputCallResponse> answers) {
                    atServer.complete(Thread.currentThread().getContextClassLoader());
                    answers.onCompleted();
                }
            }, null);
            channel = channel().build();
        } finally {
            me.setContextClassLoader(before);
        }
        TestServiceGrpc.newStub(channel).streamingOutputCall(StreamingOutputCallRequest.getDefaultInstance(),
                new StreamObserver<>() {
                    @Override
                    public void onNext(StreamingOutputCallResponse answer) {
                        // None comes.
                    }

                    @Override
                    public void onError(Throwable failure) {
                        atClient.completeExceptionally(failure);
                    }

                    @Override
                    public void onCompleted() {
                        atClient.complete(Thread.currentThread().getContextClassLoader());
                    }
                });
        assertSame(own, get(atServer));
        assertSame(own, get(atClient));
    }

    /** It would hold up all calls that wait for the connection. */
    @Test
    void theExecutorOfAChannelIsAskedWithoutALockOfTheClient() throws Exception {
        serve(new TestService(), null);
        CountDownLatch mayEnd = new CountDownLatch(1);
        CountDownLatch asked = new CountDownLatch(1);
        Runnable changed = () -> { };
        channel = channel().executor(task -> {
            if (task == changed) {
                asked.countDown();
                try {
                    mayEnd.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
            Thread.startVirtualThread(task);
        }).build();
        channel.notifyWhenStateChanged(ConnectivityState.IDLE, changed);
        try {
            assertEquals(Empty.getDefaultInstance(), stub().emptyCall(Empty.getDefaultInstance()));
            assertTrue(asked.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the executor was asked");
        } finally {
            mayEnd.countDown();
        }
    }

    /** An executor that waits for another thread, which asks the call: both would wait for ever. */
    @Test
    void theExecutorOfAServerIsAskedWithoutALockOfTheCall() throws Exception {
        AtomicReference<ServerCallStreamObserver<StreamingOutputCallResponse>> call = new AtomicReference<>();
        CompletableFuture<Boolean> answered = new CompletableFuture<>();
        AtomicReference<Runnable> later = new AtomicReference<>();
        serve(new TestServiceGrpc.TestServiceImplBase() {
            @Override
            public void streamingOutputCall(StreamingOutputCallRequest request,
                    StreamObserver<StreamingOutputCallResponse> answers) {
                call.set((ServerCallStreamObserver<StreamingOutputCallResponse>) answers);
                later.set(() -> Thread.ofPlatform().daemon().name("answerer").start(answers::onCompleted));
            }
        }, task -> {
            if (Thread.currentThread().getName().equals("answerer")) {
                CompletableFuture<Boolean> other = new CompletableFuture<>();
                Thread.ofPlatform().daemon().start(() -> other.complete(call.get().isReady()));
                try {
                    other.get(10, TimeUnit.SECONDS);
                    answered.complete(true);
                } catch (Exception e) {
                    answered.complete(false);
                }
            }
            Thread.startVirtualThread(() -> {
                task.run();
                Runnable next = later.getAndSet(null);
                if (next != null) { // no callback runs now, so that the answer asks the executor
                    next.run();
                }
            });
        });
        channel = channel().build();
        stub().streamingOutputCall(StreamingOutputCallRequest.getDefaultInstance()).forEachRemaining(answer -> { });
        assertTrue(get(answered), "another thread could not ask the call meanwhile");
    }

    /** The channel, and the connection of a channel of gRPC's core, would wait for its end for ever. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallThatCannotStartEndsAndItsChannelCanEnd(boolean core) throws Exception {
        serve(new TestService(), null);
        channel = core ? RdmaChannelBuilder.forTarget("rdma:///127.0.0.1:" + server.getPort()).build()
                : channel().build();
        ClientStreamTracer.Factory fails = new ClientStreamTracer.Factory() {
            @Override
            public ClientStreamTracer newClientStreamTracer(ClientStreamTracer.StreamInfo info, Metadata headers) {
                return new ClientStreamTracer() {
                    @Override
                    public void outboundHeaders() {
                        throw new IllegalStateException("the test's");
                    }
                };
            }
        };
        CompletableFuture<Status> end = new CompletableFuture<>();
        ClientCall<Empty, Empty> call = channel.newCall(TestServiceGrpc.getEmptyCallMethod(),
                CallOptions.DEFAULT.withStreamTracerFactory(fails));
        call.start(new ClientCall.Listener<>() {
            @Override
            public void onClose(Status status, Metadata trailers) {
                end.complete(status);
            }
        }, new Metadata());
        call.request(2);
        call.sendMessage(Empty.getDefaultInstance());
        call.halfClose();
        assertEquals(Status.Code.INTERNAL, get(end).getCode());
        assertEquals(Empty.getDefaultInstance(), stub().emptyCall(Empty.getDefaultInstance()));
    }

    @Test
    void aTracerThatFailsHearsOfTheEndOfACallThatNoMethodTakes() throws Exception {
        CompletableFuture<Status> heard = new CompletableFuture<>();
        server = RdmaServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .addService(new TestService()).addStreamTracerFactory(new ServerStreamTracer.Factory() {
                    @Override
                    public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
                        return new ServerStreamTracer() {
                            @Override
                            public Context filterContext(Context context) {
                                throw new IllegalStateException("the test's");
                            }

                            @Override
                            public void streamClosed(Status status) {
                                heard.complete(status);
                            }
                        };
                    }
                }).build().start();
        channel = channel().build();
        assertThrows(StatusRuntimeException.class, () -> UnimplementedServiceGrpc.newBlockingStub(channel)
                .unimplementedCall(Empty.getDefaultInstance()));
        assertEquals(Status.Code.UNIMPLEMENTED, get(heard).getCode());
    }
}
