package org.rdmasockets.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.reflect.Proxy;
import java.net.ConnectException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.call.EndpointCarrier;
import org.rdmasockets.internal.rpc.session.SessionHub;

/** Calls without a waiter, whose end is told: once, whatever becomes of the connection meanwhile. */
@ParameterizedClass
@ValueSource(booleans = {true, false})
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RpcPendingTest {
    private static final int MAX_MESSAGE = 1 << 20;
    private static final byte[] REQUEST = {1, 2, 3};
    private static final long LIMIT_SECONDS = 60;

    /** Whether sessions over UDP carry the calls, or endpoints. */
    @Parameter
    private boolean sessions;

    private final List<AutoCloseable> resources = new ArrayList<>();
    private final AtomicInteger runs = new AtomicInteger();
    private final Semaphore mayEnd = new Semaphore(0);
    private final AtomicInteger told = new AtomicInteger();
    /** Of the client: where it connects next, null for nowhere, and what it has now. */
    private volatile RpcServer target;
    private volatile CountDownLatch connectNow = new CountDownLatch(0);
    private volatile Carrier carrier;
    /** The carrier it gets instead, null for none. */
    private volatile Carrier silent;
    private final AtomicInteger attempts = new AtomicInteger();

    @AfterEach
    void closeAll() throws Exception {
        mayEnd.release(1000);
        for (AutoCloseable resource : resources.reversed()) {
            resource.close();
        }
    }

    /** A server whose method counts its runs, and ends when it may. */
    private RpcServer serve() throws IOException {
        return serve(RpcServer.builder());
    }

    private RpcServer serve(RpcServer.Builder builder) throws IOException {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        RpcServer server = builder.unary("run", (request, call) -> {
            runs.incrementAndGet();
            mayEnd.acquire();
            return request;
        }).listen(sessions ? SessionHub.listen(new DatagramSocket(any), MAX_MESSAGE)
                : EndpointCarrier.listen(any, MAX_MESSAGE));
        resources.add(server);
        return server;
    }

    private RpcClient client() throws IOException {
        return client(serve());
    }

    private RpcClient client(RpcServer server) throws IOException {
        target = server;
        RpcClient client = RpcClient.builder().connect(this::connect);
        resources.add(client);
        return client;
    }

    private Carrier connect(long limitNanos) throws IOException {
        attempts.incrementAndGet();
        try {
            connectNow.await();
        } catch (InterruptedException e) {
            throw new InterruptedIOException("a test ends");
        }
        RpcServer to = target;
        if (silent != null) {
            return silent;
        }
        if (to == null) {
            throw new ConnectException("a test has no server now");
        }
        carrier = connect(to, limitNanos);
        return carrier;
    }

    private Carrier connect(RpcServer to, long limitNanos) throws IOException {
        return sessions ? SessionHub.connect(new DatagramSocket(), to.localAddress(), MAX_MESSAGE, limitNanos)
                : EndpointCarrier.connect(to.localAddress(), MAX_MESSAGE, limitNanos);
    }

    private RpcPending begin(RpcClient client, RpcOptions options) throws Exception {
        RpcPending pending = client.begin("run", REQUEST, options, told::incrementAndGet);
        Await.until("the method runs", () -> runs.get() == 1);
        assertEquals(0, told.get());
        return pending;
    }

    /** Checks that its end is told, once, and that await then returns without waiting. */
    private byte[] end(RpcPending pending) throws Exception {
        Await.until("the end is told", () -> told.get() > 0);
        FutureTask<byte[]> await = new FutureTask<>(pending::await);
        Thread.ofVirtual().start(await);
        try {
            return await.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw (Exception) e.getCause();
        } finally {
            assertEquals(1, told.get(), "the end was told");
        }
    }

    private RpcException failure(RpcPending pending) {
        return assertThrows(RpcException.class, () -> end(pending));
    }

    private static RpcOptions idempotent(boolean is) {
        return RpcOptions.DEFAULT.idempotent(is).timeout(Duration.ofSeconds(LIMIT_SECONDS));
    }

    @Test
    void anEndIsToldOnce() throws Exception {
        RpcPending pending = begin(client(), RpcOptions.DEFAULT);
        mayEnd.release();
        assertArrayEquals(REQUEST, end(pending));
    }

    @Test
    void aCallThatEndsAtOnceIsToldOnce() throws Exception {
        RpcClient client = client();
        for (int i = 0; i < 50; i++) {
            told.set(0);
            mayEnd.release();
            assertArrayEquals(REQUEST, end(client.begin("run", REQUEST, RpcOptions.DEFAULT, told::incrementAndGet)));
            told.set(0);
            RpcPending unknown = client.begin("unknown", REQUEST, RpcOptions.DEFAULT, told::incrementAndGet);
            assertEquals(RpcStatus.UNIMPLEMENTED, failure(unknown).status());
        }
    }

    /** The method has not answered when the connection is lost, three times. */
    @Test
    void aLostCallIsMadeAgainByItselfAndRunsOnce() throws Exception {
        RpcPending pending = begin(client(), idempotent(false));
        for (int i = 0; i < 3; i++) {
            Carrier lost = carrier;
            lost.close();
            Await.until("another connection", () -> carrier != lost);
        }
        mayEnd.release();
        assertArrayEquals(REQUEST, end(pending));
        assertEquals(1, runs.get());
    }

    @Test
    void aLostIdempotentCallRunsAgain() throws Exception {
        RpcPending pending = begin(client(), idempotent(true));
        carrier.close();
        Await.until("the method runs again", () -> runs.get() == 2);
        mayEnd.release(2);
        assertArrayEquals(REQUEST, end(pending));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anotherServerRunsOnlyWhatIsIdempotent(boolean idempotent) throws Exception {
        RpcPending pending = begin(client(), idempotent(idempotent));
        target = serve();
        carrier.close();
        if (idempotent) {
            Await.until("the method runs again", () -> runs.get() == 2);
            mayEnd.release(2);
            assertArrayEquals(REQUEST, end(pending));
        } else {
            RpcException failure = failure(pending);
            assertEquals(RpcStatus.UNAVAILABLE, failure.status());
            assertTrue(failure.getMessage().contains("started anew"), failure.getMessage());
            assertEquals(1, runs.get());
        }
    }

    /** It has no number any more: made again, it would run a second time. */
    @Test
    void aSecondAwaitDoesNotMakeALostCallAgain() throws Exception {
        RpcPending pending = client().begin("run", REQUEST, idempotent(false));
        Await.until("the method runs", () -> runs.get() == 1);
        target = serve();
        carrier.close();
        for (int i = 0; i < 2; i++) {
            assertEquals(RpcStatus.UNAVAILABLE, assertThrows(RpcException.class, pending::await).status());
        }
        assertEquals(1, runs.get());
    }

    /** The server has forgotten the client meanwhile: it could not tell whether a repeated call has run. */
    @Test
    void aCallAfterAnIdleConnectionWasLostIsNotARepeatedOne() throws Exception {
        RpcServer server = serve(RpcServer.builder().answerMemory(4096, Duration.ofNanos(1)));
        RpcClient client = client(server);
        mayEnd.release(2);
        assertArrayEquals(REQUEST, client.call("run", REQUEST));
        long alone = server.rememberedBytes();
        carrier.close();
        Await.until("the server forgets the client", () -> {
            try (RpcClient other = RpcClient.builder().connect(limit -> connect(server, limit))) {
                return server.rememberedBytes() <= alone && other.isConnected();
            }
        }, server::rememberedBytes);
        assertArrayEquals(REQUEST, client.call("run", REQUEST));
        assertEquals(2, runs.get());
    }

    @Test
    void timesTooLongToMatterAreTaken() throws Exception {
        Duration longest = Duration.ofSeconds(Long.MAX_VALUE);
        RpcServer server = serve(RpcServer.builder().answerMemory(4096, longest));
        target = server;
        try (RpcClient client = RpcClient.builder().retryTime(longest).connect(this::connect)) {
            client.connect(longest);
            mayEnd.release();
            RpcPending pending = client.begin("run", REQUEST, RpcOptions.DEFAULT.timeout(longest));
            assertTrue(pending.await(longest));
            assertArrayEquals(REQUEST, pending.await());
        }
        server.shutdown();
        assertTrue(server.awaitTermination(longest));
    }

    @Test
    void allAddressesOfANameAreTried() throws Exception {
        RpcServer server = serve();
        InetAddress[] hosts = {InetAddress.ofLiteral("127.0.0.2"), InetAddress.getLoopbackAddress()};
        List<InetAddress> tried = new ArrayList<>();
        RpcClient.Builder.Route route = (to, limitNanos) -> {
            tried.add(to.getAddress());
            if (to.getAddress().equals(hosts[0])) {
                throw new ConnectException("thrown by the test");
            }
            return connect(server, limitNanos);
        };
        mayEnd.release();
        try (RpcClient client = RpcClient.builder().connect(limit -> RpcClient.Builder.connect(hosts,
                server.localAddress().getPort(), route, limit))) {
            assertArrayEquals(REQUEST, client.call("run", REQUEST));
        }
        assertEquals(List.of(hosts), tried);
        assertThrows(ConnectException.class, () -> RpcClient.Builder.connect(new InetAddress[] {hosts[0], hosts[0]}, 1,
                route, 1));
    }

    private void lose(int tries) throws Exception {
        target = null;
        int before = attempts.get();
        carrier.close();
        Await.until("the client tries to connect", () -> attempts.get() >= before + tries);
        assertEquals(0, told.get());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCancelEndsTheTries(boolean idempotent) throws Exception {
        RpcPending pending = begin(client(), idempotent(idempotent));
        lose(3);
        pending.cancel();
        assertEquals(RpcStatus.CANCELLED, failure(pending).status());
        assertEquals(1, runs.get());
    }

    /** One more connection asks for the answer; a call that may run again waits for another server. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aLostCallWithItsOwnTimeWaitsForAServerOnlyIfItMayRunAgain(boolean idempotent) throws Exception {
        RpcClient client = client();
        RpcPending pending = begin(client, RpcOptions.DEFAULT.idempotent(idempotent).retryTime(Duration.ofDays(1)));
        target = null;
        int before = attempts.get();
        carrier.close();
        if (idempotent) {
            Await.until("the client tries to connect", () -> attempts.get() >= before + 3);
            assertEquals(0, told.get());
            target = serve();
            Await.until("the method runs again", () -> runs.get() == 2);
            mayEnd.release(2);
            assertArrayEquals(REQUEST, end(pending));
        } else {
            Await.until("its end is told", () -> told.get() > 0);
            assertEquals(0, client.numbered()); // also if nothing awaits it
            assertEquals(RpcStatus.UNAVAILABLE, failure(pending).status());
            assertEquals(before + 1, attempts.get());
        }
    }

    @Test
    void callsThatWaitForAnAttemptShareItsRefusal() throws Exception {
        RpcClient client = client();
        List<RpcPending> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            all.add(client.begin("run", REQUEST, RpcOptions.DEFAULT.retryTime(Duration.ZERO), told::incrementAndGet));
        }
        Await.until("all run", () -> runs.get() == all.size());
        target = null;
        connectNow = new CountDownLatch(1);
        int before = attempts.get();
        carrier.close();
        Await.until("one connects for all", () -> client.waitingToConnect() == all.size() - 1);
        connectNow.countDown();
        Await.until("all are told", () -> told.get() == all.size());
        for (RpcPending one : all) {
            assertEquals(RpcStatus.UNAVAILABLE, assertThrows(RpcException.class, one::await).status());
        }
        int made = attempts.get() - before;
        assertTrue(made <= 2, () -> made + " attempts"); // the second for those that asked while the first was made
    }

    @Test
    void aCallWithNoTimeToTryAgainIsAnsweredOverOneMoreConnection() throws Exception {
        RpcClient client = client();
        RpcPending pending = begin(client, RpcOptions.DEFAULT.retryTime(Duration.ZERO));
        Carrier lost = carrier;
        lost.close();
        Await.until("another connection", () -> carrier != lost);
        mayEnd.release();
        assertArrayEquals(REQUEST, end(pending));
        assertEquals(1, runs.get());
        target = null;
        carrier.close();
        Await.until("the client knows that its connection has gone", () -> !client.isConnected());
        int before = attempts.get();
        assertEquals(RpcStatus.UNAVAILABLE, assertThrows(RpcException.class, () -> client.call("run", REQUEST,
                RpcOptions.DEFAULT.retryTime(Duration.ZERO))).status());
        assertEquals(before + 1, attempts.get());
    }

    /** It asks for its answer whenever it is lost, and no other call says before that the client has it. */
    @Test
    void aCallWithItsOwnTimeKeepsItsNumberUntilItsDeadline() throws Exception {
        assertEquals(Long.MAX_VALUE, client().new Backoff(Long.MAX_VALUE, Duration.ZERO).untilNanos());
    }

    /** It is told without a lock, so that it may wait, and call the client. */
    @Test
    void aWatcherOfTheApplicationHoldsNoCallUp() throws Exception {
        target = serve();
        CountDownLatch maySee = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<RpcClient> made = threads.submit(() -> RpcClient.builder().onState(state -> {
                try {
                    maySee.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }).connect(this::connect));
            try {
                made.get(40, TimeUnit.SECONDS).close();
            } finally {
                maySee.countDown();
            }
        }
    }

    @Test
    void aTryThatWouldHaveToWaitBeginsNothing() throws Exception {
        RpcServer server = serve(RpcServer.builder().maxCallsPerConnection(2));
        target = server;
        RpcClient.Builder builder = RpcClient.builder();
        List<RpcClient.Connectivity> states = Collections.synchronizedList(new ArrayList<>());
        RpcClient client = builder.onState(states::add).connect(this::connect);
        resources.add(client);
        RpcPending one = client.tryBegin("run", REQUEST, RpcOptions.DEFAULT, told::incrementAndGet);
        RpcPending two = client.tryBegin("run", REQUEST, RpcOptions.DEFAULT, told::incrementAndGet);
        Await.until("both run", () -> runs.get() == 2);
        told.set(0);
        assertNull(client.tryBegin("run", REQUEST, RpcOptions.DEFAULT, told::incrementAndGet));
        assertNull(client.tryOpen("run", RpcOptions.DEFAULT, told::incrementAndGet));
        assertEquals(0, told.get());
        assertEquals(2, client.numbered());
        mayEnd.release(2);
        assertArrayEquals(REQUEST, one.await());
        assertArrayEquals(REQUEST, two.await());
        try (RpcClientCall unknown = client.tryOpen("unknown", RpcOptions.DEFAULT, told::incrementAndGet)) {
            assertEquals(RpcStatus.UNIMPLEMENTED, assertThrows(RpcException.class, unknown::receive).status());
        }
        target = null;
        carrier.close();
        Await.until("the client tells so", () -> states.contains(RpcClient.Connectivity.IDLE), states::toString);
        assertNull(client.tryBegin("run", REQUEST, RpcOptions.DEFAULT, told::incrementAndGet));
        assertNull(client.tryOpen("run", RpcOptions.DEFAULT, told::incrementAndGet));
        assertThrows(IOException.class, () -> client.connect(Duration.ofSeconds(1)));
        Await.until("it has told all", () -> states.size() >= 5, states::toString);
        assertEquals(List.of(RpcClient.Connectivity.CONNECTING, RpcClient.Connectivity.READY,
                RpcClient.Connectivity.IDLE, RpcClient.Connectivity.CONNECTING, RpcClient.Connectivity.FAILED), states);
    }

    @Test
    void aClosedClientEndsTheTries() throws Exception {
        RpcClient client = client();
        RpcPending pending = begin(client, idempotent(false));
        lose(2);
        client.close();
        assertEquals(RpcStatus.UNAVAILABLE, failure(pending).status());
    }

    @Test
    void aDeadlineEndsTheTries() throws Exception {
        RpcClient client = client();
        RpcPending pending = begin(client, RpcOptions.DEFAULT.timeout(Duration.ofSeconds(2)));
        target = null;
        carrier.close();
        RpcStatus status = failure(pending).status();
        assertTrue(status == RpcStatus.UNAVAILABLE || status == RpcStatus.DEADLINE_EXCEEDED, status::toString);
        assertEquals(0, client.numbered());
    }

    /** The server takes the connection, and never greets. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theWaitForAGreetingEndsWithTheClientAndWithTheCall(boolean closes) throws Exception {
        RpcClient client = client();
        RpcPending pending = begin(client, idempotent(false));
        CountDownLatch greets = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        silent = (Carrier) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Carrier.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("receive")) {
                        greets.countDown();
                        closed.await();
                        throw new IOException("the connection is closed");
                    } else if (method.getName().equals("close")) {
                        closed.countDown();
                    }
                    return method.getReturnType() == boolean.class ? false : null;
                });
        carrier.close();
        greets.await();
        if (closes) {
            client.close();
        } else {
            pending.cancel();
        }
        assertEquals(closes ? RpcStatus.UNAVAILABLE : RpcStatus.CANCELLED, failure(pending).status());
    }

    /** A caller that awaits a call makes it again itself, and hears of a cancel, too. */
    @Test
    void aCancelEndsTheTriesOfAnAwait() throws Exception {
        RpcPending pending = client().begin("run", REQUEST, idempotent(false));
        Await.until("the method runs", () -> runs.get() == 1);
        FutureTask<RpcException> await = new FutureTask<>(() -> assertThrows(RpcException.class, pending::await));
        Thread.ofVirtual().start(await);
        lose(3);
        pending.cancel();
        assertEquals(RpcStatus.CANCELLED, await.get(LIMIT_SECONDS, TimeUnit.SECONDS).status());
    }

    /** A lost call whose repetition has something thrown at it ends all the same, once, whatever its task throws. */
    @Test
    void anErrorOnTheWayIsTold() throws Exception {
        target = serve();
        RpcClient client = RpcClient.builder().connect(limit -> {
            if (attempts.get() == 1) {
                attempts.incrementAndGet();
                throw new OutOfMemoryError("a test has no memory");
            }
            return connect(limit);
        });
        resources.add(client);
        CompletableFuture<Thread> teller = new CompletableFuture<>();
        RpcPending pending = client.begin("run", REQUEST, idempotent(false), () -> {
            told.incrementAndGet();
            teller.complete(Thread.currentThread());
            throw new OutOfMemoryError("a test has no memory");
        });
        Await.until("the method runs", () -> runs.get() == 1);
        carrier.close();
        assertTrue(teller.get(LIMIT_SECONDS, TimeUnit.SECONDS).join(Duration.ofSeconds(LIMIT_SECONDS)), "it goes on");
        assertEquals(RpcStatus.INTERNAL, failure(pending).status());
    }
}
