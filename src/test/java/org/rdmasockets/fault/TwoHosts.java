package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.ConnectException;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.spi.ToolProvider;
import jdk.net.ExtendedSocketOptions;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.contract.Await;
import org.rdmasockets.endpoint.EndpointException;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.Pending;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RemoteLease;
import org.rdmasockets.far.Far;
import org.rdmasockets.far.OtherJvm;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcClientCall;
import org.rdmasockets.rpc.RpcException;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcServer;

/**
 * Two hosts over one device each: streams, endpoints, calls and datagrams between them, a process that is killed there,
 * a link that goes down and comes back, and at last a host that stops without a word. Prints a line for each step. See
 * {@code src/test/guest/two-hosts}.
 */
final class TwoHosts {
    /** A step; its words tell what was seen. */
    private interface Step {
        String run() throws Exception;
    }

    /** A connection: this host's end, and the other's. */
    private record Ends(Socket near, Far<Socket> far) {
    }

    private static final int MEGABYTE = 1 << 20;
    private static final int MOST_WAIT_SECONDS = 300;
    private static final Duration PATIENCE = Duration.ofMillis(TestBed.PATIENCE_MILLIS);
    /** Steps have so much more than their seconds where the host is so slow that its patience was made longer. */
    private static final long STRETCH = Math.max(1, PATIENCE.toMinutes());
    /** The exit status if there is no other host, as of src/test/guest/run where a guest does not start. */
    private static final int NO_OTHER = 125;
    private static final int WORD_BYTES = 64;
    private static final int DATAGRAMS = 200;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final OtherJvm other;
    private final String here = TestBed.address().getHostAddress();
    private final String there;
    private int broken;

    private TwoHosts(String there, OtherJvm other) throws IOException {
        this.there = there;
        this.other = other;
    }

    /**
     * Runs all steps; the exit status is 0 if all held, 1 if not, 125 if the other host does not come.
     *
     * @param arguments the address and the port of the other host's {@code Servant}
     */
    static void main(String[] arguments) throws Exception {
        InetSocketAddress address = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        OtherJvm other = null;
        try {
            other = OtherJvm.at(address, TimeUnit.SECONDS.toMillis(MOST_WAIT_SECONDS));
        } catch (IOException e) {
            System.out.println(e.getMessage() + ": " + e.getCause());
            System.exit(NO_OTHER);
        }
        TwoHosts hosts = new TwoHosts(arguments[0], other);
        hosts.traffic();
        hosts.killed();
        hosts.linkDown();
        hosts.step("the other host stops without a word", 180, hosts::hostStops);
        System.out.println(hosts.broken == 0 ? "all steps held" : hosts.broken + " steps failed");
        System.exit(hosts.broken == 0 ? 0 : 1);
    }

