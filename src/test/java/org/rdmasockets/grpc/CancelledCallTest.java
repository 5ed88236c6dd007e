package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.testing.integration.Messages.StreamingOutputCallRequest;
import io.grpc.testing.integration.Messages.StreamingOutputCallResponse;
import io.grpc.testing.integration.TestServiceGrpc;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.TestBed;

/** A call that is cut short ends by the reason, although its task meets the consequence first. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CancelledCallTest {
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theReasonIsToldWhateverTheTaskHasSeen(boolean byContext) throws Exception {
        Server server = RdmaServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .addService(new TestService()).build().start();
        ManagedChannel channel = RdmaChannelBuilder.forAddress("127.0.0.1", server.getPort()).build();
        CompletableFuture<Thread> worker = new CompletableFuture<>();
        try (ExecutorService executor = Executors.newSingleThreadExecutor()) {
            executor.execute(() -> worker.complete(Thread.currentThread()));
            Thread thread = worker.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
            CompletableFuture<Status> end = new CompletableFuture<>();
            CompletableFuture<Void> ready = new CompletableFuture<>();
            Context.CancellableContext context = Context.current().withCancellation();
            var call = (ChannelCall<StreamingOutputCallRequest, StreamingOutputCallResponse>) context.call(
                    () -> channel.newCall(TestServiceGrpc.getFullDuplexCallMethod(),
                            CallOptions.DEFAULT.withExecutor(executor)));
            context.run(() -> call.start(listener(ready, end), new Metadata()));
            ready.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
            IllegalStateException cause = new IllegalStateException("the test's");
            synchronized (call.outbox) {
                call.request(1); // the task looks, finds that nothing has ended the call, and wants to send
                Await.until("the task comes so far", () -> thread.getState() == Thread.State.BLOCKED, thread::getState);
                if (byContext) {
                    context.cancel(cause);
                } else {
                    channel.shutdownNow();
                }
            }
            Status status = end.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
            assertEquals(byContext ? Status.Code.CANCELLED : Status.Code.UNAVAILABLE, status.getCode());
            assertEquals(byContext ? "Context cancelled" : "Channel shutdownNow invoked", status.getDescription());
            assertSame(byContext ? cause : null, status.getCause());
            context.cancel(null);
        } finally {
            channel.shutdownNow();
            server.shutdownNow();
        }
    }

    private static ClientCall.Listener<StreamingOutputCallResponse> listener(CompletableFuture<Void> ready,
            CompletableFuture<Status> end) {
        return new ClientCall.Listener<>() {
            @Override
            public void onReady() {
                ready.complete(null);
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
                end.complete(status);
            }
        };
    }
}
