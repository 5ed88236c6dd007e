package org.rdmasockets.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Bystanders;
import org.rdmasockets.internal.rpc.call.Carrier;

/** The behaviour of calls over every carrier. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Bystanders
abstract class CallContract {
    private static final byte[] PING = {1, 2, 3};
    private static final Duration LONG = Duration.ofSeconds(60);

    private final List<AutoCloseable> resources = new ArrayList<>();
    /** Connections of clients, newest last. */
    private final List<Carrier> carriers = new ArrayList<>();

    /** Listens on a port of this host, 0 for any. */
    abstract Carrier.Listener listen(int port) throws IOException;

    /** Connects to it. */
    abstract Carrier connect(InetSocketAddress server, long limitNanos) throws IOException;

    /** How many of so many calls are made, where each takes longer than elsewhere. */
    int many(int calls) {
        return calls;
    }

    @AfterEach
    void closeAll() throws Exception {
        for (AutoCloseable resource : resources.reversed()) {
            resource.close();
        }
    }

    private RpcServer serve(RpcServer.Builder builder) throws IOException {
        return serve(builder, 0);
    }

    private RpcServer serve(RpcServer.Builder builder, int port) throws IOException {
        RpcServer server = builder.listen(listen(port));
        resources.add(server);
        return server;
    }

    private RpcClient client(RpcServer server) throws IOException {
        InetSocketAddress address = server.localAddress();
        RpcClient client = RpcClient.builder().connect(limit -> {
            Carrier carrier = connect(address, limit);
            synchronized (carriers) {
                carriers.add(carrier);
            }
            return carrier;
        });
        resources.add(client);
        return client;
    }

    private void cut() {
        synchronized (carriers) {
            carriers.getLast().close();
        }
    }

    private static RpcStatus statusOf(Callable<?> call) {
        return assertThrows(RpcException.class, call::call).status();
    }

    private static <T> Future<T> inBackground(Callable<T> body) {
        ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
        Future<T> future = executor.submit(body);
        executor.shutdown();
        return future;
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private static byte[] bytes(int value) {
        return ByteBuffer.allocate(4).putInt(value).array();
    }

    private static int value(byte[] bytes) {
        return ByteBuffer.wrap(bytes).getInt();
    }

    private static RpcServer.Builder echo() {
        return RpcServer.builder().unary("echo", (request, call) -> request);
    }

    @Test
    void anAnswerComesBack() throws Exception {
        assertArrayEquals(PING, client(serve(echo())).call("echo", PING));
    }

    /** Calls that are given up at once run as long as others: else a client has any number of methods run. */
    @Test
    void aCallKeepsItsPlaceUntilItsMethodReturns() throws Exception {
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        CountDownLatch mayEnd = new CountDownLatch(1);
        RpcClient client = client(serve(echo().maxCallsPerConnection(4).unary("stubborn", (request, call) -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            while (mayEnd.getCount() > 0) {
                try {
                    mayEnd.await();
                } catch (InterruptedException e) {
                    continue; // it does not care
                }
            }
            running.decrementAndGet();
            return request;
        })));
        for (int i = 0; i < 50; i++) {
            client.begin("stubborn", PING, RpcOptions.DEFAULT).cancel();
        }
        Await.until("as many run as may", () -> running.get() >= 4);
        RpcException refused = assertThrows(RpcException.class,
                () -> client.call("stubborn", PING, RpcOptions.DEFAULT.timeout(Duration.ofMillis(300))));
        assertTrue(refused.status() == RpcStatus.RESOURCE_EXHAUSTED || refused.status() == RpcStatus.DEADLINE_EXCEEDED,
                refused::toString);
        mayEnd.countDown();
        assertArrayEquals(PING, client.call("echo", PING));
        assertEquals(4, most.get());
    }

    @Test
    void anEmptyMessageIsAMessage() throws Exception {
        assertEquals(0, client(serve(echo())).call("echo", new byte[0]).length);
    }

    @Test
    void messagesOfAllSizesComeBackWhole() throws Exception {
        RpcClient client = client(serve(echo()));
        Random random = new Random(7);
        for (int size : new int[] {1, 64, 1500, 4096, 4584, 4585, 8192, 9000, 65_536, 1_000_000, 4 << 20}) {
            byte[] request = new byte[size];
            random.nextBytes(request);
            assertArrayEquals(request, client.call("echo", request), size + " bytes");
        }
    }

    @Test
    void aMessageTooLongIsRefusedBeforeItIsSent() throws Exception {
        RpcClient client = client(serve(echo().maxMessage(1000).unary("long", (request, call) -> new byte[5 << 20])));
        assertEquals(RpcStatus.RESOURCE_EXHAUSTED, statusOf(() -> client.call("echo", new byte[1001])));
        assertEquals(RpcStatus.RESOURCE_EXHAUSTED, statusOf(() -> client.call("long", PING)));
        assertArrayEquals(PING, client.call("echo", PING));
    }

    @Test
    void manyThreadsCallOverOneConnection() throws Exception {
        RpcClient client = client(serve(echo()));
        List<Future<Integer>> threads = new ArrayList<>();
        for (int t = 0; t < 64; t++) {
            int first = t * 1000;
            threads.add(inBackground(() -> {
                int wrong = 0;
                for (int i = first; i < first + many(200); i++) {
                    wrong += value(client.call("echo", bytes(i))) == i ? 0 : 1;
                }
                return wrong;
            }));
        }
        for (Future<Integer> thread : threads) {
            assertEquals(0, get(thread));
        }
        assertEquals(1, carriers.size());
    }

    @Test
    void callsThatAreBegunTogetherAreAwaitedInAnyOrder() throws Exception {
        RpcClient client = client(serve(echo()));
        List<RpcPending> pending = new ArrayList<>();
        int calls = many(500);
        for (int i = 0; i < calls; i++) {
            pending.add(client.begin("echo", bytes(i), RpcOptions.DEFAULT));
        }
        for (int i = calls - 1; i >= 0; i--) {
            assertEquals(i, value(pending.get(i).await()));
        }
    }

    @Test
    void moreCallsThanAConnectionTakesWaitForEachOther() throws Exception {
        RpcServer server = serve(echo().maxCallsPerConnection(4));
        RpcClient client = client(server);
        List<RpcPending> pending = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            pending.add(client.begin("echo", bytes(i), RpcOptions.DEFAULT));
        }
        for (int i = 0; i < 100; i++) {
            assertEquals(i, value(pending.get(i).await()));
        }
    }

    @Test
    void anUnknownMethodIsUnimplemented() throws Exception {
        assertEquals(RpcStatus.UNIMPLEMENTED, statusOf(() -> client(serve(echo())).call("nothing", PING)));
    }

    @Test
    void aStatusOfAMethodComesBackWithItsTextAndTrailers() throws Exception {
        RpcClient client = client(serve(RpcServer.builder().unary("fail", (request, call) -> {
            throw new RpcException(RpcStatus.NOT_FOUND, "no such thing: träge",
                    RpcMetadata.EMPTY.with("hint", "look elsewhere"), null);
        })));
        RpcException e = assertThrows(RpcException.class, () -> client.call("fail", PING));
        assertEquals(RpcStatus.NOT_FOUND, e.status());
        assertEquals("no such thing: träge", e.getMessage());
        assertEquals("look elsewhere", e.trailers().firstText("hint").orElseThrow());
    }

    @Test
    void aMethodThatThrowsCostsItsCallOnly() throws Exception {
        RpcClient client = client(serve(echo().unary("throw", (request, call) -> {
            if (request.length == 0) {
                throw new IllegalStateException("secret");
            }
            throw new AssertionError("secret");
        }).unary("null", (request, call) -> null)));
        RpcException e = assertThrows(RpcException.class, () -> client.call("throw", new byte[0]));
        assertEquals(RpcStatus.UNKNOWN, e.status());
        assertFalse(e.getMessage().contains("secret"), e.getMessage());
        assertEquals(RpcStatus.UNKNOWN, statusOf(() -> client.call("throw", PING)));
        assertEquals(RpcStatus.UNKNOWN, statusOf(() -> client.call("null", PING)));
        assertArrayEquals(PING, client.call("echo", PING));
        assertEquals(1, carriers.size());
    }

    @Test
    void metadataGoBothWays() throws Exception {
        RpcClient client = client(serve(RpcServer.builder().streaming("meta", call -> {
            call.headers(RpcMetadata.EMPTY.with("got", call.metadata().first("key").orElseThrow()));
            call.send(PING);
            call.trailers(RpcMetadata.EMPTY.with("sum", bytes(6)));
        })));
        try (RpcClientCall call = client.open("meta",
                RpcOptions.DEFAULT.metadata(RpcMetadata.EMPTY.with("key", "value").with("key", "second")))) {
            assertEquals("value", call.headers().firstText("got").orElseThrow());
            assertArrayEquals(PING, call.receive());
            assertNull(call.receive());
            assertEquals(6, value(call.trailers().first("sum").orElseThrow()));
        }
    }

    @Test
    void aStreamOfAnswersComesInOrder() throws Exception {
        RpcClient client = client(serve(RpcServer.builder().streaming("count", call -> {
            int count = value(call.receive());
            for (int i = 0; i < count; i++) {
                call.send(bytes(i));
            }
        })));
        try (RpcClientCall call = client.open("count", RpcOptions.DEFAULT)) {
            int count = many(20_000);
            call.send(bytes(count));
            call.halfClose();
            for (int i = 0; i < count; i++) {
                assertEquals(i, value(call.receive()));
            }
            assertNull(call.receive());
        }
    }

    @Test
    void aStreamOfRequestsHasOneAnswer() throws Exception {
        RpcClient client = client(serve(RpcServer.builder().streaming("sum", call -> {
            int sum = 0;
            for (byte[] one = call.receive(); one != null; one = call.receive()) {
                sum += value(one);
            }
            call.send(bytes(sum));
        })));
        try (RpcClientCall call = client.open("sum", RpcOptions.DEFAULT)) {
            int count = many(10_000);
            for (int i = 0; i < count; i++) {
                call.send(bytes(i));
            }
            call.halfClose();
            assertEquals(count * (count - 1) / 2, value(call.receive()));
            assertNull(call.receive());
        }
    }

    @Test
    void bothStreamAtOnce() throws Exception {
        RpcClient client = client(serve(RpcServer.builder().streaming("echo", call -> {
            for (byte[] one = call.receive(); one != null; one = call.receive()) {
                call.send(one);
            }
        })));
        try (RpcClientCall call = client.open("echo", RpcOptions.DEFAULT)) {
            int count = many(5_000);
            Future<Integer> sender = inBackground(() -> {
                for (int i = 0; i < count; i++) {
                    call.send(bytes(i));
                }
                call.halfClose();
                return 0;
            });
            for (int i = 0; i < count; i++) {
                assertEquals(i, value(call.receive()));
            }
            assertNull(call.receive());
            get(sender);
        }
    }

    /** At each end, one thread waits for room while another one waits for messages. */
    @Test
    void eachEndSendsAndReceivesMoreThanAWindowInTwoThreads() throws Exception {
        int length = 16_000;
        int count = many(200);
        RpcClient client = client(serve(RpcServer.builder().streaming("both", call -> {
            Future<Integer> sender = inBackground(() -> {
                for (int i = 0; i < count; i++) {
                    call.send(ByteBuffer.allocate(length).putInt(i).array());
                }
                return count;
            });
            int received = 0;
            for (byte[] one = call.receive(); one != null; one = call.receive()) {
                received += one.length == length && value(one) == received ? 1 : 0;
            }
            sender.get();
            call.send(bytes(received));
        })));
        for (int round = 0; round < 3; round++) {
            try (RpcClientCall call = client.open("both", RpcOptions.DEFAULT)) {
                Future<Integer> sender = inBackground(() -> {
                    for (int i = 0; i < count; i++) {
                        call.send(ByteBuffer.allocate(length).putInt(i).array());
                    }
                    call.halfClose();
                    return count;
                });
                for (int i = 0; i < count; i++) {
                    assertEquals(i, value(call.receive()));
                }
                assertEquals(count, value(call.receive()), "messages that the server has received in order");
                assertNull(call.receive());
                get(sender);
            }
        }
    }

    /** Its client may not say that it has the answers of later calls: the oldest of those are forgotten. */
    @Test
    void aLongCallKeepsNoShorterOnesFromTheirAnswers() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        RpcServer server = serve(echo().answerMemory(64 << 10, Duration.ofMinutes(1)).maxCalls(50)
                .unary("long", (request, call) -> {
                    end.await();
                    return request;
                }));
        RpcClient client = client(server);
        RpcPending first = client.begin("long", PING, RpcOptions.DEFAULT);
        Await.until("the long call runs", () -> server.calls() == 1);
        for (int i = 0; i < many(500); i++) {
            assertArrayEquals(PING, client.call("echo", PING));
        }
        assertEquals(1, server.calls());
        end.countDown();
        assertArrayEquals(PING, first.await());
        Await.until("no call runs", () -> server.calls() == 0, server::calls);
    }

    @Test
    void aSlowReaderHoldsItsSenderUpAndNobodyElse() throws Exception {
        AtomicInteger sent = new AtomicInteger();
        RpcClient client = client(serve(echo().streaming("flood", call -> {
            while (true) {
                call.send(new byte[16_000]);
                sent.incrementAndGet();
            }
        })));
        try (RpcClientCall call = client.open("flood", RpcOptions.DEFAULT)) {
            call.receive();
            for (int i = 0; i < many(500); i++) {
                client.call("echo", PING);
            }
            int most = sent.get();
            assertTrue(most < 64, most + " messages of 16,000 bytes were sent to who takes none");
            for (int i = 0; i < 200; i++) {
                call.receive();
            }
            assertTrue(sent.get() > most);
        }
    }

    @Test
    void aDeadlineTravelsAndEndsTheWork() throws Exception {
        CountDownLatch interrupted = new CountDownLatch(1);
        AtomicReference<Duration> left = new AtomicReference<>();
        RpcClient client = client(serve(echo().unary("sleep", (request, call) -> {
            left.set(call.timeLeft().orElseThrow());
            try {
                Thread.sleep(Duration.ofHours(1));
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
            return request;
        })));
        assertEquals(RpcStatus.DEADLINE_EXCEEDED,
                statusOf(() -> client.call("sleep", PING, RpcOptions.DEFAULT.timeout(Duration.ofMillis(300)))));
        assertTrue(interrupted.await(40, TimeUnit.SECONDS), "the method goes on");
        assertTrue(left.get().compareTo(Duration.ofMillis(300)) <= 0, left.get().toString());
        assertArrayEquals(PING, client.call("echo", PING, RpcOptions.DEFAULT.timeout(LONG)));
    }

    @Test
    void aDeadlineEndsAStreamOnBothEnds() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        RpcClient client = client(serve(RpcServer.builder().streaming("wait", call -> {
            try {
                call.receive();
            } finally {
                over.countDown();
            }
        })));
        try (RpcClientCall call = client.open("wait", RpcOptions.DEFAULT.timeout(Duration.ofMillis(100)))) {
            assertEquals(RpcStatus.DEADLINE_EXCEEDED, statusOf(call::receive));
        }
        assertTrue(over.await(40, TimeUnit.SECONDS), "the method goes on");
    }

    @Test
    void cancellingInterruptsTheMethod() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        RpcServer server = serve(echo().unary("sleep", (request, call) -> {
            begun.countDown();
            try {
                Thread.sleep(Duration.ofHours(1));
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
            return request;
        }));
        RpcClient client = client(server);
        RpcPending pending = client.begin("sleep", PING, RpcOptions.DEFAULT);
        assertTrue(begun.await(40, TimeUnit.SECONDS), "the method has not begun");
        pending.cancel();
        assertTrue(interrupted.await(40, TimeUnit.SECONDS), "the method goes on");
        assertEquals(RpcStatus.CANCELLED, statusOf(pending::await));
        Await.until("no call runs", () -> server.calls() == 0);
        assertArrayEquals(PING, client.call("echo", PING));
    }

    @Test
    void anInterruptedCallerGivesItsCallUp() throws Exception {
        Semaphore begun = new Semaphore(0);
        RpcServer server = serve(echo().unary("sleep", (request, call) -> {
            begun.release();
            Thread.sleep(Duration.ofHours(1));
            return request;
        }));
        RpcClient client = client(server);
        for (int i = 0; i < 2; i++) { // alone, and while another reads
            AtomicReference<RpcStatus> status = new AtomicReference<>();
            Thread caller = Thread.ofVirtual().start(() -> status.set(statusOf(() -> client.call("sleep", PING))));
            assertTrue(begun.tryAcquire(40, TimeUnit.SECONDS), "the method has not begun");
            caller.interrupt();
            assertTrue(caller.join(Duration.ofSeconds(40)), "the caller waits");
            assertEquals(RpcStatus.CANCELLED, status.get());
            if (i == 0) {
                inBackground(() -> client.call("sleep", PING));
                assertTrue(begun.tryAcquire(40, TimeUnit.SECONDS), "the method has not begun");
            }
        }
        Await.until("one call runs", () -> server.calls() == 1);
        assertArrayEquals(PING, client.call("echo", PING));
    }

    @Test
    void aMethodThatWasQuickAndThenBlocksHoldsNobodyUp() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        RpcClient client = client(serve(echo().unary("maybe", (request, call) -> {
            if (request.length == 0) {
                release.await();
            }
            return request;
        })));
        for (int i = 0; i < many(5_000); i++) {
            client.call("maybe", PING); // by now the reader runs it itself
        }
        RpcPending blocked = client.begin("maybe", new byte[0], RpcOptions.DEFAULT);
        assertArrayEquals(PING, client.call("echo", PING));
        release.countDown();
        assertEquals(0, blocked.await().length);
        for (int i = 0; i < 100; i++) {
            client.call("maybe", PING);
        }
    }

    @Test
    void tooManyCallsAreRefusedAndMadeAgainWhenThereIsRoom() throws Exception {
        Semaphore release = new Semaphore(0);
        RpcServer server = serve(RpcServer.builder().maxCalls(2).unary("wait", (request, call) -> {
            release.acquire();
            return request;
        }));
        RpcClient client = client(server);
        List<RpcPending> pending = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            pending.add(client.begin("wait", bytes(i), RpcOptions.DEFAULT));
        }
        RpcStatus status = statusOf(
                () -> client.call("wait", PING, RpcOptions.DEFAULT.timeout(Duration.ofMillis(200))));
        assertTrue(status == RpcStatus.RESOURCE_EXHAUSTED || status == RpcStatus.DEADLINE_EXCEEDED, status.toString());
        release.release(7); // the call that was given up may begin all the same, from a packet that is late
        for (int i = 0; i < 6; i++) {
            assertEquals(i, value(pending.get(i).await()));
        }
    }

    @Test
    void aShutdownFinishesWhatHasBegunAndRefusesTheRest() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        RpcServer server = serve(echo().unary("wait", (request, call) -> {
            begun.countDown();
            release.await();
            return request;
        }));
        RpcClient client = client(server);
        RpcPending pending = client.begin("wait", PING, RpcOptions.DEFAULT);
        assertTrue(begun.await(40, TimeUnit.SECONDS), "the method has not begun");
        server.shutdown();
        assertEquals(RpcStatus.UNAVAILABLE,
                statusOf(() -> client.call("echo", PING, RpcOptions.DEFAULT.retryTime(Duration.ZERO))));
        assertFalse(server.awaitTermination(Duration.ofMillis(1)));
        release.countDown();
        assertArrayEquals(PING, pending.await());
        assertTrue(server.awaitTermination(Duration.ofSeconds(40)), "the server does not end");
    }

    @Test
    void aServerThatClosesEndsAllCallsAndItsMethods() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        RpcServer server = serve(RpcServer.builder().streaming("wait", call -> {
            begun.countDown();
            try {
                Thread.sleep(Duration.ofHours(1));
            } finally {
                interrupted.countDown();
            }
        }));
        RpcClient client = client(server);
        try (RpcClientCall call = client.open("wait", RpcOptions.DEFAULT)) {
            assertTrue(begun.await(40, TimeUnit.SECONDS), "the method has not begun");
            server.close();
            assertEquals(RpcStatus.UNAVAILABLE, statusOf(call::receive));
        }
        assertTrue(interrupted.await(40, TimeUnit.SECONDS), "the method goes on");
    }

    /** Its client might come back for the answer, but no server could give it. */
    @Test
    void aServerThatClosesEndsNumberedCallsToo() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        RpcServer server = serve(RpcServer.builder().unary("wait", (request, call) -> {
            begun.countDown();
            try {
                Thread.sleep(Duration.ofHours(1));
            } finally {
                interrupted.countDown();
            }
            return request;
        }));
        client(server).begin("wait", PING, RpcOptions.DEFAULT);
        assertTrue(begun.await(40, TimeUnit.SECONDS), "the method has not begun");
        server.close();
        assertTrue(interrupted.await(40, TimeUnit.SECONDS), "the method goes on");
        assertTrue(server.awaitTermination(Duration.ofSeconds(40)), "the server does not end");
    }

    @Test
    void aClientHearsOfTheEndOfItsServerBetweenCalls() throws Exception {
        RpcServer server = serve(echo());
        RpcClient client = client(server);
        assertArrayEquals(PING, client.call("echo", PING));
        server.close();
        Await.until("the client knows that its server has gone", () -> !client.isConnected(), client::toString);
    }

    @Test
    void aClosedClientEndsItsCalls() throws Exception {
        RpcClient client = client(serve(echo().unary("wait", (request, call) -> {
            Thread.sleep(Duration.ofHours(1));
            return request;
        })));
        RpcPending pending = client.begin("wait", PING, RpcOptions.DEFAULT);
        client.close();
        client.close();
        assertEquals(RpcStatus.UNAVAILABLE, statusOf(pending::await));
        assertEquals(RpcStatus.UNAVAILABLE, statusOf(() -> client.call("echo", PING)));
    }

    @Test
    void aLostConnectionIsMadeAnewAndNoCallRunsTwice() throws Exception {
        ConcurrentHashMap<Integer, AtomicInteger> runs = new ConcurrentHashMap<>();
        RpcClient client = client(serve(RpcServer.builder().unary("once", (request, call) -> {
            runs.computeIfAbsent(value(request), key -> new AtomicInteger()).incrementAndGet();
            return request;
        })));
        List<Future<Integer>> threads = new ArrayList<>();
        int each = many(1000);
        for (int t = 0; t < 8; t++) {
            int first = t * 1000;
            threads.add(inBackground(() -> {
                for (int i = first; i < first + each; i++) {
                    if (i % (3 * each / 10) == 0) {
                        cut();
                    }
                    assertEquals(i, value(client.call("once", bytes(i))));
                }
                return 0;
            }));
        }
        for (Future<Integer> thread : threads) {
            get(thread);
        }
        assertEquals(8 * each, runs.size());
        assertTrue(runs.values().stream().allMatch(count -> count.get() == 1), "some ran twice");
        assertTrue(carriers.size() > 2, carriers.size() + " connections");
    }

    @Test
    void aConnectionThatIsCutInterruptsNobody() throws Exception {
        RpcClient client = client(serve(echo()));
        for (int i = 0; i < many(500); i++) {
            Future<Void> cutting = inBackground(() -> {
                cut();
                return null;
            });
            assertArrayEquals(PING, client.call("echo", PING, RpcOptions.DEFAULT.idempotent(true)));
            get(cutting);
            assertFalse(Thread.currentThread().isInterrupted(), "a call that met the end of its connection");
        }
    }

    @Test
    void aRepeatedCallThatStillRunsIsAnsweredOverTheNewConnection() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        RpcClient client = client(serve(echo().unary("wait", (request, call) -> {
            runs.incrementAndGet();
            begun.countDown();
            release.await();
            return request;
        })));
        Future<byte[]> call = inBackground(() -> client.call("wait", PING));
        assertTrue(begun.await(40, TimeUnit.SECONDS), "the method has not begun");
        cut();
        Await.until("a new connection", () -> {
            synchronized (carriers) {
                return carriers.size() == 2;
            }
        });
        client.call("echo", PING);
        release.countDown();
        assertArrayEquals(PING, get(call));
        assertEquals(1, runs.get());
    }

    @Test
    void aRestartedServerGetsIdempotentCallsAgainAndNoOthers() throws Exception {
        ConcurrentHashMap<Integer, AtomicInteger> store = new ConcurrentHashMap<>();
        AtomicInteger stored = new AtomicInteger();
        RpcHandler put = (request, call) -> {
            store.computeIfAbsent(value(request), key -> new AtomicInteger()).incrementAndGet();
            stored.incrementAndGet();
            return request;
        };
        RpcServer first = serve(RpcServer.builder().unary("put", put));
        RpcClient client = client(first);
        List<Future<Integer>> threads = new ArrayList<>();
        int each = many(1250);
        for (int t = 0; t < 8; t++) {
            int start = t * each;
            boolean idempotent = t % 2 == 0;
            threads.add(inBackground(() -> {
                int failed = 0;
                for (int i = start; i < start + each; i++) {
                    try {
                        client.call("put", bytes(i), RpcOptions.DEFAULT.idempotent(idempotent).timeout(LONG));
                    } catch (RpcException e) {
                        assertFalse(idempotent, () -> "an idempotent call failed: " + e);
                        assertEquals(RpcStatus.UNAVAILABLE, e.status(), e.toString());
                        failed++;
                    }
                }
                return failed;
            }));
        }
        Await.until("a third is stored", () -> stored.get() > 5 * each / 2);
        int port = first.localAddress().getPort();
        first.close();
        RpcServer second = again(put, port);
        for (Future<Integer> thread : threads) {
            assertTrue(get(thread) <= 4, "more calls failed than were under way");
        }
        for (int i = 0; i < 8 * each; i++) {
            int count = store.containsKey(i) ? store.get(i).get() : 0;
            boolean idempotent = i / each % 2 == 0;
            assertTrue(idempotent ? count >= 1 : count <= 1, "call " + i + " ran " + count + " times");
        }
        assertFalse(second.toString().isEmpty());
    }

    /** A port may need a moment to be free. */
    private RpcServer again(RpcHandler put, int port) throws Exception {
        AtomicReference<RpcServer> server = new AtomicReference<>();
        Await.until("the port is free", () -> {
            try {
                server.set(serve(RpcServer.builder().unary("put", put), port));
                return true;
            } catch (IOException e) {
                return false;
            }
        });
        return server.get();
    }

    /** They are begun before the answer of any is taken, more than is on its way at a time. */
    @Test
    void longCallsThatAreBegunTogetherAreAllAnswered() throws Exception {
        RpcClient client = client(serve(echo()));
        List<RpcPending> pending = new ArrayList<>();
        for (int i = 0; i < many(250); i++) {
            pending.add(client.begin("echo", new byte[60_000 + i], RpcOptions.DEFAULT));
        }
        for (int i = 0; i < pending.size(); i++) {
            assertEquals(60_000 + i, pending.get(i).await().length);
        }
        assertEquals(1, carriers.size());
    }

    @Test
    void eachCallOfOneAfterTheOtherIsToldOfItsEnd() throws Exception {
        RpcClient client = client(serve(echo()));
        for (int i = 0; i < many(500); i++) {
            CountDownLatch ended = new CountDownLatch(1);
            RpcPending pending = client.begin("echo", PING, RpcOptions.DEFAULT, ended::countDown);
            String call = "call " + i;
            assertTrue(ended.await(20, TimeUnit.SECONDS), () -> call + " was not told of its end");
            assertArrayEquals(PING, pending.await());
        }
    }

    @Test
    void aCallThatNobodyAwaitsIsForgottenOnceItHasEnded() throws Exception {
        Semaphore release = new Semaphore(0);
        RpcServer server = serve(echo().unary("wait", (request, call) -> {
            release.acquire();
            return request;
        }));
        RpcClient client = client(server);
        RpcPending first = client.begin("wait", PING, RpcOptions.DEFAULT); // goes on before all the others
        RpcPending last = null;
        for (int i = 0; i < many(500); i++) {
            last = client.begin("echo", PING, RpcOptions.DEFAULT);
        }
        client.call("echo", PING);
        last.await();
        Await.until("one call is left", () -> {
            client.call("echo", PING); // and reads
            return client.numbered() == 1;
        }, client::numbered);
        release.release();
        assertArrayEquals(PING, first.await());
        assertEquals(0, client.numbered());
    }

    @Test
    void aLostCallThatNobodyAwaitsIsForgottenWhenItsTimeIsOver() throws Exception {
        RpcClient client = client(serve(echo().unary("wait", (request, call) -> {
            Thread.sleep(Duration.ofHours(1));
            return request;
        })));
        for (int i = 0; i < 10; i++) {
            client.begin("wait", PING, RpcOptions.DEFAULT.timeout(Duration.ofMillis(500)));
        }
        cut();
        Await.until("no call is left", () -> {
            client.call("echo", PING, RpcOptions.DEFAULT.idempotent(true));
            cut();
            return client.numbered() == 0;
        }, client::numbered);
    }

    @Test
    void aClientThatFallsSilentLeavesNoAnswersAtTheServer() throws Exception {
        RpcServer server = serve(echo());
        RpcClient client = client(server);
        assertEquals(1 << 20, client.call("echo", new byte[1 << 20]).length);
        Await.until("its answer is forgotten", () -> server.rememberedBytes() < 1000, server::rememberedBytes);
        List<RpcPending> pending = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            pending.add(client.begin("echo", new byte[4000], RpcOptions.DEFAULT));
        }
        for (RpcPending one : pending) {
            one.await();
        }
        Await.until("its answers are forgotten", () -> server.rememberedBytes() < 20_000, server::rememberedBytes);
        assertEquals(1, carriers.size());
    }

    @Test
    void answersAreForgottenOnceTheClientHasThem() throws Exception {
        RpcServer server = serve(RpcServer.builder().answerMemory(1 << 16, Duration.ofMinutes(1))
                .unary("echo", (request, call) -> request));
        RpcClient client = client(server);
        for (int i = 0; i < many(1000); i++) {
            assertEquals(1000, client.call("echo", new byte[1000]).length);
            long bytes = server.rememberedBytes();
            assertTrue(bytes < 3_000, bytes + " bytes are remembered of " + (i + 1) + " calls, of which one may be");
        }
        assertEquals(1, carriers.size());
    }
}
