package org.rdmasockets.internal.rpc.session;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.BindException;
import java.net.ConnectException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.AbstractOwnableSynchronizer;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcDatagrams;
import org.rdmasockets.rpc.RpcException;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcPending;
import org.rdmasockets.rpc.RpcServer;
import org.rdmasockets.internal.rpc.call.CallMethod;
import org.rdmasockets.internal.rpc.call.CallServer;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.call.ClientConnection;
import org.rdmasockets.internal.rpc.call.Shares;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.DatagramPorts;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;

/** Many sessions of one socket: how they begin and end, and what they may hold together. */
@Timeout(value = 4, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SessionHubTest {
    private static final int MAX_MESSAGE = 1 << 20;
    private static final int COOKIE_BYTES = 40;
    private static final int PIECE = 1400;
    private static final int PIECES = 60;
    private static final long LIMIT = TimeUnit.SECONDS.toNanos(60);
    private static final long HELD_BYTES = 1 << 20;
    private static final byte[] PING = {1, 2, 3};

    private final Packet packet = new Packet();
    private final ByteBuffer buffer = ByteBuffer.allocate(2000);

    private static DatagramSocket socket(int port) throws IOException {
        DatagramSocket socket = new DatagramSocket(port, InetAddress.getLoopbackAddress());
        socket.setSoTimeout(10_000);
        return socket;
    }

    private void send(DatagramSocket from, InetSocketAddress to, byte[] payload) throws IOException {
        packet.write(buffer, payload, 0, payload.length);
        from.send(new DatagramPacket(buffer.array(), buffer.limit(), to));
    }

    /** Receives a packet and where it came from. */
    private InetSocketAddress receive(DatagramSocket socket) throws IOException {
        DatagramPacket got = new DatagramPacket(new byte[2000], 2000);
        socket.receive(got);
        assertTrue(packet.read(ByteBuffer.wrap(got.getData(), 0, got.getLength())), "a damaged packet");
        return (InetSocketAddress) got.getSocketAddress();
    }

    /** The first half of a handshake, until the cookie is here. */
    private byte[] cookie(DatagramSocket from, InetSocketAddress server, long client) throws IOException {
        packet.kind = Packet.INIT;
        packet.receiver = 0;
        packet.sender = client;
        send(from, server, new byte[COOKIE_BYTES]);
        do {
            receive(from);
        } while (packet.kind != Packet.COOKIE);
        byte[] cookie = new byte[COOKIE_BYTES];
        packet.payload.get(cookie);
        return cookie;
    }

    private void open(DatagramSocket from, InetSocketAddress server, long client) throws IOException {
        byte[] cookie = cookie(from, server, client);
        packet.kind = Packet.OPEN;
        packet.receiver = 0;
        packet.sender = client;
        send(from, server, cookie);
    }

    /** Gives the server's number of a session that the client has not confirmed. */
    private long halfOpen(DatagramSocket from, InetSocketAddress server, long client) throws IOException {
        open(from, server, client);
        do {
            receive(from);
        } while (packet.kind != Packet.OPENED || packet.receiver != client);
        return packet.sender;
    }

    @Test
    void aClientWhoseCookieIsOfAServerThatIsNoMoreBeginsAnew() throws Exception {
        CompletableFuture<Carrier> carrier = new CompletableFuture<>();
        InetSocketAddress address;
        try (DatagramSocket first = socket(0)) {
            address = (InetSocketAddress) first.getLocalSocketAddress();
            InetSocketAddress to = address;
            Thread.ofVirtual().start(() -> {
                try {
                    carrier.complete(SessionHub.connect(new DatagramSocket(), to, MAX_MESSAGE,
                            TimeUnit.SECONDS.toNanos(25)));
                } catch (IOException e) {
                    carrier.completeExceptionally(e);
                }
            });
            answerUntilOpen(first);
        }
        try (SessionHub.SessionListener second = SessionHub.listen(socket(address.getPort()), MAX_MESSAGE,
                Long.MAX_VALUE)) {
            carrier.get(60, TimeUnit.SECONDS).close();
            assertEquals(1, second.sessions());
        }
    }

    /** Sends a cookie to the first who comes; gives where from, and leaves what it opens with in the packet. */
    private InetSocketAddress answerUntilOpen(DatagramSocket server) throws IOException {
        InetSocketAddress from = receive(server);
        packet.kind = Packet.COOKIE;
        packet.receiver = packet.sender;
        send(server, from, new byte[COOKIE_BYTES]);
        do {
            receive(server);
        } while (packet.kind != Packet.OPEN);
        return from;
    }

    /** It has nothing to send itself. */
    @Test
    void aClientThatOnlyReceivesAsksWhetherItsServerIsAlive() throws Exception {
        try (DatagramSocket server = socket(0)) {
            Thread.ofVirtual().start(() -> {
                try (Carrier carrier = SessionHub.connect(new DatagramSocket(), (InetSocketAddress)
                        server.getLocalSocketAddress(), MAX_MESSAGE, LIMIT)) {
                    carrier.receive(Long.MAX_VALUE);
                } catch (IOException e) {
                    return; // the server has said nothing
                }
            });
            InetSocketAddress from = answerUntilOpen(server);
            packet.kind = Packet.OPENED;
            packet.receiver = packet.sender;
            send(server, from, new byte[0]);
            do {
                receive(server);
            } while (packet.kind != Packet.PING);
        }
    }

    /** The question that the server has not answered went over shared memory, so only the next one shows its end. */
    @Test
    void aServerThatHasEndedIsLookedForOnceAQuestionHasGoneOverUdp() throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        RdmaDatagramSocket serving = new RdmaDatagramSocket(any);
        SessionHub.listen(serving, MAX_MESSAGE);
        AtomicBoolean ends = new AtomicBoolean();
        List<Object> looks = new CopyOnWriteArrayList<>();
        DatagramSocket asking = new RdmaDatagramSocket(any) {
            @Override
            public void send(DatagramPacket packet) throws IOException {
                if (ends.get() && !serving.isClosed()) {
                    serving.close(); // with this packet
                } else {
                    super.send(packet);
                }
            }

            @Override
            public <T> T getOption(SocketOption<T> name) throws IOException {
                T value = super.getOption(name);
                if (Thread.currentThread().getName().equals("rdma-rpc-session-look")) {
                    looks.add(value);
                }
                return value;
            }
        };
        try (Carrier client = SessionHub.connect(asking, (InetSocketAddress) serving.getLocalSocketAddress(),
                MAX_MESSAGE, LIMIT)) {
            ends.set(true);
            assertThrows(IOException.class, () -> client.receive(System.nanoTime() + LIMIT));
            assertEquals(Transport.UDP.name(), looks.getFirst());
        } finally {
            serving.close();
        }
    }

    /** No question tells it: the server answers them all. */
    @Test
    void aSessionEndsWhenItsSocketHearsOfTheEndOfTheServersProcess() throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        AtomicBoolean ends = new AtomicBoolean();
        DatagramSocket hearing = new RdmaDatagramSocket(any) {
            @Override
            public void receive(DatagramPacket packet) throws IOException {
                super.receive(packet);
                if (ends.getAndSet(false)) {
                    throw new PortUnreachableException("for the test");
                }
            }
        };
        try (RdmaDatagramSocket serving = new RdmaDatagramSocket(any);
                Carrier.Listener listener = SessionHub.listen(serving, MAX_MESSAGE);
                Carrier client = SessionHub.connect(hearing, listener.localAddress(), MAX_MESSAGE, LIMIT)) {
            assertEquals(listener.localAddress(), hearing.getRemoteSocketAddress());
            ends.set(true);
            IOException end = assertThrows(IOException.class, () -> client.receive(System.nanoTime() + LIMIT / 6));
            assertTrue(end.getMessage().contains("for the test"), end::toString);
        }
    }

    /** A hub sends with its lock held, so that one peer without room would hold up all sessions. */
    @Test
    void onlyAUsersSendWaitsForRoom() throws Exception {
        List<String> asked = new CopyOnWriteArrayList<>();
        DatagramPorts.Receiver full = new DatagramPorts.Receiver() {
            @Override
            public boolean hasRoom(int bytes, Runnable taken) {
                asked.add("now");
                return false;
            }

            @Override
            public boolean awaitRoom(int bytes, DatagramPorts.Sender sender) {
                asked.add("after a wait");
                return false;
            }

            @Override
            public void lookAgain() {
                // nothing waits here
            }

            @Override
            public void take(InetSocketAddress source, byte[] data, Runnable taken) {
                throw new AssertionError("there is no room");
            }
        };
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        SharedMemoryProvider provider = (SharedMemoryProvider) Providers.sharedMemory();
        try (DatagramSocket taken = socket(0); DatagramSocket user = new RdmaDatagramSocket(any);
                DatagramPorts.Port _ = provider.datagramPorts().open(
                        (InetSocketAddress) taken.getLocalSocketAddress(), full,
                        provider.open(provider.devices().getFirst().name()).createCompletionQueue(1, null))) {
            InetSocketAddress to = (InetSocketAddress) taken.getLocalSocketAddress();
            assertThrows(ConnectException.class,
                    () -> SessionHub.connect(new RdmaDatagramSocket(any), to, MAX_MESSAGE, 1));
            user.send(new DatagramPacket(new byte[1], 1, to));
            assertEquals(List.of("now", "after a wait"), asked);
        }
    }

    @Test
    void theWayToAClientIsItsOwn() throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (DatagramSocket near = new RdmaDatagramSocket(any); DatagramSocket far = socket(0)) {
            assertWay("sharedmemory", Packet.HEADER_BYTES + Packet.MOST_PAYLOAD, RdmaDatagramSocket::new, far);
            assertWay("udp", 1000, DatagramSocket::new, near);
        }
    }

    /** The server's name for it, and the longest packet, while packets go to another socket between the client's. */
    private static void assertWay(String transport, int packetBytes, RpcDatagrams own, DatagramSocket other)
            throws Exception {
        AtomicInteger longest = new AtomicInteger();
        DatagramPacket between = new DatagramPacket(new byte[1], 1, other.getLocalSocketAddress());
        DatagramSocket serving = new RdmaDatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)) {
            @Override
            public void receive(DatagramPacket packet) throws IOException {
                super.receive(packet);
                super.send(between);
            }

            @Override
            public void send(DatagramPacket packet) throws IOException {
                longest.accumulateAndGet(packet.getLength(), Math::max);
                super.send(packet);
            }
        };
        try (RpcServer server = RpcServer.builder().datagrams(local -> serving)
                .unary("echo", (request, call) -> request)
                .unary("transport", (request, call) -> {
                    serving.send(between);
                    return call.transport().getBytes(StandardCharsets.US_ASCII);
                }).listen((InetSocketAddress) serving.getLocalSocketAddress());
                RpcClient client = RpcClient.builder().datagrams(own).connect(server.localAddress())) {
            client.call("echo", new byte[PIECES * PIECE]);
            assertEquals(transport, new String(client.call("transport", new byte[1]), StandardCharsets.US_ASCII));
        }
        assertEquals(packetBytes, longest.get());
    }

    /** It names the client, and never says what a client waits for. */
    @Test
    void aServerThatOnlyTalksIsGivenUpInTime() throws Exception {
        try (DatagramSocket talker = socket(0)) {
            CompletableFuture<Carrier> carrier = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> {
                try {
                    carrier.complete(SessionHub.connect(new DatagramSocket(), (InetSocketAddress)
                            talker.getLocalSocketAddress(), MAX_MESSAGE, TimeUnit.SECONDS.toNanos(1)));
                } catch (IOException e) {
                    carrier.completeExceptionally(e);
                }
            });
            InetSocketAddress from = receive(talker);
            long end = System.nanoTime() + LIMIT;
            while (!carrier.isDone() && System.nanoTime() - end < 0) { // without a pause, in which it would look up
                packet.kind = Packet.OPENED; // before any cookie
                packet.receiver = packet.sender;
                send(talker, from, new byte[0]);
            }
            assertTrue(carrier.isDone(), "the client still listens");
            assertInstanceOf(ConnectException.class,
                    assertThrows(ExecutionException.class, carrier::get).getCause());
        }
    }

    @Test
    void aListenerThatClosesEndsSessionsThatNobodyHasTaken() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        CompletableFuture<IOException> end = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                Carrier carrier = SessionHub.connect(new DatagramSocket(), listener.localAddress(), MAX_MESSAGE, LIMIT);
                new ClientConnection(carrier, MAX_MESSAGE, new byte[ClientConnection.IDENTITY_BYTES], 0, LIMIT);
                end.complete(null);
            } catch (IOException e) {
                end.complete(e);
            }
        });
        Await.until("a session that nobody has taken", () -> listener.untaken() == 1);
        listener.close();
        IOException seen = end.get(60, TimeUnit.SECONDS);
        assertTrue(seen != null && !(seen instanceof SocketTimeoutException), "the client's end: " + seen);
        Await.until("no session is left", () -> listener.sessions() == 0, listener::sessions);
        Await.until("the port is free", () -> isFree(listener.localAddress().getPort()));
    }

    /** A client confirms once it has heard of its session, which may be at the end of the time that it tries for. */
    @Test
    void aSessionWaitsForItsClientAsLongAsThatTriesToConnect() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        try (DatagramSocket client = socket(0)) {
            long before = System.nanoTime();
            halfOpen(client, listener.localAddress(), 1);
            listener.serve(before + TimeUnit.SECONDS.toNanos(30) - 1);
            assertEquals(1, listener.sessions(), "its client still tries");
            listener.serve(System.nanoTime() + TimeUnit.SECONDS.toNanos(30));
            assertEquals(0, listener.sessions(), "its client has given up");
        } finally {
            listener.close();
        }
    }

    @Test
    void aSessionThatIsNotConfirmedDoesNotKeepThePortOfAClosedServer() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        try (DatagramSocket client = socket(0)) {
            halfOpen(client, listener.localAddress(), 1);
            assertEquals(1, listener.sessions());
            listener.close();
            assertEquals(0, listener.sessions());
            Await.until("the port is free", () -> isFree(listener.localAddress().getPort()));
        } finally {
            listener.close();
        }
    }

    private static boolean isFree(int port) throws IOException {
        try (DatagramSocket again = socket(port)) {
            return again.isBound();
        } catch (BindException e) {
            return false;
        }
    }

    /** Its failures are no end: they may be over soon. But not if nothing else comes. */
    @Test
    void aSocketFromWhichOnlyFailuresComeEndsItsSessions() throws Exception {
        AtomicBoolean fails = new AtomicBoolean();
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        try (CallServer server = echo(listener);
                RpcClient client = RpcClient.builder().retryTime(Duration.ofMinutes(1)).datagrams(at ->
                        new DatagramSocket(at) {
                            @Override
                            public void receive(DatagramPacket into) throws IOException {
                                if (!fails.get()) {
                                    super.receive(into);
                                }
                                if (fails.get()) {
                                    throw new IOException("this socket is broken");
                                }
                            }
                        }).connect(server.localAddress())) {
            fails.set(true);
            RpcPending pending = client.begin("echo", PING, RpcOptions.DEFAULT);
            Await.until("the session's end", () -> pending.await(Duration.ofMillis(10)) || !client.isConnected());
            fails.set(false);
            assertArrayEquals(PING, pending.await());
        }
    }

    /** The next packet is in the kernel meanwhile. */
    @Test
    void manyFailuresOfASocketThatThenReceivesCostNoSession() throws Exception {
        AtomicInteger failures = new AtomicInteger();
        List<DatagramSocket> made = new CopyOnWriteArrayList<>();
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        try (CallServer server = echo(listener);
                RpcClient client = RpcClient.builder().datagrams(at -> {
                    made.add(new DatagramSocket(at) {
                        @Override
                        public void receive(DatagramPacket into) throws IOException {
                            if (failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                                throw new IOException("of a test");
                            }
                            super.receive(into);
                        }
                    });
                    return made.getLast();
                }).connect(server.localAddress())) {
            failures.set(500); // from the next receive on
            for (int i = 0; i < 3; i++) {
                assertArrayEquals(PING, client.call("echo", PING, RpcOptions.DEFAULT.timeout(Duration.ofSeconds(30))));
            }
            assertEquals(0, failures.get());
            assertEquals(1, made.size(), "sockets");
        }
    }

    /** The close that follows throws, too. */
    @Test
    void anErrorOutOfASendCostsTheSessionAndTheClientMakesAnother() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        Thread caller = Thread.currentThread();
        AtomicBoolean fails = new AtomicBoolean();
        AtomicBoolean failsToClose = new AtomicBoolean();
        List<DatagramSocket> made = new CopyOnWriteArrayList<>();
        try (CallServer server = echo(listener);
                RpcClient client = RpcClient.builder().datagrams(at -> {
                    made.add(new DatagramSocket(at) {
                        @Override
                        public void send(DatagramPacket packet) throws IOException {
                            if (Thread.currentThread() == caller && fails.getAndSet(false)) {
                                throw new StackOverflowError("of a test, in a send");
                            }
                            super.send(packet);
                        }

                        @Override
                        public void close() {
                            if (failsToClose.getAndSet(false)) {
                                throw new StackOverflowError("of a test, in a close");
                            }
                            super.close();
                        }
                    });
                    return made.getLast();
                }).connect(server.localAddress())) {
            assertArrayEquals(PING, client.call("echo", PING));
            failsToClose.set(true);
            fails.set(true);
            assertThrows(StackOverflowError.class, () -> client.call("echo", PING));
            assertFalse(failsToClose.get(), "nothing was closed");
            RpcOptions soon = RpcOptions.DEFAULT.timeout(Duration.ofSeconds(30));
            assertArrayEquals(PING, client.call("echo", PING, soon));
            assertEquals(2, made.size(), "sockets");
            Await.until("the first socket is closed", () -> made.getFirst().isClosed());
        }
    }

    /** The call's packet is lost, and the timer sends it again. */
    @Test
    void aTimerThatFindsNoMemoryGoesOn() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        Thread caller = Thread.currentThread();
        AtomicBoolean fails = new AtomicBoolean();
        AtomicReference<Thread> timer = new AtomicReference<>();
        try (CallServer server = echo(listener);
                RpcClient client = RpcClient.builder().datagrams(at -> new DatagramSocket(at) {
                    @Override
                    public void send(DatagramPacket packet) throws IOException {
                        if (Thread.currentThread() != caller || !fails.get()) {
                            super.send(packet);
                        }
                    }

                    @Override
                    public boolean isClosed() {
                        if (Thread.currentThread().getName().endsWith("timer") && fails.getAndSet(false)) {
                            timer.set(Thread.currentThread());
                            throw new OutOfMemoryError("of a test");
                        }
                        return super.isClosed();
                    }
                }).connect(server.localAddress())) {
            fails.set(true);
            assertArrayEquals(PING, client.call("echo", PING, RpcOptions.DEFAULT.timeout(Duration.ofSeconds(30))));
            assertTrue(timer.get().isAlive(), "the timer is no more");
        }
    }

    /** It waits for the hub's lock when the close wakes it up: so it is not parked where it looks at the time. */
    @Test
    void aTimerEndsAlthoughItsWakeUpFindsItAtTheLock() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        AtomicReference<Thread> timer = new AtomicReference<>();
        try (CallServer server = echo(listener)) {
            try (RpcClient client = RpcClient.builder().datagrams(at -> new DatagramSocket(at) {
                @Override
                public boolean isClosed() {
                    if (Thread.currentThread().getName().endsWith("timer")) {
                        timer.set(Thread.currentThread());
                    }
                    return super.isClosed();
                }

                @Override
                public void close() {
                    Thread waits = timer.get();
                    while (waits.isAlive() && !isClosed() && !(LockSupport.getBlocker(waits)
                            instanceof AbstractOwnableSynchronizer)) { // the lock's, which this thread has
                        LockSupport.unpark(waits);
                        Thread.yield();
                    }
                    super.close();
                }
            }).connect(server.localAddress())) {
                assertArrayEquals(PING, client.call("echo", PING));
            }
            Await.until("the timer's end", () -> !timer.get().isAlive());
        }
    }

    /** The same server, to which clients of loopback seem to come from as many hosts as they have addresses. */
    private static Carrier.Listener fromHosts(Carrier.Listener listener) {
        return proxy(Carrier.Listener.class, listener, (method, result) -> method.equals("accept")
                ? proxy(Carrier.class, result, (asked, address) -> !asked.equals("countedAs") ? address
                        : ((Carrier) result).remoteAddress().getAddress()) : result);
    }

    private static <T> T proxy(Class<T> type, Object target, BiFunction<String, Object, Object> change) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, given) -> {
            if (method.getName().equals("hashCode") || method.getName().equals("equals")) {
                return method.getName().equals("equals") ? self == given[0] : System.identityHashCode(self);
            }
            try {
                return change.apply(method.getName(), method.invoke(target, given));
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }));
    }

    private static CallServer echo(Carrier.Listener listener) {
        return echo(listener, 2000);
    }

    private static CallServer echo(Carrier.Listener listener, int maxConnections) {
        CallMethod echo = new CallMethod.Unary((call, request) -> request, true);
        CallMethod hold = new CallMethod.Streaming(call -> Thread.sleep(Duration.ofHours(1)));
        return CallServer.over(listener, name -> name.equals("hold") ? hold : echo, new CallServer.Settings(MAX_MESSAGE,
                100, 100, maxConnections, HELD_BYTES, 1 << 20, LIMIT));
    }

    /** A call of one session is not paid for by all others. */
    @Test
    void aCallLooksAtTheTimesOfFewSessions() throws Exception {
        int many = 300;
        int calls = 1000;
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, 1 << 20);
        List<RpcClient> clients = new ArrayList<>();
        try (CallServer server = echo(listener)) {
            for (int i = 0; i < many; i++) {
                clients.add(RpcClient.builder().datagrams(DatagramSocket::new).connect(server.localAddress()));
                clients.getLast().call("echo", PING);
            }
            long before = listener.looks();
            for (int i = 0; i < calls; i++) {
                clients.getFirst().call("echo", PING);
            }
            long each = (listener.looks() - before) / calls;
            assertTrue(each < 20, each + " looks for each call, of " + many + " sessions");
        } finally {
            clients.forEach(RpcClient::close);
        }
    }

    /** Strangers begin sessions and messages, never end them, and ask now and then as if they were alive. */
    @Test
    void messagesThatAreNeverWholeHoldABoundedPartOfTheServerAndEndWhenOthersNeedIt() throws Exception {
        long most = 512 << 10;
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, most);
        try (CallServer server = echo(listener);
                RpcClient client = RpcClient.builder().datagrams(DatagramSocket::new).connect(server.localAddress());
                DatagramSocket stranger = socket(0)) {
            for (int i = 0; i < 10; i++) {
                begin(stranger, server.localAddress(), 1000 + i);
                assertTrue(listener.heldBytes() < most + 3 * PIECE * PIECES, "held: " + listener.heldBytes());
                assertArrayEquals(PING, client.call("echo", PING));
            }
            assertTrue(listener.heldBytes() >= most, "the strangers hold " + listener.heldBytes());
            assertTrue(server.dropped() > 0, "nothing was dropped");
            byte[] request = new byte[300_000];
            request[299_999] = 7;
            assertArrayEquals(request, client.call("echo", request));
        }
    }

    private void begin(DatagramSocket from, InetSocketAddress server, long client) throws IOException {
        long session = halfOpen(from, server, client);
        for (int i = 0; i < PIECES; i++) {
            packet.kind = i % 8 == 7 ? Packet.PING : Packet.DATA;
            packet.receiver = session;
            packet.sender = client;
            packet.number = i - i / 8;
            packet.acknowledged = 0;
            packet.selective = 0;
            packet.room = Session.WINDOW;
            packet.flags = i == 0 ? Packet.FIRST : 0;
            send(from, server, packet.kind == Packet.PING ? new byte[0] : new byte[PIECE]);
            if (packet.kind == Packet.PING) {
                receive(from); // all packets before it have come
            }
        }
    }

    /** Each first packet is good; but what comes of it is bounded, and costs those nothing whose session stands. */
    @Test
    void aFloodOfHandshakesMakesABoundedNumberOfSessionsAndTheStandingOneGoesOn() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        try (CallServer server = echo(listener);
                RpcClient client = RpcClient.builder().datagrams(DatagramSocket::new).connect(server.localAddress());
                DatagramSocket stranger = socket(0)) {
            client.call("echo", PING);
            long before = server.dropped();
            int most = 0;
            long begun = System.nanoTime();
            for (int i = 0; i < 3000; i++) {
                open(stranger, server.localAddress(), 1_000_000 + i);
                most = Math.max(most, listener.sessions());
                if (i % 50 == 0) {
                    assertArrayEquals(PING, client.call("echo", PING));
                }
            }
            boolean flooded = System.nanoTime() - begun < SessionHub.CONNECT_NANOS; // before the first ones end
            assertTrue(most <= Shares.of(1024) + 1, most + " sessions");
            assertTrue(!flooded || most > 700, most + " sessions of a flood");
            assertTrue(!flooded || server.dropped() > before, "nothing was dropped");
            assertArrayEquals(PING, client.call("echo", PING));
        }
    }

    /** They begin a session, and never a connection of calls: their time for that is ten seconds. */
    @Test
    void sessionsThatSayNothingMakeRoomForOthers() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        try (CallServer server = echo(listener, 8);
                DatagramSocket stranger = socket(0);
                RpcClient standing = RpcClient.builder().datagrams(DatagramSocket::new)
                        .connect(server.localAddress())) {
            for (int i = 0; i < 40; i++) {
                confirm(stranger, server.localAddress(), 2_000_000 + i);
                if (i % 10 == 9) {
                    try (RpcClient newcomer = RpcClient.builder().datagrams(DatagramSocket::new)
                            .connect(server.localAddress())) {
                        assertArrayEquals(PING, newcomer.call("echo", PING));
                    }
                    assertArrayEquals(PING, standing.call("echo", PING));
                    assertTrue(standing.isConnected());
                }
            }
        }
    }

    /** Gives the server's number of a session that is confirmed. */
    private long confirm(DatagramSocket from, InetSocketAddress server, long client) throws IOException {
        long session = halfOpen(from, server, client);
        to(session, client, Packet.PING);
        send(from, server, new byte[0]);
        return session;
    }

    private void sendPiece(DatagramSocket from, InetSocketAddress server, long client, long session, int number,
            int flags) throws IOException {
        to(session, client, Packet.DATA);
        packet.number = number;
        packet.flags = flags;
        send(from, server, new byte[PIECE]);
    }

    private void to(long session, long client, int kind) {
        packet.kind = kind;
        packet.receiver = session;
        packet.sender = client;
        packet.acknowledged = 0;
        packet.selective = 0;
        packet.room = Session.WINDOW;
    }

    /** The hub finds no memory for the packet that acknowledges it. */
    @Test
    void anErrorOutOfAnAcknowledgementKeepsNoMessageFromItsReader() throws Exception {
        AtomicBoolean fails = new AtomicBoolean();
        SessionHub.SessionListener listener = SessionHub.listen(new DatagramSocket(0,
                InetAddress.getLoopbackAddress()) {
            @Override
            public void send(DatagramPacket packet) throws IOException {
                if (fails.get()) {
                    throw new OutOfMemoryError("of a test");
                }
                super.send(packet);
            }
        }, MAX_MESSAGE, Long.MAX_VALUE);
        try (DatagramSocket client = socket(0)) {
            long session = confirm(client, listener.localAddress(), 1);
            CompletableFuture<IOException> end = new CompletableFuture<>();
            Carrier carrier = listener.accept();
            Thread reader = Thread.ofVirtual().start(() -> end.complete(assertThrows(IOException.class,
                    () -> carrier.receive(Long.MAX_VALUE))));
            Await.until("a reader that waits", () -> reader.getState() == Thread.State.WAITING);
            fails.set(true);
            sendPiece(client, listener.localAddress(), 1, session, 1, Packet.LAST);
            sendPiece(client, listener.localAddress(), 1, session, 0, Packet.FIRST);
            end.get(20, TimeUnit.SECONDS); // zeros are no frame
            fails.set(false);
            carrier.close();
        } finally {
            listener.close();
        }
    }

    /** It ends after its close, or is closed after its end. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatNobodyHasTakenOfASessionThatIsOverHoldsNothing(boolean endsFirst) throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        try (DatagramSocket client = socket(0)) {
            long session = confirm(client, listener.localAddress(), 1);
            Carrier carrier = listener.accept();
            sendPiece(client, listener.localAddress(), 1, session, 0, Packet.FIRST | Packet.LAST);
            Await.until("a message", () -> listener.heldBytes() > PIECE);
            if (endsFirst) {
                to(session, 1, Packet.RESET);
                send(client, listener.localAddress(), new byte[0]);
                Await.until("its end", () -> listener.sessions() == 0);
                assertTrue(listener.heldBytes() > PIECE, "the message may still be taken");
            }
            carrier.close();
            listener.serve(System.nanoTime() + TimeUnit.SECONDS.toNanos(3));
            assertEquals(0, listener.sessions());
            assertEquals(0, listener.heldBytes());
        } finally {
            listener.close();
        }
    }

    /** Its message may still be taken. */
    @Test
    void theOldestSessionDoesNotGoBeforeOthersOnceItIsOver() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, PIECE);
        InetSocketAddress server = listener.localAddress();
        try (DatagramSocket client = socket(0)) {
            long oldest = confirm(client, server, 1);
            long next = confirm(client, server, 2);
            Carrier first = listener.accept();
            Carrier second = listener.accept();
            sendPiece(client, server, 1, oldest, 0, Packet.FIRST | Packet.LAST);
            Await.until("a message", () -> listener.heldBytes() > PIECE);
            long before = listener.dropped();
            sendPiece(client, server, 2, next, 0, Packet.FIRST);
            Await.until("another has to wait", () -> listener.dropped() > before);
            to(oldest, 1, Packet.RESET);
            send(client, server, new byte[0]);
            Await.until("the end of the oldest", () -> listener.sessions() == 1);
            sendPiece(client, server, 2, next, 0, Packet.FIRST | Packet.LAST);
            sendPiece(client, server, 2, next, 1, Packet.FIRST);
            sendPiece(client, server, 2, next, 2, Packet.LAST);
            Await.until("a short message and a long one", () -> listener.heldBytes() > 4 * PIECE);
            for (int i = 0; i < 3; i++) {
                if (i == 2) { // no session holds anything now, but for the one that is over
                    sendPiece(client, server, 2, next, 3, Packet.FIRST);
                    sendPiece(client, server, 2, next, 4, Packet.LAST);
                }
                IOException end = assertThrows(IOException.class, () -> second.receive(System.nanoTime() + LIMIT / 6));
                assertFalse(end instanceof SocketTimeoutException, "it is no frame, but it has come: " + end);
            }
            first.close();
            second.close();
        } finally {
            listener.close();
        }
    }

    @Test
    void theLongestMessageOfAllIsNoBound() throws Exception {
        try (RpcServer server = RpcServer.builder().maxMessage(Integer.MAX_VALUE).unary("echo",
                (request, call) -> request).datagrams(DatagramSocket::new).listen(new InetSocketAddress(
                        InetAddress.getLoopbackAddress(), 0));
                RpcClient client = RpcClient.builder().maxMessage(Integer.MAX_VALUE).datagrams(DatagramSocket::new)
                        .connect(server.localAddress())) {
            assertArrayEquals(new byte[PIECES * PIECE], client.call("echo", new byte[PIECES * PIECE]));
        }
    }

    @Test
    void oneAddressNeverHasAllConnections() throws Exception {
        int most = 8;
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        List<ClientConnection> held = new ArrayList<>();
        try (CallServer server = echo(fromHosts(listener), most)) {
            for (int i = 0; i < Shares.of(most); i++) {
                held.add(greet(server));
            }
            assertThrows(IOException.class, () -> greet(server));
            try (RpcClient client = RpcClient.builder().datagrams(DatagramSocket::new).connect(server.localAddress())) {
                assertArrayEquals(PING, client.call("echo", PING));
            }
            held.removeFirst().close();
            Await.until("one less has room for one more", () -> {
                try {
                    held.add(greet(server));
                    return true;
                } catch (IOException e) {
                    return false;
                }
            });
        } finally {
            held.forEach(ClientConnection::close);
        }
    }

    /** Its methods read nothing, so that what it sends has to be kept. */
    @Test
    void anAddressWhoseRequestsFillTheServerKeepsNoOtherOut() throws Exception {
        SessionHub.SessionListener listener = SessionHub.listen(socket(0), MAX_MESSAGE, Long.MAX_VALUE);
        try (CallServer server = echo(fromHosts(listener));
                RpcClient greedy = RpcClient.builder().datagrams(at -> new DatagramSocket(0,
                        InetAddress.ofLiteral("127.0.0.2"))).connect(server.localAddress());
                RpcClient client = RpcClient.builder().datagrams(DatagramSocket::new).connect(server.localAddress())) {
            for (long sent = 0; sent <= HELD_BYTES; sent += 200_000) {
                greedy.open("hold", RpcOptions.DEFAULT).send(new byte[200_000]);
            }
            RpcOptions soon = RpcOptions.DEFAULT.timeout(Duration.ofSeconds(20));
            RpcOptions now = RpcOptions.DEFAULT.timeout(Duration.ofMillis(300));
            Await.until("the greedy one is refused", () -> {
                try {
                    greedy.call("echo", PING, now);
                    return false;
                } catch (RpcException e) {
                    return true;
                }
            });
            assertArrayEquals(PING, client.call("echo", PING, soon));
            assertArrayEquals(new byte[50_000], client.call("echo", new byte[50_000], soon));
        }
    }

    /** As an honest client does, from another address. */
    private static ClientConnection greet(CallServer server) throws IOException {
        Carrier carrier = SessionHub.connect(new DatagramSocket(0, InetAddress.ofLiteral("127.0.0.2")),
                server.localAddress(), MAX_MESSAGE, LIMIT);
        return new ClientConnection(carrier, MAX_MESSAGE, new byte[ClientConnection.IDENTITY_BYTES], 0, LIMIT);
    }
}
