package org.rdmasockets.internal.rpc.call;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.internal.rpc.session.SessionHub;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcClientCall;
import org.rdmasockets.rpc.RpcException;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcStatus;

/** Long messages go in parts, which take turns, and short frames go between; a receiver bounds what is not whole. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PartsTest {
    private static final Duration LIMIT = Duration.ofSeconds(40);
    private static final int LONG_BYTES = 2 << 20;
    private static final int PART_BYTES = 8000;
    private static final byte[] PING = {1, 2, 3};

    private static InetSocketAddress anyPort() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    private static long soon() {
        return System.nanoTime() + LIMIT.toNanos();
    }

    /** As a connection does: what another thread's send made this one hold goes after it. */
    private static void sendAndFlush(Carrier carrier, Frame frame) throws IOException {
        carrier.send(frame, Long.MAX_VALUE);
        carrier.flush(Long.MAX_VALUE);
    }

    private static Frame message(int call, int length) {
        byte[] bytes = new byte[length];
        new Random(call).nextBytes(bytes);
        return new Frame(Frame.MESSAGE, Frame.LAST, call, bytes);
    }

    // The sender.

    /** A carrier whose peer is this test, which looks at each frame as it comes and takes none before it wants to. */
    private static final class Dialled implements AutoCloseable {
        private final RdmaEndpointServer server = RdmaEndpoint.builder().listen(anyPort());
        private final EndpointCarrier carrier;
        private final RdmaEndpoint peer;

        Dialled(boolean takesParts) throws IOException {
            carrier = (EndpointCarrier) EndpointCarrier.connect(server.localAddress(), LONG_BYTES, LIMIT.toNanos());
            peer = server.accept();
            carrier.useParts(takesParts, null);
        }

        void send(Frame frame) throws IOException {
            sendAndFlush(carrier, frame);
        }

        /** Sends on a thread that waits soon, for room at the peer. */
        void sendAndWait(Frame frame) throws Exception {
            Call.run(ThreadKind.PLATFORM, "send", () -> send(frame)).awaitBlocked();
        }

        /** The frames that come until one that ends it. */
        List<Frame> take(int kind, int call) throws IOException {
            List<Frame> all = new ArrayList<>();
            while (true) {
                try (Message message = peer.receive(LIMIT)) {
                    ByteBuffer bytes = ByteBuffer.wrap(message.toArray());
                    while (bytes.hasRemaining()) {
                        all.add(decode(bytes));
                    }
                }
                if (indexOf(all, kind, call) >= 0) { // others may have come with it
                    return all;
                }
            }
        }

        private static Frame decode(ByteBuffer bytes) throws ProtocolViolation {
            if (!Frame.isPart(bytes)) {
                return Frame.decodeNext(bytes);
            }
            Frame part = new Frame(Frame.PART, 0, bytes.getInt(4), Arrays.copyOfRange(bytes.array(), 24,
                    bytes.limit()));
            bytes.position(bytes.limit());
            return part;
        }

        @Override
        public void close() {
            carrier.close();
            peer.close();
            server.close();
        }
    }

    private static int indexOf(List<Frame> frames, int kind, int call) {
        for (int i = 0; i < frames.size(); i++) {
            if (frames.get(i).kind == kind && frames.get(i).call == call) {
                return i;
            }
        }
        return -1;
    }

    private static byte[] joined(List<Frame> frames, int call) {
        ByteBuffer whole = ByteBuffer.allocate(LONG_BYTES);
        frames.stream().filter(frame -> frame.kind == Frame.PART && frame.call == call)
                .forEach(frame -> whole.put(frame.message));
        return whole.array();
    }

    @Test
    void longMessagesTakeTurnsAndAShortOneGoesBetween() throws Exception {
        try (Dialled dialled = new Dialled(true)) {
            dialled.sendAndWait(message(1, LONG_BYTES));
            dialled.sendAndWait(message(2, LONG_BYTES));
            dialled.send(message(3, 64)); // returns, although the peer takes nothing
            List<Frame> all = new ArrayList<>(dialled.take(Frame.MESSAGE, 1));
            if (indexOf(all, Frame.MESSAGE, 2) < 0) {
                all.addAll(dialled.take(Frame.MESSAGE, 2));
            }
            int ahead = 5 + 5 + 1; // the slots of two messages
            int shortOne = indexOf(all, Frame.MESSAGE, 3);
            assertTrue(shortOne >= 0 && shortOne <= ahead, "the short one is number " + shortOne);
            int end = Math.min(indexOf(all, Frame.MESSAGE, 1), indexOf(all, Frame.MESSAGE, 2));
            int both = Math.max(indexOf(all, Frame.PART, 1), indexOf(all, Frame.PART, 2));
            assertTrue(both <= ahead, "both have begun at " + both);
            assertNotEquals(-1, indexOf(all.subList(both, end), Frame.PART, 1), "the first one goes on");
            assertNotEquals(-1, indexOf(all.subList(both, end), Frame.PART, 2), "the second one goes on");
            assertArrayEquals(message(1, LONG_BYTES).message, joined(all, 1));
            assertArrayEquals(message(2, LONG_BYTES).message, joined(all, 2));
        }
    }

    @Test
    void aPeerThatTakesNoPartsGetsWholeMessages() throws Exception {
        try (Dialled dialled = new Dialled(false)) {
            dialled.sendAndWait(message(1, LONG_BYTES));
            List<Frame> all = dialled.take(Frame.MESSAGE, 1);
            assertEquals(1, all.size());
            assertArrayEquals(message(1, LONG_BYTES).message, all.getFirst().message);
        }
    }

    /** Nothing of it counts; the next one goes. */
    @Test
    void aMessageWhoseTimeIsOverInTheMiddleWasNotSent() throws Exception {
        try (Dialled dialled = new Dialled(true)) {
            assertThrows(SocketTimeoutException.class, () -> dialled.carrier.send(message(1, LONG_BYTES),
                    System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(50)));
            dialled.sendAndWait(message(2, LONG_BYTES));
            List<Frame> all = dialled.take(Frame.MESSAGE, 2);
            assertEquals(-1, indexOf(all, Frame.MESSAGE, 1));
            assertArrayEquals(message(2, LONG_BYTES).message, joined(all, 2));
        }
    }

    /** A greeting that comes with the close makes a sender of parts that nothing else closes. */
    @Test
    void aClosedCarrierKeepsNoneOfTheSlotsOfTheProcess() throws Exception {
        int most = PartSender.LARGE.availablePermits();
        try (Dialled dialled = new Dialled(true)) {
            dialled.sendAndWait(message(1, LONG_BYTES));
            dialled.carrier.close(); // the endpoint has memory until the peer has read
            for (int i = 0; i < 8; i++) { // more than what ends of other tests still give back
                dialled.carrier.useParts(true, null);
                assertThrows(IOException.class, () -> dialled.carrier.send(message(2, LONG_BYTES), Long.MAX_VALUE));
            }
            Await.until("all slots are free", () -> PartSender.LARGE.availablePermits() >= most);
        }
    }

    // The receiver.

    private static CallServer serve(AtomicInteger begun, long maxHeldBytes) throws IOException {
        CallServer.Settings usual = CallServer.Settings.DEFAULT;
        return CallServer.over(EndpointCarrier.listen(anyPort(), LONG_BYTES), name -> new CallMethod.Begun(call -> {
            begun.incrementAndGet();
            call.finish(Code.OK, "", null, call.poll());
        }, false), new CallServer.Settings(LONG_BYTES, usual.maxCalls(), usual.maxCallsPerConnection(),
                usual.maxConnections(), maxHeldBytes, usual.memoryBytes(), usual.memoryNanos()));
    }

    private static Carrier greeted(CallServer server) throws IOException {
        Carrier carrier = EndpointCarrier.connect(server.localAddress(), LONG_BYTES, LIMIT.toNanos());
        Frame hello = new Frame(Frame.HELLO, Frame.NUMBERED, 0,
                new byte[ClientConnection.IDENTITY_BYTES + Long.BYTES]);
        hello.code = CallConnection.VERSION;
        hello.value = LONG_BYTES;
        hello.number = CallConnection.WINDOW;
        carrier.send(hello, Long.MAX_VALUE);
        assertEquals(Frame.HELLO, carrier.receive(soon()).kind);
        return carrier;
    }

    private static Frame part(int number, int call, int whole, int flags, byte... bytes) {
        Frame part = new Frame(Frame.PART, flags, call, bytes);
        part.value = (long) number << 32 | whole;
        return part;
    }

    private static Frame first(int number, int call, int whole) {
        return part(number, call, whole, Frame.BEGINS, new byte[PART_BYTES]);
    }

    private static Frame behind(int number, int call) {
        Frame frame = new Frame(Frame.CALL, Frame.LAST | Frame.IN_PARTS, call, ByteBuffer.allocate(4).putInt(number)
                .array());
        frame.text = "echo";
        return frame;
    }

    private static void assertAnswers(Carrier carrier, int call) throws IOException {
        Frame ping = new Frame(Frame.CALL, Frame.LAST, call, PING);
        ping.text = "echo";
        carrier.send(ping, Long.MAX_VALUE);
        Frame answer = carrier.receive(soon());
        assertEquals(Code.OK, answer.code, answer::toString);
        assertEquals(call, answer.call);
    }

    private static void sendAll(Carrier carrier, Frame... frames) throws IOException {
        for (Frame frame : frames) {
            carrier.send(frame, Long.MAX_VALUE);
        }
    }

    private static void awaitHeld(CallServer server, long bytes) throws Exception {
        Await.until("the server holds " + bytes, () -> server.heldBytes.get() == bytes, server.heldBytes::get);
    }

    @Test
    void partsOfSeveralMessagesOfOneCallMakeEachWhole() throws Exception {
        AtomicInteger begun = new AtomicInteger();
        try (CallServer server = serve(begun, LONG_BYTES); Carrier carrier = greeted(server)) {
            sendAll(carrier, part(1, 7, 3, Frame.BEGINS, PING[0]), part(-2, 8, 2, Frame.BEGINS, PING[2]),
                    part(1, 7, 3, 0, PING[1], PING[2]), part(-2, 8, 2, 0, PING[0]), behind(-2, 8), behind(1, 7));
            assertArrayEquals(new byte[] {PING[2], PING[0]}, carrier.receive(soon()).message);
            assertArrayEquals(PING, carrier.receive(soon()).message);
            awaitHeld(server, 0);
        }
    }

    /** A message that its client gives up, or that cannot be kept, costs its call; all else goes on. */
    @Test
    void aMessageThatIsGivenUpIsDroppedAndItsCallNeverBegins() throws Exception {
        AtomicInteger begun = new AtomicInteger();
        try (CallServer server = serve(begun, LONG_BYTES); Carrier carrier = greeted(server)) {
            sendAll(carrier, first(1, 7, LONG_BYTES), new Frame(Frame.CANCEL, 0, 7), part(1, 7, LONG_BYTES, 0, PING));
            assertAnswers(carrier, 8);
            awaitHeld(server, 0);
            sendAll(carrier, behind(1, 7));
            Frame refusal = carrier.receive(soon());
            assertEquals(Code.RESOURCE_EXHAUSTED, refusal.code, refusal::toString);
            assertTrue(refusal.call == 7 && refusal.has(Frame.NOT_BEGUN), refusal::toString);
            assertEquals(1, begun.get(), "calls that have begun");
        }
    }

    /** By what has come, whatever is announced; beyond the bound they go, at once with the connection. */
    @Test
    void messagesThatAreNotWholeAreBounded() throws Exception {
        AtomicInteger begun = new AtomicInteger();
        try (CallServer server = serve(begun, LONG_BYTES); Carrier honest = greeted(server)) {
            long one = 32 * PART_BYTES + 256;
            try (Carrier stranger = greeted(server)) {
                sendAll(stranger, first(0, 0, LONG_BYTES));
                awaitHeld(server, one);
                for (int i = 1; i < 20; i++) {
                    sendAll(stranger, first(i, i, LONG_BYTES));
                }
                sendAll(stranger, behind(19, 19)); // is answered: a message is refused, and not the connection
                assertEquals(Code.RESOURCE_EXHAUSTED, stranger.receive(soon()).code);
                assertTrue(server.heldBytes.get() < 2 * LONG_BYTES + one, server.heldBytes::toString);
                // They do not grow, and have had their second: those that want their room get it.
                Await.until("another one has room", () -> {
                    sendAll(honest, first(1, 1, PART_BYTES), behind(1, 1));
                    return honest.receive(soon()).code == Code.OK;
                });
                for (int i = 100; i <= 1124; i++) {
                    sendAll(stranger, part(i, 5, 10, Frame.BEGINS, PING));
                }
                sendAll(stranger, behind(1124, 5)); // one too many is refused alone, too
                assertEquals(Code.RESOURCE_EXHAUSTED, stranger.receive(soon()).code);
                sendAll(stranger, new Frame(Frame.CANCEL, 0, 5));
                sendAll(stranger, first(50, 50, LONG_BYTES));
                assertAnswers(stranger, 51);
                long held = server.heldBytes.get(); // those that were not slow yet wait beside the new one
                assertTrue(held >= one && held < 2 * LONG_BYTES + one && held % one == 0, () -> "held " + held);
            }
            awaitHeld(server, 0);
        }
    }

    private static Map<String, List<Frame>> violations() {
        Map<String, List<Frame>> all = new LinkedHashMap<>();
        Frame begins = part(1, 5, 10, Frame.BEGINS, PING);
        all.put("more than the limit", List.of(part(1, 5, LONG_BYTES + 1, Frame.BEGINS, PING)));
        all.put("a length below nothing", List.of(part(1, 5, -1, Frame.BEGINS, PING)));
        all.put("a part that is longer than its message", List.of(part(1, 5, 2, Frame.BEGINS, PING)));
        all.put("a part beyond the end", List.of(begins, part(1, 5, 10, 0, new byte[8])));
        all.put("a part without bytes", List.of(part(1, 5, 10, Frame.BEGINS)));
        all.put("another length", List.of(begins, part(1, 5, 11, 0, PING)));
        all.put("another call", List.of(begins, part(1, 6, 10, 0, PING)));
        all.put("a number twice", List.of(begins, begins));
        all.put("a part that ends its call", List.of(part(1, 5, 10, Frame.LAST, PING)));
        all.put("a frame behind half a message", List.of(begins, behind(1, 5)));
        all.put("a frame of another call", List.of(part(1, 5, 3, Frame.BEGINS, PING), behind(1, 6)));
        all.put("a frame without a number", List.of(new Frame(Frame.CALL, Frame.IN_PARTS, 5, PING)));
        return all;
    }

    @Test
    void aViolationEndsItsConnectionOnly() throws Exception {
        try (CallServer server = serve(new AtomicInteger(), LONG_BYTES); Carrier honest = greeted(server)) {
            int call = 0;
            for (Map.Entry<String, List<Frame>> one : violations().entrySet()) {
                try (Carrier carrier = greeted(server)) {
                    for (Frame frame : one.getValue()) {
                        carrier.send(frame, Long.MAX_VALUE);
                    }
                    IOException end = assertThrows(IOException.class, () -> carrier.receive(soon()), one.getKey());
                    assertNotEquals(SocketTimeoutException.class, end.getClass(), one.getKey());
                }
                assertAnswers(honest, ++call);
                awaitHeld(server, 0);
            }
        }
    }

    /** A connection that applies nothing, and counts what is held. */
    private static final class Counting extends CallConnection {
        private final AtomicLong held = new AtomicLong();

        Counting(Carrier carrier) {
            super(carrier, LONG_BYTES);
            carrier.useParts(true, parts());
        }

        @Override
        void onHeld(long bytes) {
            held.addAndGet(bytes);
        }

        @Override
        boolean await(CallStream call, int what, long untilNanos) {
            return false;
        }

        @Override
        void applyOther(Frame frame) {}

        @Override
        void lastArrived(CallStream call, Frame frame) {}

        @Override
        void cancelArrived(CallStream call, Frame frame) {}

        @Override
        void notSent(CallStream call) {}

        @Override
        void onFailed(IOException reason) {}
    }

    /** Calls go over either. */
    private enum Way {
        ENDPOINT {
            @Override
            Carrier.Listener listen() throws IOException {
                return EndpointCarrier.listen(anyPort(), LONG_BYTES);
            }

            @Override
            Carrier dial(InetSocketAddress to) throws IOException {
                return EndpointCarrier.connect(to, LONG_BYTES, LIMIT.toNanos());
            }

            @Override
            RpcClient connect(InetSocketAddress to) throws IOException {
                return RpcClient.builder().connect(to);
            }
        },
        SESSION {
            @Override
            Carrier.Listener listen() throws IOException {
                return SessionHub.listen(new RdmaDatagramSocket(anyPort()), LONG_BYTES);
            }

            @Override
            Carrier dial(InetSocketAddress to) throws IOException {
                return SessionHub.connect(new RdmaDatagramSocket(anyPort()), to, LONG_BYTES, LIMIT.toNanos());
            }

            @Override
            RpcClient connect(InetSocketAddress to) throws IOException {
                return RpcClient.builder().datagrams().connect(to);
            }
        };

        abstract Carrier.Listener listen() throws IOException;

        abstract Carrier dial(InetSocketAddress to) throws IOException;

        abstract RpcClient connect(InetSocketAddress to) throws IOException;
    }

    /** Two ends of which one sends messages in parts, and the other counts them. */
    private static final class Ends implements AutoCloseable {
        private final Carrier.Listener listener;
        private final Carrier sender;
        private final Carrier receiver;
        private final Counting connection;

        Ends(Way way) throws IOException {
            listener = way.listen();
            sender = way.dial(listener.localAddress());
            sender.useParts(true, null);
            sender.send(message(2, 1), Long.MAX_VALUE); // a session begins so
            receiver = listener.accept();
            connection = new Counting(receiver);
            assertEquals(2, receiver.receive(soon()).call);
        }

        void send(Frame frame) throws IOException {
            sendAndFlush(sender, frame);
        }

        @Override
        public void close() {
            receiver.close();
            sender.close();
            listener.close();
        }
    }

    /** Over a session a short message waits for room as a long one does, and then goes between its parts. */
    @Test
    void overASessionAShortMessageGoesBetweenThePartsOfALongOne() throws Exception {
        try (Ends ends = new Ends(Way.SESSION)) {
            Call<Void> longOne = Call.run(ThreadKind.PLATFORM, "long",
                    () -> ends.sender.send(message(1, LONG_BYTES), Long.MAX_VALUE)).awaitBlocked();
            Call<Void> shortOne = Call.run(ThreadKind.PLATFORM, "short",
                    () -> ends.sender.send(message(3, 64), Long.MAX_VALUE)).awaitBlocked();
            assertEquals(3, ends.receiver.receive(soon()).call);
            assertArrayEquals(message(1, LONG_BYTES).message, ends.receiver.receive(soon()).message);
            longOne.result();
            shortOne.result();
            assertEquals(0, ends.connection.held.get());
        }
    }

    /** Parts that it has sent before would stay at the peer if it began anew, until the end of the call or longer. */
    @ParameterizedTest
    @EnumSource
    void aSenderThatIsInterruptedGoesOnWhereItWas(Way way) throws Exception {
        try (Ends ends = new Ends(way)) {
            Frame frame = new Frame(Frame.MESSAGE, 0, 1, message(1, LONG_BYTES).message);
            CompletableFuture<Void> again = new CompletableFuture<>();
            Call<Void> send = Call.run(ThreadKind.VIRTUAL, "send", () -> {
                assertThrows(InterruptedIOException.class, () -> ends.sender.send(frame, Long.MAX_VALUE));
                assertTrue(Thread.interrupted());
                again.complete(null);
                ends.sender.send(frame, Long.MAX_VALUE);
            }).awaitBlocked();
            send.interrupt();
            again.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            assertArrayEquals(frame.message, ends.receiver.receive(soon()).message);
            send.result();
            assertEquals(0, ends.connection.held.get());
        }
    }

    /** Else it would leave before the peer has read its large parts, which a close takes away. */
    @Test
    void aSenderThatFindsNoLargeSlotsAfterAnInterruptBeginsAnew() throws Exception {
        int large = 0;
        try (Ends ends = new Ends(Way.ENDPOINT)) {
            Frame frame = message(1, 1_400_000); // of which little is left when the large slots are full
            CompletableFuture<Void> interrupted = new CompletableFuture<>();
            CompletableFuture<Void> again = new CompletableFuture<>();
            Call<Void> send = Call.run(ThreadKind.VIRTUAL, "send", () -> {
                assertThrows(InterruptedIOException.class, () -> ends.sender.send(frame, Long.MAX_VALUE));
                assertTrue(Thread.interrupted());
                interrupted.complete(null);
                again.get();
                ends.send(frame);
            }).awaitBlocked();
            send.interrupt();
            interrupted.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            Call<Void> other = Call.run(ThreadKind.VIRTUAL, "other", () -> assertThrows(InterruptedIOException.class,
                    () -> ends.sender.send(message(3, LONG_BYTES), Long.MAX_VALUE))).awaitBlocked(); // has the slots
            large = PartSender.LARGE.drainPermits();
            again.complete(null);
            send.awaitBlocked();
            other.interrupt();
            other.result();
            assertArrayEquals(frame.message, ends.receiver.receive(soon()).message);
            send.result();
            assertEquals(0, ends.connection.held.get());
        } finally {
            PartSender.LARGE.release(large);
        }
    }

    /** Else many that are half there would fill their receiver. */
    @ParameterizedTest
    @EnumSource
    void eightLongMessagesTakeTurns(Way way) throws Exception {
        try (Ends ends = new Ends(way)) {
            List<Call<Void>> sends = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                Frame frame = message(i + 2, LONG_BYTES);
                sends.add(Call.run(ThreadKind.VIRTUAL, "send", () -> ends.send(frame)).awaitBlocked());
            }
            for (int i = 0; i < sends.size(); i++) {
                assertEquals(LONG_BYTES, ends.receiver.receive(soon()).message.length);
                long held = ends.connection.held.get();
                assertTrue(held <= 8 * (LONG_BYTES + 256L), held + " bytes of messages that are not whole");
            }
            for (Call<Void> send : sends) {
                send.result();
            }
        }
    }

    /** Else a peer that sends parts without end would keep a thread from its deadline. */
    @ParameterizedTest
    @EnumSource
    void partsThatComeKeepNoReceiverBeyondItsTime(Way way) throws Exception {
        try (Ends ends = new Ends(way)) {
            sendAll(ends.sender, first(1, 1, 2 * PART_BYTES), part(1, 1, 2 * PART_BYTES, 0, new byte[PART_BYTES]),
                    behind(1, 1));
            long now = System.nanoTime();
            assertThrows(SocketTimeoutException.class, () -> ends.receiver.receive(now));
            assertEquals(2 * PART_BYTES, ends.receiver.receive(soon()).message.length);
            assertEquals(0, ends.connection.held.get());
        }
    }

    /** Greets a client, and does nothing else. */
    private static CompletableFuture<Counting> greet(Carrier.Listener listener) {
        CompletableFuture<Counting> server = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                Carrier carrier = listener.accept();
                carrier.receive(soon());
                Frame hello = new Frame(Frame.HELLO, Frame.NUMBERED | Frame.TAKES_PARTS, 0, new byte[Long.BYTES]);
                hello.code = CallConnection.VERSION;
                hello.value = LONG_BYTES;
                hello.number = CallConnection.WINDOW;
                hello.answered = 10;
                carrier.send(hello, Long.MAX_VALUE);
                server.complete(new Counting(carrier));
            } catch (IOException e) {
                server.completeExceptionally(e);
            }
        });
        return server;
    }

    /** The server is told so, and never sees the call. */
    @ParameterizedTest
    @EnumSource
    void aCallWhoseTimeIsOverInTheMiddleEndsByThat(Way way) throws Exception {
        try (Carrier.Listener listener = way.listen()) {
            CompletableFuture<Counting> server = greet(listener);
            try (RpcClient client = way.connect(listener.localAddress());
                    Carrier carrier = server.get(LIMIT.toSeconds(), TimeUnit.SECONDS).carrier()) {
                Frame heard;
                do { // one whose time is over before it is sent goes whole, and is given up then
                    RpcException end = assertThrows(RpcException.class, () -> client.call("echo",
                            new byte[LONG_BYTES], RpcOptions.DEFAULT.timeout(Duration.ofMillis(50))));
                    assertEquals(RpcStatus.DEADLINE_EXCEEDED, end.status(), end::toString);
                    heard = carrier.receive(soon());
                } while (heard.kind == Frame.CALL && carrier.receive(soon()).kind == Frame.CANCEL);
                assertEquals(Frame.CANCEL, heard.kind);
                assertEquals(0, server.get().held.get());
            }
        }
    }

    /** Else the parts would stay at the server. */
    @ParameterizedTest
    @EnumSource
    void aMessageThatIsGivenUpAfterTheEndOfItsCallIsDropped(Way way) throws Exception {
        try (Carrier.Listener listener = way.listen()) {
            CompletableFuture<Counting> server = greet(listener);
            try (RpcClient client = way.connect(listener.localAddress());
                    Carrier carrier = server.get(LIMIT.toSeconds(), TimeUnit.SECONDS).carrier();
                    RpcClientCall call = client.open("echo", RpcOptions.DEFAULT)) {
                int id = carrier.receive(soon()).call;
                Call<Void> send = Call.run(ThreadKind.VIRTUAL, "send", () -> call.send(new byte[LONG_BYTES]))
                        .awaitBlocked();
                carrier.send(new Frame(Frame.MESSAGE, Frame.LAST, id), Long.MAX_VALUE);
                assertNull(call.receive());
                send.interrupt();
                send.result();
                assertEquals(Frame.CANCEL, carrier.receive(soon()).kind);
                assertEquals(0, server.get().held.get());
            }
        }
    }
}
