package org.rdmasockets.internal.rpc.call;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcServer;

/** Frames that are ready at once go in one message of an endpoint, and none stays behind. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FramesTogetherTest {
    private static final byte[] PING = {1, 2, 3};
    private static final int MAX_MESSAGE = 1 << 20;
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(40);

    private static InetSocketAddress anyPort() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    private static Frame hello(int bytes) {
        Frame frame = new Frame(Frame.HELLO, Frame.NUMBERED, 0, new byte[bytes]);
        frame.code = CallConnection.VERSION;
        frame.value = MAX_MESSAGE;
        frame.number = CallConnection.WINDOW;
        frame.answered = 1000;
        return frame;
    }

    private static Frame call(int id, byte[] message) {
        Frame frame = new Frame(Frame.CALL, Frame.LAST, id, message);
        frame.text = "echo";
        return frame;
    }

    private static CallServer serve() throws IOException {
        return CallServer.over(EndpointCarrier.listen(anyPort(), MAX_MESSAGE), name -> new CallMethod.Begun(
                call -> call.finish(Code.OK, "", null, call.poll()), false), CallServer.Settings.DEFAULT);
    }

    private static Carrier greeted(CallServer server) throws IOException {
        Carrier carrier = EndpointCarrier.connect(server.localAddress(), MAX_MESSAGE, LIMIT_NANOS);
        carrier.send(hello(ClientConnection.IDENTITY_BYTES + Long.BYTES), Long.MAX_VALUE);
        assertEquals(Frame.HELLO, carrier.receive(System.nanoTime() + LIMIT_NANOS).kind);
        return carrier;
    }

    private static long soon() {
        return System.nanoTime() + LIMIT_NANOS;
    }

    @Test
    void answersOfCallsThatCameInOneMessageGoInOne() throws Exception {
        int calls = 20;
        try (CallServer server = serve(); Carrier carrier = greeted(server)) {
            for (int i = 1; i <= calls; i++) {
                assertTrue(carrier.hold(call(i, PING)), "room for call " + i);
            }
            assertTrue(carrier.holds());
            carrier.flush(Long.MAX_VALUE);
            assertFalse(carrier.holds());
            Frame answer = carrier.receive(soon());
            for (int i = 1; i <= calls; i++) {
                assertEquals(i, answer.call, "the order of the answers");
                assertArrayEquals(PING, answer.message);
                answer = carrier.poll(false);
            }
            assertNull(answer, "behind the last answer");
        }
    }

    /** A frame that does not fit goes before, or behind, and a long one between the short. */
    @Test
    void framesOfAllLengthsComeInTheirOrder() throws Exception {
        try (CallServer server = serve(); Carrier carrier = greeted(server)) {
            int[] lengths = {0, 4000, 700, 3, 5000, 1, 4550, 4580, 4581, 2, 100_000, 0, 64, 64, 64};
            for (int i = 0; i < lengths.length; i++) {
                Frame frame = call(i, new byte[lengths[i]]);
                if (!carrier.hold(frame)) {
                    carrier.send(frame, Long.MAX_VALUE);
                }
            }
            carrier.flush(Long.MAX_VALUE);
            boolean[] seen = new boolean[lengths.length];
            for (int i = 0; i < lengths.length; i++) {
                Frame answer = carrier.receive(soon());
                assertEquals(lengths[answer.call], answer.message.length);
                assertFalse(seen[answer.call], "a second answer to " + answer);
                seen[answer.call] = true;
            }
        }
    }

    @Test
    void whatIsHeldGoesBeforeTheEnd() throws Exception {
        try (Carrier.Listener listener = EndpointCarrier.listen(anyPort(), MAX_MESSAGE)) {
            CompletableFuture<Carrier> accepted = new CompletableFuture<>();
            Thread.ofPlatform().daemon().start(() -> {
                try {
                    accepted.complete(listener.accept());
                } catch (IOException e) {
                    accepted.completeExceptionally(e);
                }
            });
            try (Carrier one = EndpointCarrier.connect(listener.localAddress(), MAX_MESSAGE, LIMIT_NANOS)) {
                holdAndClose(accepted.get(40, TimeUnit.SECONDS), call(7, PING));
                assertEquals(7, one.receive(soon()).call);
            }
        }
    }

    private static void holdAndClose(Carrier carrier, Frame frame) {
        try (carrier) {
            assertTrue(carrier.hold(frame));
        }
    }

    /**
     * The threads of those calls run before the one that reads next: it sends what they have left to it. On a busy
     * machine each may run by itself, so there are some attempts.
     */
    @Test
    void callersWhoWereAnsweredTogetherCallTogether() throws Exception {
        int calls = 8 * 200;
        int messages = calls;
        for (int attempt = 0; attempt < 10 && messages == calls; attempt++) {
            messages = messagesOfCalls(8, 200);
        }
        assertTrue(messages < calls, messages + " messages of one call each");
    }

    private static int messagesOfCalls(int callers, int rounds) throws Exception {
        AtomicInteger messages = new AtomicInteger();
        try (Carrier.Listener listener = EndpointCarrier.listen(anyPort(), MAX_MESSAGE);
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Thread.ofPlatform().daemon().start(() -> answerAllAtOnce(listener, callers, rounds, messages));
            try (RpcClient client = RpcClient.builder().connect(listener.localAddress())) {
                List<Future<?>> all = new ArrayList<>();
                for (int i = 0; i < callers; i++) {
                    all.add(threads.submit(() -> {
                        for (int round = 0; round < rounds; round++) {
                            assertArrayEquals(PING, client.call("echo", PING));
                        }
                        return null;
                    }));
                }
                for (Future<?> one : all) {
                    one.get(60, TimeUnit.SECONDS);
                }
            }
        }
        return messages.get();
    }

    private static void answerAllAtOnce(Carrier.Listener listener, int callers, int rounds, AtomicInteger messages) {
        try (Carrier carrier = listener.accept()) {
            carrier.receive(Long.MAX_VALUE);
            carrier.send(hello(Long.BYTES), Long.MAX_VALUE);
            for (int round = 0; round < rounds; round++) {
                for (int i = 0; i < callers; i++) {
                    Frame call = carrier.poll(false);
                    if (call == null) {
                        call = carrier.receive(soon());
                        messages.incrementAndGet();
                    }
                    assertTrue(carrier.hold(new Frame(Frame.MESSAGE, Frame.LAST, call.call, call.message)));
                }
                carrier.flush(Long.MAX_VALUE);
            }
        } catch (IOException e) {
            throw new AssertionError(e); // the callers wait in vain, for a time
        }
    }

    /** The thread that begins a call does not read, and the one that would have sent it has just left. */
    @Test
    void aCallThatNobodyAwaitsIsMade() throws Exception {
        AtomicInteger noted = new AtomicInteger();
        try (RpcServer server = RpcServer.builder().unary("echo", (request, call) -> request)
                .unary("note", (request, call) -> {
                    noted.incrementAndGet();
                    return request;
                }).listen(anyPort());
                RpcClient client = RpcClient.builder().connect(server.localAddress());
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            int begun = 0;
            for (int round = 0; round < 300; round++) {
                List<Future<byte[]>> others = new ArrayList<>();
                for (int i = 0; i < round % 5; i++) {
                    others.add(threads.submit(() -> client.call("echo", PING)));
                }
                assertArrayEquals(PING, client.call("echo", PING));
                client.begin("note", PING, RpcOptions.DEFAULT);
                begun++;
                if (round % 2 == 0) {
                    client.begin("note", PING, RpcOptions.DEFAULT, () -> { });
                    begun++;
                }
                for (Future<byte[]> other : others) {
                    assertArrayEquals(PING, other.get(40, TimeUnit.SECONDS));
                }
                if (round % 10 == 0) {
                    int expected = begun;
                    Await.until(expected + " calls that nobody awaits", () -> noted.get() == expected, noted::get);
                }
            }
        }
    }
}
