package org.rdmasockets.internal.rpc.call;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.grpc.RdmaServerBuilder;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcClientCall;
import org.rdmasockets.rpc.RpcException;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcServer;
import org.rdmasockets.rpc.RpcStatus;
import org.rdmasockets.internal.rpc.session.SessionHub;

/** A peer that breaks the rules of calls loses its connection; those of others go on. */
@Timeout(value = 4, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileFrameTest {
    private static final byte[] PING = {1, 2, 3};
    private static final int MAX_MESSAGE = 1 << 20;
    private static final int CALL = 5;
    private static final int WINDOW = 256 << 10;

    private static InetSocketAddress anyPort() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    private static RpcServer serve(String transport) throws IOException {
        return serve(transport, 100);
    }

    private static RpcServer serve(String transport, int maxCalls) throws IOException {
        return serve(transport, RpcServer.builder().maxCalls(maxCalls));
    }

    private static RpcServer serve(String transport, RpcServer.Builder settings) throws IOException {
        RpcServer.Builder builder = settings.maxMessage(MAX_MESSAGE)
                .unary("echo", (request, call) -> request)
                .streaming("endless", call -> {
                    while (true) {
                        call.send(PING);
                    }
                })
                .streaming("hold", call -> Thread.sleep(Duration.ofHours(1)))
                .streaming("each", call -> {
                    for (byte[] one = call.receive(); one != null; one = call.receive()) {
                        call.send(one);
                    }
                });
        return (transport.equals("udp") ? builder.datagrams(DatagramSocket::new) : builder).listen(anyPort());
    }

    private static RpcClient client(String transport, InetSocketAddress server) throws IOException {
        return (transport.equals("udp") ? RpcClient.builder().datagrams(DatagramSocket::new) : RpcClient.builder())
                .connect(server);
    }

    private static Carrier dial(String transport, InetSocketAddress server) throws IOException {
        long limit = TimeUnit.SECONDS.toNanos(30);
        return transport.equals("udp") ? SessionHub.connect(new DatagramSocket(), server, 4 * MAX_MESSAGE, limit)
                : EndpointCarrier.connect(server, 4 * MAX_MESSAGE, limit);
    }

    private static Carrier.Listener listen(String transport) throws IOException {
        return transport.equals("udp") ? SessionHub.listen(new DatagramSocket(anyPort()), MAX_MESSAGE)
                : EndpointCarrier.listen(anyPort(), MAX_MESSAGE);
    }

    private static Frame hello() {
        Frame frame = new Frame(Frame.HELLO, Frame.NUMBERED, 0,
                new byte[ClientConnection.IDENTITY_BYTES + Long.BYTES]);
        frame.code = CallConnection.VERSION;
        frame.value = MAX_MESSAGE;
        frame.number = WINDOW;
        return frame;
    }

    private static Frame call(String method, int flags, byte[] message) {
        Frame frame = new Frame(Frame.CALL, flags, CALL, message);
        frame.text = method;
        return frame;
    }

    private static Frame numbered(String method, int flags) {
        Frame frame = new Frame(Frame.CALL, Frame.NUMBERED | flags, CALL + 1, PING);
        frame.text = method;
        frame.number = 1;
        frame.answered = 1;
        return frame;
    }

    private static Frame message(int flags, byte[] message) {
        return new Frame(Frame.MESSAGE, flags, CALL, message);
    }

    private static Frame window(long value) {
        Frame frame = new Frame(Frame.WINDOW, 0, CALL);
        frame.value = value;
        return frame;
    }

    private static Frame greeting(int version, long maxMessage, long window, int identityBytes) {
        Frame frame = new Frame(Frame.HELLO, Frame.NUMBERED, 0, new byte[identityBytes]);
        frame.code = version;
        frame.value = maxMessage;
        frame.number = window;
        return frame;
    }

    private static void awaitEnd(String what, Carrier carrier) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
        while (true) {
            try {
                carrier.receive(deadline);
            } catch (SocketTimeoutException e) {
                fail("the connection goes on: " + what);
            } catch (IOException e) {
                return;
            }
        }
    }

    private static void assertAnswers(String what, RpcClientCall honest) throws Exception {
        honest.send(PING);
        assertArrayEquals(PING, honest.receive(), () -> "another client's call after " + what);
    }

    /** Frames that a client that has greeted, and whose call is held, must not send. */
    private static Map<String, List<Frame>> violations() {
        byte[] half = new byte[WINDOW / 2];
        Map<String, List<Frame>> all = new LinkedHashMap<>();
        all.put("a second greeting", List.of(hello()));
        all.put("a server's frame", List.of(new Frame(Frame.GOAWAY, 0, 0)));
        all.put("a call by the number of another", List.of(call("hold", 0, PING)));
        all.put("a message after the end", List.of(message(Frame.LAST, PING), message(0, PING)));
        all.put("a second message after the end", List.of(message(Frame.LAST, null), message(Frame.LAST, PING)));
        all.put("headers after a message", List.of(message(0, PING), message(Frame.HEADERS, null)));
        all.put("headers in the place of a call's metadata", List.of(new Frame(Frame.CALL, Frame.HEADERS, CALL + 1)));
        all.put("a numbered call whose request is not whole", List.of(numbered("echo", 0)));
        all.put("more than the window", List.of(message(0, half), message(0, half), message(0, half)));
        all.put("a message longer than the limit", List.of(message(0, new byte[MAX_MESSAGE + 1])));
        all.put("a call longer than the limit", List.of(new Frame(Frame.CALL, 0, CALL + 1,
                new byte[MAX_MESSAGE + 1])));
        all.put("a window that grows backwards", List.of(window(-1)));
        all.put("a window without end", List.of(window(Integer.MAX_VALUE)));
        return all;
    }

    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp"})
    void aViolationEndsItsConnectionOnly(String transport) throws Exception {
        try (RpcServer server = serve(transport); RpcClient client = client(transport, server.localAddress());
                RpcClientCall honest = client.open("each", RpcOptions.DEFAULT)) {
            assertAnswers("nothing", honest);
            for (Map.Entry<String, List<Frame>> one : violations().entrySet()) {
                try (Carrier carrier = dial(transport, server.localAddress())) {
                    carrier.send(hello(), Long.MAX_VALUE);
                    carrier.send(call("hold", 0, null), Long.MAX_VALUE);
                    Await.until("its call runs", () -> server.calls() == 2);
                    for (Frame frame : one.getValue()) {
                        carrier.send(frame, Long.MAX_VALUE);
                    }
                    awaitEnd(one.getKey(), carrier);
                }
                Await.until("its call has ended after " + one.getKey(), () -> server.calls() == 1);
                assertAnswers(one.getKey(), honest);
            }
        }
    }

    /** A place is for a request that comes, or for a method that says something; and one address never has all. */
    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp"})
    void callsWhoseRequestsNeverComeGiveTheirPlacesUp(String transport) throws Exception {
        int most = 8;
        try (RpcServer server = serve(transport, most); RpcClient client = client(transport, server.localAddress());
                RpcClientCall honest = client.open("each", RpcOptions.DEFAULT);
                Carrier talker = dial(transport, server.localAddress());
                Carrier stranger = dial(transport, server.localAddress())) {
            assertAnswers("nothing", honest);
            talker.send(hello(), Long.MAX_VALUE);
            talker.send(call("endless", 0, null), Long.MAX_VALUE); // its client never says anything, and hears much
            Frame heard = talker.receive(Long.MAX_VALUE);
            while (heard.kind != Frame.MESSAGE) {
                heard = talker.receive(Long.MAX_VALUE);
            }
            stranger.send(hello(), Long.MAX_VALUE);
            AtomicInteger sent = new AtomicInteger();
            Await.until("the share of an address", () -> {
                int id = sent.getAndIncrement();
                Frame silent = new Frame(Frame.CALL, 0, id);
                silent.text = id % 2 == 0 ? "each" : "echo";
                stranger.send(silent, Long.MAX_VALUE);
                return id > 3 * most && server.calls() == Shares.of(most); // on a slow machine, some may have ended
            }, server::calls);
            for (int i = 0; i < 3; i++) {
                assertArrayEquals(PING, client.call("echo", PING, RpcOptions.DEFAULT.timeout(Duration.ofSeconds(30))));
            }
            // As many have ended as there was need of: those that were silent for a second then.
            Await.until("silent calls have ended", () -> server.calls() < Shares.of(most), server::calls);
            assertTrue(server.calls() >= 2, "one that was heard, or hears much, has ended");
            assertAnswers("the silent calls", honest);
        }
    }

    /**
     * A method of gRPC with one request takes it when nothing follows: until then it is counted with all that is
     * unread, also where it is short and would be long when unpacked, and its place is for others that want it.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRequestThatIsNotWholeStaysWhereItIsCounted(boolean virtual) throws Exception {
        AtomicInteger taken = new AtomicInteger();
        int most = 8;
        ServerServiceDefinition service = ServerServiceDefinition.builder("held").addMethod(bytesMethod(taken),
                ServerCalls.asyncUnaryCall((request, answers) -> {
                    answers.onNext(request);
                    answers.onCompleted();
                })).build();
        try (ExecutorService own = Executors.newCachedThreadPool()) {
            Server server = RdmaServerBuilder.forAddress(anyPort()).executor(virtual ? null : own)
                    .maxConcurrentCalls(most).addService(service).build().start();
            try (Carrier stranger = dial("sharedmemory", local(server)); Carrier honest = dial("sharedmemory",
                    local(server))) {
                stranger.send(hello(), Long.MAX_VALUE);
                for (int i = 0; i < Shares.of(most); i++) {
                    Frame call = new Frame(Frame.CALL, 0, i, PING);
                    call.text = "held/one";
                    stranger.send(call, Long.MAX_VALUE);
                }
                honest.send(hello(), Long.MAX_VALUE);
                assertEquals(Frame.HELLO, honest.receive(Long.MAX_VALUE).kind);
                Await.until("one that is not whole has had its second", () -> {
                    Frame call = new Frame(Frame.CALL, Frame.LAST, 0, PING);
                    call.text = "held/one";
                    honest.send(call, Long.MAX_VALUE);
                    return honest.receive(Long.MAX_VALUE).code == Code.OK;
                });
                assertEquals(1, taken.get(), "requests that the server has taken");
            } finally {
                server.shutdownNow();
            }
        }
    }

    /** The kernel names the user; the peer names its address, and might name another one each time. */
    @Test
    void overSharedMemoryAPeerIsCountedByItsUser() throws Exception {
        OptionalInt own = OptionalInt.of((Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        try (Carrier.Listener listener = listen("sharedmemory");
                Carrier client = dial("sharedmemory", listener.localAddress());
                Carrier served = listener.accept()) {
            assertEquals(own, served.countedAs());
            assertEquals(own, client.countedAs());
        }
    }

    private static InetSocketAddress local(Server server) {
        return (InetSocketAddress) server.getListenSockets().getFirst();
    }

    /** A method with one request and one answer, which are bytes; counts the requests that it takes. */
    private static MethodDescriptor<byte[], byte[]> bytesMethod(AtomicInteger taken) {
        MethodDescriptor.Marshaller<byte[]> bytes = new MethodDescriptor.Marshaller<>() {
            @Override
            public InputStream stream(byte[] message) {
                return new ByteArrayInputStream(message);
            }

            @Override
            public byte[] parse(InputStream message) {
                taken.incrementAndGet();
                try {
                    return message.readAllBytes();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        };
        return MethodDescriptor.newBuilder(bytes, bytes).setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName("held/one").build();
    }

    /** Calls a method so many times, each time by a client that goes when it runs. */
    private static void endsWithoutItsClient(String transport, RpcServer server, String method, int times)
            throws Exception {
        for (int i = 0; i < times; i++) {
            try (Carrier carrier = dial(transport, server.localAddress())) {
                carrier.send(hello(), Long.MAX_VALUE);
                Frame call = numbered(method, Frame.LAST);
                call.number += i;
                carrier.send(call, Long.MAX_VALUE);
                Await.until("the call runs", () -> server.calls() == 1);
            }
            Await.until("the call has ended", () -> server.calls() == 0);
        }
    }

    /** It holds a place, and a thread, while its client might come back for the answer, and no longer. */
    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp"})
    void aNumberedCallEndsWhenItsClientIsForgotten(String transport) throws Exception {
        try (RpcServer server = serve(transport, RpcServer.builder().answerMemory(4096, Duration.ofMillis(100)))) {
            endsWithoutItsClient(transport, server, "hold", 3);
        }
    }

    /** A client that is gone comes back for an answer, but not for a stream of them. */
    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp"})
    void aNumberedCallThatStreamsEndsWithItsConnection(String transport) throws Exception {
        try (RpcServer server = serve(transport)) {
            endsWithoutItsClient(transport, server, "endless", 5);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp"})
    void aStrangeGreetingEndsItsConnectionOnly(String transport) throws Exception {
        Frame unnumbered = new Frame(Frame.HELLO, 0, 0, new byte[24]);
        unnumbered.code = CallConnection.VERSION;
        unnumbered.value = MAX_MESSAGE;
        try (RpcServer server = serve(transport); RpcClient client = client(transport, server.localAddress());
                RpcClientCall honest = client.open("each", RpcOptions.DEFAULT)) {
            int version = CallConnection.VERSION;
            for (Frame first : List.of(greeting(1, MAX_MESSAGE, WINDOW, 24),
                    greeting(version + 1, MAX_MESSAGE, WINDOW, 24), greeting(version, 0, WINDOW, 24),
                    greeting(version, -1, WINDOW, 24), greeting(version, 1L << 40, WINDOW, 24),
                    greeting(version, MAX_MESSAGE, 0, 24), greeting(version, MAX_MESSAGE, 1L << 40, 24),
                    greeting(version, MAX_MESSAGE, WINDOW, 23), greeting(version, MAX_MESSAGE, WINDOW, 2000),
                    new Frame(Frame.HELLO, Frame.NUMBERED, 0), unnumbered,
                    call("hold", 0, PING), message(Frame.LAST, PING), window(1))) {
                try (Carrier carrier = dial(transport, server.localAddress())) {
                    carrier.send(first, Long.MAX_VALUE);
                    awaitEnd(first.toString(), carrier);
                }
                assertAnswers(first.toString(), honest);
            }
            assertEquals(1, server.calls());
        }
    }

    /** The peer cannot know yet that a call has ended, so what comes for it is no violation. */
    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp"})
    void whatIsOfNoCallIsIgnored(String transport) throws Exception {
        try (RpcServer server = serve(transport); Carrier carrier = dial(transport, server.localAddress())) {
            carrier.send(hello(), Long.MAX_VALUE);
            assertEquals(Frame.HELLO, carrier.receive(Long.MAX_VALUE).kind);
            for (int i = 0; i < 3; i++) {
                for (Frame frame : List.of(message(0, PING), message(Frame.LAST | Frame.HEADERS, PING), window(1),
                        window(-1), new Frame(Frame.CANCEL, 0, CALL), new Frame(Frame.CANCEL, 0, -1))) {
                    carrier.send(frame, Long.MAX_VALUE); // before the call, and after its end
                }
                carrier.send(call("echo", Frame.LAST, PING), Long.MAX_VALUE);
                Frame answer = carrier.receive(Long.MAX_VALUE);
                assertEquals(Code.OK, answer.code, answer::toString);
                assertArrayEquals(PING, answer.message);
            }
            assertEquals(0, server.calls());
        }
    }

    @Test
    void lengthsThatLieEndTheirConnectionOnly() throws Exception {
        ByteBuffer good = ByteBuffer.allocate(100);
        Frame call = call("echo", Frame.LAST, PING);
        call.metadata = new byte[10];
        good.limit(call.size());
        call.encode(good);
        try (RpcServer server = serve("sharedmemory");
                RpcClient client = client("sharedmemory", server.localAddress());
                RpcClientCall honest = client.open("each", RpcOptions.DEFAULT)) {
            for (int[] lie : new int[][] {{16, 0x7FFFFFFF}, {16, -1}, {16, 1 << 14}, {16, (1 << 14) + 1}, {20, -1},
                    {20, 0x0FFF0000}, {20, 0x10010000}, {0, -1}, {0, 0}}) {
                byte[] frame = Arrays.copyOf(good.array(), good.limit());
                ByteBuffer.wrap(frame).putInt(lie[0], lie[1]);
                String what = lie[1] + " at " + lie[0];
                assertThrows(ProtocolViolation.class, () -> Frame.decode(ByteBuffer.wrap(frame)), what);
                sendRaw(server.localAddress(), frame, what);
                assertAnswers(what, honest);
            }
            sendRaw(server.localAddress(), new byte[23], "a frame that is cut");
            assertAnswers("a frame that is cut", honest);
            assertEquals(1, server.calls());
        }
    }

    /** Each frame but the last of a message says how long it is. */
    @Test
    void framesWhoseOwnLengthsLieEndTheirConnectionOnly() throws Exception {
        Frame call = call("echo", Frame.LAST, PING);
        int size = call.size();
        ByteBuffer two = ByteBuffer.allocate(2 * size);
        call.encode(two);
        call.encode(two);
        try (RpcServer server = serve("sharedmemory");
                RpcClient client = client("sharedmemory", server.localAddress());
                RpcClientCall honest = client.open("each", RpcOptions.DEFAULT)) {
            for (int lie : new int[] {1, 23, size - PING.length - 1, size + 1, 2 * size - 23, 2 * size - 1, 2 * size,
                    2 * size + 1, 0x7FFF, 0x8000, 0xFFFF}) {
                byte[] message = two.array().clone();
                ByteBuffer.wrap(message).putShort(Frame.LENGTH_OFFSET, (short) lie);
                sendRaw(server.localAddress(), message, "two frames, the first of which says " + lie);
                assertAnswers("two frames, the first of which says " + lie, honest);
            }
            byte[] alone = Arrays.copyOf(two.array(), size);
            ByteBuffer.wrap(alone).putShort(Frame.LENGTH_OFFSET, (short) size);
            assertThrows(ProtocolViolation.class, () -> Frame.decode(ByteBuffer.wrap(alone)), "none follows");
            byte[] followed = two.array().clone();
            ByteBuffer.wrap(followed).putShort(Frame.LENGTH_OFFSET, (short) size);
            assertThrows(ProtocolViolation.class, () -> Frame.decode(ByteBuffer.wrap(followed)), "it has to be alone");
            Await.until("the end of their calls", () -> server.calls() == 1, server::calls);
        }
    }

    private static void sendRaw(InetSocketAddress server, byte[] frame, String what) throws IOException {
        RdmaEndpoint endpoint = RdmaEndpoint.builder().maxMessage(MAX_MESSAGE).connect(server);
        try (Carrier carrier = EndpointCarrier.over(endpoint)) {
            carrier.send(hello(), Long.MAX_VALUE);
            LocalRegion region = endpoint.allocate(frame.length);
            region.segment().asByteBuffer().put(frame);
            endpoint.startSend(region);
            awaitEnd(what, carrier);
        }
    }

    /** Any bytes decode to a frame or a violation, and nothing else is thrown. */
    @Test
    void anyBytesAreAFrameOrAViolation() {
        Random random = new Random(11);
        Frame call = call("echo", Frame.NUMBERED, PING);
        call.metadata = new byte[10];
        ByteBuffer good = ByteBuffer.allocate(call.size());
        call.encode(good);
        int frames = 0;
        for (int i = 0; i < 200_000; i++) {
            byte[] bytes = Arrays.copyOf(good.array(), random.nextInt(4) == 0 ? random.nextInt(80)
                    : good.limit());
            for (int changes = random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                Frame frame = Frame.decode(ByteBuffer.wrap(bytes));
                assertTrue((frame.message == null ? 0 : frame.message.length) <= bytes.length);
                frames++;
            } catch (ProtocolViolation e) {
                assertNull(e.getCause());
            }
        }
        assertTrue(frames > 10_000 && frames < 190_000, frames + " frames");
    }

    /** A client whose server breaks the rules makes its connection anew. */
    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp"})
    void aServerThatBreaksTheRulesLosesItsConnectionAndTheCallIsMadeAgain(String transport) throws Exception {
        List<Frame> wrong = List.of(hello(), call("echo", 0, PING), new Frame(Frame.CANCEL, 0, 1),
                new Frame(Frame.MESSAGE, 0, 1, new byte[(4 << 20) + 1]));
        AtomicInteger ended = new AtomicInteger();
        try (Carrier.Listener listener = listen(transport)) {
            Thread.ofPlatform().daemon().start(() -> {
                for (int i = 0; i <= wrong.size(); i++) {
                    serveOnce(listener, i < wrong.size() ? wrong.get(i) : null);
                    ended.incrementAndGet();
                }
            });
            try (RpcClient client = client(transport, listener.localAddress())) {
                assertArrayEquals(PING, client.call("echo", PING,
                        RpcOptions.DEFAULT.idempotent(true).timeout(Duration.ofSeconds(100))));
                assertEquals(wrong.size(), ended.get(), "connections that the client has ended");
            }
        }
    }

    /** Greets, and takes nothing from then on. */
    private static Carrier greet(Carrier.Listener listener) throws IOException {
        Carrier carrier = listener.accept();
        carrier.receive(Long.MAX_VALUE);
        Frame hello = hello();
        hello.answered = 1000;
        hello.message = new byte[Long.BYTES];
        carrier.send(hello, Long.MAX_VALUE);
        return carrier;
    }

    /** More than a connection holds, so that some calls wait for room and others for answers. */
    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp"})
    void aDeadlineEndsTheCallOfAServerThatTakesNothing(String transport) throws Exception {
        try (Carrier.Listener listener = listen(transport)) {
            CompletableFuture<Carrier> server = new CompletableFuture<>();
            Thread.ofPlatform().daemon().start(() -> {
                try {
                    server.complete(greet(listener));
                } catch (IOException e) {
                    server.completeExceptionally(e);
                }
            });
            try (RpcClient client = client(transport, listener.localAddress());
                    Carrier silent = server.get(40, TimeUnit.SECONDS)) {
                assertEquals(listener.localAddress(), silent.localAddress());
                for (int bytes : new int[] {MAX_MESSAGE, 4000, 1}) {
                    for (int i = 0; i < 20; i++) {
                        RpcException e = assertThrows(RpcException.class, () -> client.call("nothing", new byte[bytes],
                                RpcOptions.DEFAULT.timeout(Duration.ofMillis(20))));
                        assertEquals(RpcStatus.DEADLINE_EXCEEDED, e.status(), e + " of a call of " + bytes + " bytes");
                    }
                }
                for (int i = 0; i < 3; i++) {
                    RpcException e = assertThrows(RpcException.class, () -> sendForEver(client));
                    assertEquals(RpcStatus.DEADLINE_EXCEEDED, e.status(), e.toString());
                }
            }
        }
    }

    private static void sendForEver(RpcClient client) throws RpcException {
        try (RpcClientCall call = client.open("nothing", RpcOptions.DEFAULT.timeout(Duration.ofMillis(100)))) {
            while (true) {
                call.send(new byte[10_000]);
            }
        }
    }

    /** The limit of the test would be exceeded if each wait for the first frame were as long as that may take. */
    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp"})
    void aServerThatDoesNotGreetHoldsNobodyUpBeyondItsTime(String transport) throws Exception {
        try (Carrier.Listener listener = listen(transport)) {
            RpcClient.Builder builder = RpcClient.builder().retryTime(Duration.ofMillis(100));
            if (transport.equals("udp")) {
                builder.datagrams(DatagramSocket::new);
            }
            for (int i = 0; i < 40; i++) {
                assertThrows(IOException.class, () -> builder.connect(listener.localAddress()));
            }
        }
    }

    /** Greets, and answers the first call: by a frame, or well. */
    private static void serveOnce(Carrier.Listener listener, Frame wrong) {
        try (Carrier carrier = listener.accept()) {
            carrier.receive(Long.MAX_VALUE);
            Frame hello = hello();
            hello.answered = 10;
            hello.message = new byte[Long.BYTES];
            carrier.send(hello, Long.MAX_VALUE);
            Frame call = carrier.receive(Long.MAX_VALUE);
            carrier.send(wrong == null ? new Frame(Frame.MESSAGE, Frame.LAST, call.call, call.message) : wrong,
                    Long.MAX_VALUE);
            awaitEnd(String.valueOf(wrong), carrier);
        } catch (IOException e) {
            return; // its client is gone
        }
    }
}