    /** Runs a step in a thread of its own, so that one that hangs is a failure, too. */
    private void step(String what, int seconds, Step step) throws InterruptedException {
        long start = System.nanoTime();
        CompletableFuture<String> end = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().daemon().name(what).start(() -> {
            try {
                end.complete(step.run());
            } catch (Throwable e) {
                end.completeExceptionally(e);
            }
        });
        String seen;
        boolean held = false;
        try {
            seen = end.get(seconds * STRETCH, TimeUnit.SECONDS);
            held = true;
        } catch (TimeoutException e) {
            seen = "still runs: " + Arrays.toString(thread.getStackTrace());
        } catch (ExecutionException e) {
            seen = e.getCause() + " " + Arrays.toString(e.getCause().getStackTrace());
        }
        System.out.printf("%-7s %s (%d ms): %s%n", held ? "ok" : "FAILED", what,
                TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start), seen);
        broken += held ? 0 : 1;
    }

    private void traffic() throws InterruptedException {
        step("this host", 60, HostTraffic::system);
        step("the other host", 60, () -> other.ask(nothing -> HostTraffic.system()));
        step("streams of 1 byte to 1 MB, accepted there", 240, () -> streams(this::acceptedThere));
        step("streams of 1 byte to 1 MB, accepted here", 240, () -> streams(this::acceptedHere));
        step("four streams at once, 2 MB each way", 300, this::manyStreams);
        step("500 round trips of 64 bytes", 120, this::roundTrips);
        step("half close, and a read that times out", 120, this::halfClose);
        step("a port where no server is", 60, this::refused);
        step("endpoints: messages, memory, atomics, leases", 180, this::endpoints);
        step("calls over an endpoint", 240, () -> calls(false));
        step("calls over datagrams", 240, () -> calls(true));
        step("datagrams", 120, this::datagrams);
        step("the contract of streams, connected from either host", 900, this::contract);
    }

    private void killed() throws InterruptedException {
        step("kill -9 of the peer of sockets", 240, this::killSockets);
        step("kill -9 of the peer of endpoints", 240, this::killEndpoints);
        step("kill -9 of a server of calls, over an endpoint", 240, () -> killCalls(false));
        step("kill -9 of a server of calls, over datagrams", 240, () -> killCalls(true));
        step("the other host still serves", 120, () -> streams(this::acceptedThere));
    }

    private Ends acceptedThere() throws IOException {
        Far<ServerSocket> listener = other.make(nothing -> TestBed.listen());
        Socket near = TestBed.connect(new InetSocketAddress(there, listener.ask(l -> l.getLocalPort())));
        Far<Socket> far = listener.make(l -> l.accept());
        listener.tell(l -> l.close());
        return new Ends(near, far);
    }

    private Ends acceptedHere() throws IOException, InterruptedException, ExecutionException {
        try (ServerSocket listener = TestBed.listen()) {
            String address = here;
            int port = listener.getLocalPort();
            Future<Far<Socket>> far = threads.submit(() -> other.make(
                    nothing -> TestBed.connect(new InetSocketAddress(address, port))));
            Socket near = listener.accept();
            return new Ends(near, far.get());
        }
    }

    private static void close(Ends ends) throws IOException {
        ends.near.close();
        ends.far.tell(socket -> socket.close());
    }

    private static String transport(Socket socket) throws IOException {
        String transport = socket.getOption(RdmaSocketOptions.TRANSPORT).toString();
        assertTrue(transport.startsWith("ibverbs"), transport);
        return transport;
    }

    private String streams(Callable<Ends> maker) throws Exception {
        Ends ends = maker.call();
        long sum = 0;
        for (int bytes : new int[] {1, 63, 64, 4096, 65_537, MEGABYTE}) {
            sum ^= exchange(ends, bytes, bytes);
        }
        String seen = "equal checksums both ways, " + Long.toHexString(sum) + ", over " + transport(ends.near);
        close(ends);
        return seen;
    }

    /** Both ways at once; the checksums have to agree. */
    private long exchange(Ends ends, long bytes, long seed) throws InterruptedException, ExecutionException {
        Future<Long> sent = threads.submit(() -> HostTraffic.send(ends.near, bytes, seed));
        Future<Long> got = threads.submit(() -> ends.far.<Long, IOException>ask(
                socket -> HostTraffic.receive(socket, bytes, seed + 1)));
        Future<Long> sentBack = threads.submit(() -> ends.far.<Long, IOException>ask(
                socket -> HostTraffic.send(socket, bytes, seed + 2)));
        Future<Long> gotBack = threads.submit(() -> HostTraffic.receive(ends.near, bytes, seed + 3));
        assertEquals(sent.get(), got.get(), "checksums of what went there");
        assertEquals(sentBack.get(), gotBack.get(), "checksums of what came back");
        return sent.get() ^ sentBack.get();
    }

    private String manyStreams() throws Exception {
        List<Ends> all = new ArrayList<>();
        List<Future<Long>> exchanges = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Ends ends = i % 2 == 0 ? acceptedThere() : acceptedHere();
            all.add(ends);
            long seed = 10 * i;
            exchanges.add(threads.submit(() -> exchange(ends, 2 * MEGABYTE, seed)));
        }
        for (Future<Long> exchange : exchanges) {
            exchange.get();
        }
        for (Ends ends : all) {
            close(ends);
        }
        return "16 MB, equal checksums";
    }

    /** JUnit says how each test went. */
    private String contract() {
        int status = ToolProvider.findFirst("junit").orElseThrow().run(System.out, System.err, "execute",
                "--disable-banner", "--disable-ansi-colors", "--details", "tree", "--details-theme", "ascii",
                "--fail-if-no-tests",
                "--config", "junit.jupiter.execution.timeout.default=" + 300 * STRETCH + "s",
                "--config", "junit.jupiter.execution.parallel.enabled=false",
                "--select-class", "org.rdmasockets.contract.StreamsBetweenHostsTest");
        assertEquals(0, status, "status of JUnit");
        return "all tests above passed";
    }

    private String roundTrips() throws Exception {
        Ends ends = acceptedThere();
        Future<Long> echo = threads.submit(() -> ends.far.<Long, IOException>ask(HostTraffic::echo));
        byte[] word = new byte[WORD_BYTES];
        long start = System.nanoTime();
        for (int i = 0; i < 500; i++) {
            Arrays.fill(word, (byte) i);
            ends.near.getOutputStream().write(word);
            assertArrayEquals(word, ends.near.getInputStream().readNBytes(word.length));
        }
        long micros = TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - start) / 500;
        ends.near.shutdownOutput();
        assertEquals(500L * WORD_BYTES, echo.get());
        assertEquals(-1, ends.near.getInputStream().read());
        close(ends);
        return micros + " us each";
    }

    private String halfClose() throws Exception {
        Ends ends = acceptedHere();
        ends.near.setSoTimeout(300);
        assertThrows(SocketTimeoutException.class, () -> ends.near.getInputStream().read());
        ends.near.setSoTimeout(TestBed.PATIENCE_MILLIS);
        ends.near.getOutputStream().write(new byte[100_000]);
        ends.near.shutdownOutput();
        int got = ends.far.ask(socket -> socket.getInputStream().readAllBytes().length);
        assertEquals(100_000, got);
        ends.far.tell(socket -> {
            socket.getOutputStream().write(new byte[] {1, 2, 3});
            socket.close();
        });
        assertArrayEquals(new byte[] {1, 2, 3}, ends.near.getInputStream().readAllBytes());
        close(ends);
        return "\"Read timed out\", then all bytes and the end, both ways";
    }

    private String refused() {
        ConnectException e = assertThrows(ConnectException.class,
                () -> TestBed.connect(new InetSocketAddress(there, 7999)));
        return e.getMessage();
    }

    private Far<Program> program(String mainClass, String... arguments) throws IOException {
        return other.make(nothing -> Program.java(mainClass, arguments));
    }

    private static int port(Far<Program> program) throws InterruptedException {
        return program.ask(p -> Integer.parseInt(p.awaitLine("listening")));
    }

    private Far<Program> endpointPeer() throws IOException {
        return program("org.rdmasockets.endpoint.PeerMain", TestBed.device(), there);
    }

    private RdmaEndpoint endpoint(int port) throws IOException {
        return RdmaEndpoint.builder().device(TestBed.device()).connectTimeout(PATIENCE).connect(there, port);
    }

    private static LocalRegion filled(RdmaEndpoint endpoint, byte[] content) throws IOException {
        LocalRegion region = endpoint.allocate(content.length);
        MemorySegment.copy(content, 0, region.segment(), ValueLayout.JAVA_BYTE, 0, content.length);
        return region;
    }

    private static byte[] random(int bytes) {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        return content;
    }

    private String endpoints() throws Exception {
        Far<Program> peer = endpointPeer();
        try (RdmaEndpoint endpoint = endpoint(port(peer))) {
            for (int size : new int[] {1, 969, 200_000}) {
                Pending<Void> send = endpoint.startSend(filled(endpoint, random(size)));
                try (Message message = endpoint.receive(PATIENCE)) {
                    assertArrayEquals(random(size), message.toArray());
                }
                send.await(PATIENCE);
            }
            RemoteLease lease = endpoint.requestRemote(100_000);
            LocalRegion back = endpoint.allocate(100_000);
            endpoint.write(filled(endpoint, random(100_000)), lease.region());
            endpoint.read(back, lease.region());
            assertArrayEquals(random(100_000), back.segment().toArray(ValueLayout.JAVA_BYTE));
            RemoteLease word = endpoint.requestRemote(8);
            assertEquals(0, endpoint.fetchAndAdd(word.region(), 5));
            assertEquals(5, endpoint.compareAndSwap(word.region(), 5, 6));
            RemoteLease shared = endpoint.receiveShared(PATIENCE);
            int length = (int) shared.region().length();
            endpoint.write(filled(endpoint, random(length)), shared.region());
            endpoint.handOver(shared);
            try (Message message = endpoint.receive(PATIENCE)) {
                assertArrayEquals(random(length), message.toArray());
            }
        } finally {
            peer.tell(Program::close);
        }
        return "three messages, 100,000 bytes written and read back, two atomics, memory handed over, all as sent";
    }

    private static RpcClient client(String host, int port, boolean datagrams) throws IOException {
        RpcClient.Builder builder = RpcClient.builder();
        return (datagrams ? builder.datagrams() : builder).connect(host, port);
    }

    private static RpcOptions within(Duration time) {
        return RpcOptions.DEFAULT.timeout(time);
    }

    private String calls(boolean datagrams) throws Exception {
        String address = there;
        Far<RpcServer> server = other.make(nothing -> HostTraffic.serve(address, datagrams));
        try (RpcClient client = client(there, server.ask(s -> s.localAddress().getPort()), datagrams)) {
            for (int size : new int[] {0, 1, 1000, 4096, 100_000, MEGABYTE}) {
                assertArrayEquals(random(size), client.call("echo", random(size), within(PATIENCE)), size + " bytes");
            }
            List<Future<Integer>> callers = new ArrayList<>();
            for (int caller = 0; caller < 8; caller++) {
                int first = caller * 100;
                callers.add(threads.submit(() -> calls(client, first)));
            }
            int right = 0;
            for (Future<Integer> caller : callers) {
                right += caller.get();
            }
            assertEquals(8 * 50, right, "right answers");
            assertEquals(45, streamed(client));
            return "sizes up to 1 MB, 400 calls of 8 threads, a stream, all right, over " + client.transport();
        } finally {
            server.tell(RpcServer::close);
        }
    }

    private static int calls(RpcClient client, int first) throws RpcException {
        int right = 0;
        for (int i = first; i < first + 50; i++) {
            right += Arrays.equals(random(i), client.call("echo", random(i), within(PATIENCE))) ? 1 : 0;
        }
        return right;
    }

    private static int streamed(RpcClient client) throws RpcException {
        int sum = 0;
        try (RpcClientCall call = client.open("sum", within(PATIENCE))) {
            for (int i = 0; i < 10; i++) {
                call.send(new byte[] {(byte) i});
                sum = call.receive()[0];
            }
            call.halfClose();
            assertEquals(null, call.receive());
        }
        return sum;
    }

    /** The first ones go over UDP, until each side knows the other's queue pair. */
    private String datagrams() throws Exception {
        String address = there;
        Far<RdmaDatagramSocket> echo = other.make(nothing -> HostTraffic.echoDatagrams(address));
        InetSocketAddress to = new InetSocketAddress(InetAddress.ofLiteral(there), echo.ask(s -> s.getLocalPort()));
        int lost = 0;
        try (RdmaDatagramSocket socket = new RdmaDatagramSocket(
                new InetSocketAddress(InetAddress.ofLiteral(here), 0))) {
            socket.setSoTimeout(2_000);
            for (int i = 0; i < DATAGRAMS; i++) {
                byte[] content = random(4 + i * 5);
                DatagramPacket back = new DatagramPacket(new byte[2048], 2048);
                socket.send(new DatagramPacket(content, content.length, to));
                try {
                    do {
                        socket.receive(back);
                    } while (back.getLength() < content.length); // one that was late
                    assertArrayEquals(content, Arrays.copyOf(back.getData(), back.getLength()));
                } catch (SocketTimeoutException e) {
                    lost++;
                }
            }
            String transport = socket.getOption(RdmaSocketOptions.TRANSPORT).toString();
            assertTrue(transport.startsWith("ibverbs"), transport);
            assertTrue(lost < DATAGRAMS / 10, lost + " lost");
            return DATAGRAMS - lost + " of " + DATAGRAMS + " came back as sent, over " + transport;
        } finally {
            echo.tell(s -> s.close());
        }
    }

    /** A blocked reader, a busy writer and an idle connection end as they do over TCP. */
    private String killSockets() throws Exception {
        Far<Program> peer = program("org.rdmasockets.fault.Victim", "listen", there, "3");
        int port = port(peer);
        List<Socket> sockets = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Socket socket = TestBed.connect(new InetSocketAddress(there, port));
            sockets.add(socket);
            socket.getOutputStream().write(1);
        }
        peer.ask(p -> p.awaitLine("ready"));
        AtomicLong written = new AtomicLong();
        Attempt reader = Attempt.start("reader", sockets.get(0).getInputStream()::read);
        Attempt writer = Attempt.start("writer", () -> writeForEver(sockets.get(1), written));
        awaitMore(written, MEGABYTE);
        reader.awaitParked();
        long killed = System.nanoTime();
        peer.tell(Program::kill);
        String seen = end(reader, killed) + "; " + end(writer, killed) + "; "
                + end(Attempt.start("idle", sockets.get(2).getInputStream()::read), killed);
        for (Socket socket : sockets) {
            socket.close();
        }
        return seen;
    }

    private static int writeForEver(Socket socket, AtomicLong written) throws IOException {
        byte[] data = new byte[8_192];
        while (true) {
            socket.getOutputStream().write(data);
            written.addAndGet(data.length);
        }
    }

    private static void awaitMore(AtomicLong count, long more) throws Exception {
        long least = count.get() + more;
        Await.until(more + " more bytes", () -> count.get() >= least, () -> count);
    }

    /** A call that ends as the calls on a connection do whose peer has gone; in words. */
    private static String end(Attempt attempt, long since) throws InterruptedException {
        Attempt.Outcome outcome = attempt.await(PATIENCE.toMillis());
        assertTrue(Promises.isGone(outcome), attempt::toString);
        return (outcome.failure() == null ? "end of stream" : outcome.failure().getMessage()) + " after "
                + outcome.millisSince(since) + " ms";
    }

    private String killEndpoints() throws Exception {
        Far<Program> peer = endpointPeer();
        try (RdmaEndpoint endpoint = endpoint(port(peer))) {
            endpoint.receiveShared(PATIENCE);
            Future<EndpointException> receive = threads.submit(
                    () -> assertThrows(EndpointException.class, endpoint::receive));
            Future<EndpointException> shared = threads.submit(
                    () -> assertThrows(EndpointException.class, endpoint::receiveShared));
            assertThrows(TimeoutException.class, () -> receive.get(1, TimeUnit.SECONDS), "the receive waits");
            peer.tell(Program::kill);
            return gone(receive.get()) + "; " + gone(shared.get());
        }
    }

    private static String gone(EndpointException e) {
        assertTrue(List.of(EndpointException.Reason.PEER_GONE, EndpointException.Reason.DEVICE).contains(e.reason()),
                e::toString);
        return e.reason().toString();
    }

    private String killCalls(boolean datagrams) throws Exception {
        Far<Program> peer = program("org.rdmasockets.fault.HostTraffic$CallServer", there, "" + datagrams);
        try (RpcClient client = client(there, port(peer), datagrams)) {
            assertArrayEquals(random(10), client.call("echo", random(10), within(PATIENCE)));
            String transport = client.transport();
            Future<RpcException> held = threads.submit(() -> assertThrows(RpcException.class,
                    () -> client.call("hold", random(1), within(PATIENCE.dividedBy(2)))));
            assertThrows(TimeoutException.class, () -> held.get(1, TimeUnit.SECONDS), "the call waits");
            long killed = System.nanoTime();
            peer.tell(Program::kill);
            RpcException e = held.get();
            return e.status() + " after " + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - killed) + " ms, over "
                    + transport;
        }
    }

    /** On RoCE an idle connection notices nothing, as over TCP, and a busy one breaks. */
    private void linkDown() throws InterruptedException {
        List<Ends> ends = new ArrayList<>();
        step("three connections before the link goes down", 120, () -> {
            for (int i = 0; i < 3; i++) {
                ends.add(acceptedThere());
            }
            return "made";
        });
        if (ends.size() < 3) {
            return;
        }
        step("link down: a writer, a reader with a timeout, a connect", 180, () -> down(ends));
        step("link up: the idle connection", 120, () -> "equal checksums, " + Long.toHexString(
                exchange(ends.get(0), 100_000, 3)));
        step("link up: new streams", 240, () -> streams(this::acceptedThere));
        step("link up: endpoints", 180, this::endpoints);
        step("link up: calls over an endpoint", 240, () -> calls(false));
        step("link up: calls over datagrams", 240, () -> calls(true));
        step("link up: datagrams", 180, this::datagrams);
    }

    private String down(List<Ends> ends) throws Exception {
        Socket written = ends.get(1).near;
        Socket read = ends.get(2).near;
        read.setSoTimeout(3_000);
        AtomicLong count = new AtomicLong();
        threads.submit(() -> ends.get(1).far.<Long, IOException>ask(
                socket -> socket.getInputStream().transferTo(OutputStream.nullOutputStream())));
        Attempt writer = Attempt.start("writer", () -> writeForEver(written, count));
        awaitMore(count, MEGABYTE);
        long down = System.nanoTime();
        set("down");
        try {
            Attempt.Outcome reader = Attempt.start("reader", read.getInputStream()::read)
                    .await(PATIENCE.toMillis());
            reader.failure(SocketTimeoutException.class);
            Attempt.Outcome connect = Attempt.start("connect", () -> connect(3_000))
                    .await(PATIENCE.toMillis());
            assertTrue(connect.failure() != null, connect::toString);
            Attempt.Outcome writing = writer.await(2 * PATIENCE.toMillis());
            writing.failure(SocketException.class);
            return "the reader: " + reader.failure().getMessage() + " after " + reader.millisSince(down)
                    + " ms; a connect with 3 s: " + connect.failure().getMessage() + " after "
                    + connect.millisSince(down) + " ms; the writer: " + writing.failure().getMessage() + " after "
                    + writing.millisSince(down) + " ms";
        } finally {
            set("up");
        }
    }

    private int connect(int millis) throws IOException {
        try (Socket socket = TestBed.socket()) {
            socket.connect(new InetSocketAddress(there, 7999), millis);
            return 1;
        }
    }

    private static void set(String state) throws IOException, InterruptedException {
        try (Program ip = Program.start("ip", "link", "set", "eth0", state)) {
            ip.awaitSuccess();
        }
    }

    /** No process says goodbye: the kernel restarts at once, and the machine is not started again. */
    private String hostStops() throws Exception {
        Ends probed = acceptedThere();
        Ends busy = acceptedThere();
        probed.near.setSoTimeout(0);
        probed.near.setKeepAlive(true);
        probed.near.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 2);
        AtomicLong count = new AtomicLong();
        threads.submit(() -> busy.far.<Long, IOException>ask(
                socket -> socket.getInputStream().transferTo(OutputStream.nullOutputStream())));
        Attempt writer = Attempt.start("writer", () -> writeForEver(busy.near, count));
        Attempt reader = Attempt.start("reader", probed.near.getInputStream()::read);
        awaitMore(count, MEGABYTE);
        threads.submit(() -> other.ask(nothing -> HostTraffic.stopHost()));
        long stopped = System.nanoTime();
        return "a busy writer: " + end(writer, stopped) + "; a reader with keepalive: " + end(reader, stopped);
    }
}
