package org.rdmasockets;

import com.google.protobuf.ByteString;
import com.sun.management.OperatingSystemMXBean;
import io.grpc.CallOptions;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.okhttp.OkHttpChannelBuilder;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.Pending;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.examples.Found;
import org.rdmasockets.grpc.RdmaChannelBuilder;
import org.rdmasockets.grpc.RdmaServerBuilder;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcClientCall;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcServer;

/**
 * The cost of a call between two processes of one host: a protobuf message there and back, over endpoints and over
 * sessions on shared memory, by bytes and by gRPC's stubs, beside gRPC over Netty and over OkHttp on TCP, over Netty on
 * a Unix socket, and beside bare messages of an endpoint. All in turn, two new JVMs for each turn; printed are medians
 * of the turns. Callers are virtual threads. See {@code src/jmh/run}.
 */
final class Calls {
    private static final long WARM_UP_NANOS = Long.getLong("calls.warmUpMillis", 3000) * 1_000_000;
    private static final long MEASURED_NANOS = Long.getLong("calls.measuredMillis", 2000) * 1_000_000;
    private static final int CLIENTS = 100;
    private static final int IDLE_CLIENTS = 1000;
    private static final int STREAMED = 200_000;
    /** Calls in a second at moderate load, whether they are answered or not. */
    private static final int MODERATE = 5_000;
    private static final int FIRST_SECONDS = 3;
    private static final int MODERATE_SECONDS = 15;
    private static final List<Integer> SIZES = Arrays.stream(System.getProperty("calls.sizes",
            "64,4096,1048576,67108864").split(",")).map(Integer::valueOf).toList();
    /** Of messages that are longer only a few are under way. */
    private static final int LONG_BYTES = 64 << 10;
    private static final int VERY_LONG_BYTES = 16 << 20;
    private static final int MOST_BYTES = 80 << 20;
    /** The calls beside which short ones are measured. */
    private static final int BESIDE_BYTES = 4 << 20;
    private static final int BESIDE_UNDER_WAY = 2;
    /** Calls under way; if told, nothing else is measured, and not the memory of idle clients. */
    private static final String ONLY_UNDER_WAY = System.getProperty("calls.underWay", "");
    private static final int[] UNDER_WAY = ONLY_UNDER_WAY.isEmpty() ? new int[] {1, 4, 64, 1024}
            : Arrays.stream(ONLY_UNDER_WAY.split(",")).mapToInt(Integer::parseInt).toArray();
    private static final List<String> KINDS = List.of("netty", "unix", "okhttp", "stubs", "rpc", "sessions",
            "endpoint");
    private static final MethodDescriptor<Found, Found> ECHO = method("echo", MethodDescriptor.MethodType.UNARY);
    private static final MethodDescriptor<Found, Found> MANY = method("many",
            MethodDescriptor.MethodType.SERVER_STREAMING);

    private Calls() {
    }

    private static MethodDescriptor<Found, Found> method(String name, MethodDescriptor.MethodType type) {
        return MethodDescriptor.<Found, Found>newBuilder().setType(type)
                .setFullMethodName(MethodDescriptor.generateFullMethodName("calls", name))
                .setRequestMarshaller(ProtoUtils.marshaller(Found.getDefaultInstance()))
                .setResponseMarshaller(ProtoUtils.marshaller(Found.getDefaultInstance())).build();
    }

    /**
     * Measures and prints a table; as {@code server} or {@code client} it is one of the two processes.
     *
     * @param arguments how many rounds, 5 unless told otherwise, and which kinds; or {@code server KIND},
     *        {@code client KIND}
     */
    static void main(String[] arguments) throws Exception {
        switch (arguments.length > 0 ? arguments[0] : "") {
            case "server" -> serve(arguments[1]);
            case "client" -> dial(arguments[1]);
            default -> compare(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 5, arguments.length > 1
                    ? List.of(arguments).subList(1, arguments.length) : KINDS);
        }
        System.exit(0);
    }

    // The parent.

    private static Process start(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-Xmx1g",
                "-Dcalls.warmUpMillis=" + WARM_UP_NANOS / 1_000_000,
                "-Dcalls.measuredMillis=" + MEASURED_NANOS / 1_000_000,
                "-Dcalls.sizes=" + SIZES.stream().map(String::valueOf).collect(Collectors.joining(",")),
                "-Dcalls.beside=" + Boolean.getBoolean("calls.beside"),
                "-Dcalls.underWay=" + ONLY_UNDER_WAY,
                "-Dorg.rdmasockets.transport=sharedmemory", "-cp", System.getProperty("java.class.path"),
                Calls.class.getName()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    private static void compare(int rounds, List<String> kinds) throws IOException, InterruptedException {
        Map<String, Map<String, List<Double>>> all = new TreeMap<>();
        for (int round = 0; round < rounds; round++) {
            for (String kind : kinds) {
                Process client = start("client", kind);
                try (BufferedReader lines = client.inputReader()) {
                    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                        String[] parts = line.split("\t");
                        all.computeIfAbsent(parts[0], key -> new TreeMap<>())
                                .computeIfAbsent(kind, key -> new ArrayList<>()).add(Double.valueOf(parts[1]));
                    }
                }
                if (client.waitFor() != 0) {
                    throw new IOException(kind + " ended with status " + client.exitValue());
                }
            }
        }
        print(all, rounds, kinds);
    }

    /** Prints a page of the documentation. */
    private static void print(Map<String, Map<String, List<Double>>> all, int rounds, List<String> kinds) {
        System.out.printf("""
                # Calls between two processes of a host

                Medians of %d rounds in turn, %s, %d processors, Java %s, Linux %s. A call is a protobuf message there
                and back. *netty*, *okhttp*: gRPC over TCP; *unix*: over a Unix socket, by Netty; *stubs*: gRPC's stubs
                over this library; *rpc*:
                `org.rdmasockets.rpc`; *sessions*: the same over datagrams; *endpoint*: messages of an endpoint, without
                calls. *CPU* is that of both processes. *Open loop*: calls begin at their times, answered or not, and an
                answer's time counts from there. Made by `src/jmh/run calls`; compare within this page only.

                | promise | seen |  |
                |---|---:|---|
                """, rounds, LocalDate.now(), Runtime.getRuntime().availableProcessors(),
                System.getProperty("java.version"), System.getProperty("os.version"));
        promises(all);
        System.out.printf("%n|  | %s |%n|---|%s%n", String.join(" | ", kinds), "---:|".repeat(kinds.size()));
        all.forEach((what, figures) -> {
            System.out.printf("| %s |", what);
            kinds.forEach(kind -> System.out.printf(" %s |", figures.containsKey(kind)
                    ? "%,.1f".formatted(median(figures.get(kind))) : ""));
            System.out.println();
        });
    }

    private static double median(List<Double> values) {
        double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    private static void promises(Map<String, Map<String, List<Double>>> all) {
        for (String of : List.of("stubs", "rpc")) {
            promise(all, "64 B, 1 client, 1 under way: p50, us", of, "netty", "at most", 0.2);
            promise(all, "64 B, 1 client, 64 under way: calls/s", of, "netty", "at least", 3);
            promise(all, "64 B, 1 client, 64 under way: CPU us/call", of, "netty", "at most", 0.5);
            promise(all, "64 B, 1 client, 64 under way: calls/s", of, "endpoint", "at least", 0.5);
        }
        promise(all, "64 B, 1 client, 1 under way: calls/s", "rpc", "endpoint", "at least", 0.5);
    }

    private static void promise(Map<String, Map<String, List<Double>>> all, String what, String of, String to,
            String wanted, double limit) {
        Map<String, List<Double>> figures = all.getOrDefault(what, Map.of());
        if (figures.containsKey(of) && figures.containsKey(to)) {
            double ratio = median(figures.get(of)) / median(figures.get(to));
            boolean holds = wanted.equals("at most") ? ratio <= limit : ratio >= limit;
            System.out.printf("| %s: %s, %s %s of %s | %.3f | %s |%n", of, what, wanted, limit, to, ratio,
                    holds ? "holds" : "**does not hold**");
        }
    }

    // The server's process.

    private static void serve(String kind) throws Exception {
        Object where = switch (kind) {
            case "netty" -> listen(NettyServerBuilder.forAddress(any()).maxInboundMessageSize(MOST_BYTES)
                    .addService(service()).build());
            case "unix" -> {
                Path path = Files.createTempDirectory("calls").resolve("socket");
                listen(NettyServerBuilder.forAddress(new DomainSocketAddress(path.toString()))
                        .channelType(EpollServerDomainSocketChannel.class)
                        .bossEventLoopGroup(new EpollEventLoopGroup(1)).workerEventLoopGroup(new EpollEventLoopGroup())
                        .maxInboundMessageSize(MOST_BYTES).addService(service()).build());
                yield path;
            }
            case "okhttp" -> listen(OkHttpServerBuilder.forPort(any(), InsecureServerCredentials.create())
                    .maxInboundMessageSize(MOST_BYTES).addService(service()).build());
            case "stubs" -> listen(RdmaServerBuilder.forAddress(any()).maxInboundMessageSize(MOST_BYTES)
                    .addService(service()).build());
            case "endpoint" -> listen(RdmaEndpoint.builder().maxMessage(MOST_BYTES).listen(any()));
            default -> (kind.equals("sessions") ? rpc().datagrams() : rpc()).listen(any()).localAddress().getPort();
        };
        System.out.println(where);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            System.out.println(order.equals("heap") ? heap() : processorNanos());
        }
    }

    private static InetSocketAddress any() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    private static int listen(Server server) throws IOException {
        return server.start().getPort();
    }

    private static ServerServiceDefinition service() {
        return ServerServiceDefinition.builder("calls")
                .addMethod(ECHO, ServerCalls.asyncUnaryCall((request, to) -> {
                    to.onNext(request);
                    to.onCompleted();
                }))
                .addMethod(MANY, ServerCalls.asyncServerStreamingCall(Calls::many)).build();
    }

    private static void many(Found request, StreamObserver<Found> to) {
        ServerCallStreamObserver<Found> observer = (ServerCallStreamObserver<Found>) to;
        int[] sent = new int[1];
        observer.setOnReadyHandler(() -> {
            while (observer.isReady() && sent[0] < STREAMED) {
                observer.onNext(request);
                if (++sent[0] == STREAMED) {
                    observer.onCompleted();
                }
            }
        });
    }

    private static RpcServer.Builder rpc() {
        return RpcServer.builder().maxMessage(MOST_BYTES)
                .unary("echo", (request, call) -> Found.parseFrom(request).toByteArray())
                .streaming("many", call -> {
                    Found request = Found.parseFrom(call.receive());
                    for (int i = 0; i < STREAMED; i++) {
                        call.send(request.toByteArray());
                    }
                });
    }

    private static int listen(RdmaEndpointServer server) {
        Thread.ofVirtual().start(() -> {
            try {
                while (true) {
                    RdmaEndpoint endpoint = server.accept();
                    Thread.ofVirtual().start(() -> echo(endpoint));
                }
            } catch (IOException e) {
                e.printStackTrace();
            }
        });
        return server.localAddress().getPort();
    }

    /** Sends back what comes, a window of messages at a time. */
    private static void echo(RdmaEndpoint endpoint) {
        try (endpoint) {
            Window window = new Window(endpoint);
            while (true) {
                byte[] bytes;
                try (Message message = endpoint.receive()) {
                    bytes = message.toArray();
                }
                window.send(bytes);
            }
        } catch (IOException e) {
            return; // the client is gone
        }
    }

    /** Messages of an endpoint in slots of memory that are used in turn. */
    private static final class Window {
        private static final int SLOTS = 16;
        private static final int SLOT_BYTES = 4608;

        private final RdmaEndpoint endpoint;
        private final LocalRegion memory;
        private final ArrayDeque<Pending<Void>> pending = new ArrayDeque<>();
        private int next;

        Window(RdmaEndpoint endpoint) throws IOException {
            this.endpoint = endpoint;
            memory = endpoint.allocate(SLOTS * SLOT_BYTES);
        }

        void send(byte[] bytes) throws IOException {
            if (pending.size() == SLOTS) {
                pending.poll().await();
            }
            LocalRegion slot = memory.slice((long) next * SLOT_BYTES, bytes.length);
            next = (next + 1) % SLOTS;
            slot.segment().asByteBuffer().put(bytes);
            pending.add(endpoint.startSend(slot));
        }
    }

    private static long processorNanos() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static long heap() throws InterruptedException {
        for (int i = 0; i < 4; i++) {
            System.gc();
            Thread.sleep(50);
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    // The client's process.

    /** One client of the server. */
    private interface Caller extends AutoCloseable {
        void call(Found request) throws Exception;

        /** Receives a stream. */
        default void many(Found request) throws Exception {
            throw new UnsupportedOperationException();
        }

        @Override
        void close();
    }

    private record OverGrpc(ManagedChannel channel) implements Caller {
        @Override
        public void call(Found request) {
            ClientCalls.blockingUnaryCall(channel, ECHO, CallOptions.DEFAULT, request);
        }

        @Override
        public void many(Found request) {
            Iterator<Found> all = ClientCalls.blockingServerStreamingCall(channel, MANY, CallOptions.DEFAULT, request);
            while (all.hasNext()) {
                all.next();
            }
        }

        @Override
        public void close() {
            channel.shutdownNow();
        }
    }

    private record OverRpc(RpcClient client) implements Caller {
        @Override
        public void call(Found request) throws Exception {
            Found.parseFrom(client.call("echo", request.toByteArray()));
        }

        @Override
        public void many(Found request) throws Exception {
            try (RpcClientCall call = client.open("many", RpcOptions.DEFAULT)) {
                call.send(request.toByteArray());
                call.halfClose();
                for (byte[] one = call.receive(); one != null; one = call.receive()) {
                    Found.parseFrom(one);
                }
            }
        }

        @Override
        public void close() {
            client.close();
        }
    }

    private static final class OverEndpoint implements Caller {
        private final RdmaEndpoint endpoint;
        private final Window window;

        OverEndpoint(RdmaEndpoint endpoint) throws IOException {
            this.endpoint = endpoint;
            window = new Window(endpoint);
        }

        @Override
        public void call(Found request) throws Exception {
            window.send(request.toByteArray());
            receive();
        }

        void receive() throws IOException {
            try (Message message = endpoint.receive()) {
                Found.parseFrom(message.toArray());
            }
        }

        @Override
        public void close() {
            endpoint.close();
        }
    }

    /** Of all channels over a Unix socket, as Netty has one for those over TCP. */
    private static final class Loops {
        static final EpollEventLoopGroup ALL = new EpollEventLoopGroup();
    }

    private static Caller connect(String kind, SocketAddress at) throws IOException {
        if (at instanceof DomainSocketAddress) {
            return new OverGrpc(NettyChannelBuilder.forAddress(at).channelType(EpollDomainSocketChannel.class)
                    .eventLoopGroup(Loops.ALL).usePlaintext().maxInboundMessageSize(MOST_BYTES).build());
        }
        InetSocketAddress server = (InetSocketAddress) at;
        return switch (kind) {
            case "netty" -> new OverGrpc(NettyChannelBuilder.forAddress(server).usePlaintext()
                    .maxInboundMessageSize(MOST_BYTES).build());
            case "okhttp" -> new OverGrpc(OkHttpChannelBuilder.forAddress(server.getHostString(), server.getPort())
                    .usePlaintext().maxInboundMessageSize(MOST_BYTES).build());
            case "stubs" -> new OverGrpc(RdmaChannelBuilder.forAddress(server.getHostString(), server.getPort())
                    .maxInboundMessageSize(MOST_BYTES).build());
            case "endpoint" -> new OverEndpoint(RdmaEndpoint.builder().maxMessage(MOST_BYTES).connect(server));
            case "sessions" -> new OverRpc(RpcClient.builder().maxMessage(MOST_BYTES).datagrams().connect(server));
            default -> new OverRpc(RpcClient.builder().maxMessage(MOST_BYTES).connect(server));
        };
    }

    private static void dial(String kind) throws Exception {
        Process process = start("server", kind);
        try (BufferedReader answers = process.inputReader();
                PrintStream orders = new PrintStream(process.getOutputStream(), true)) {
            String where = answers.readLine();
            SocketAddress server = kind.equals("unix") ? new DomainSocketAddress(where)
                    : new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(where));
            Turn turn = new Turn(kind, server, orders, answers);
            turn.measureAll();
        } finally {
            process.destroy();
        }
    }

    /** Calls that begin at their times from a time on. */
    private record OpenLoop(List<Caller> callers, Found request, long begin,
            ConcurrentLinkedQueue<Throwable> failures) {
    }

    /** All that is measured of a kind. */
    private record Turn(String kind, SocketAddress server, PrintStream orders, BufferedReader answers) {
        private long ask(String order) throws IOException {
            orders.println(order);
            return Long.parseLong(answers.readLine());
        }

        private static void note(String what, double value) {
            System.out.println(what + "\t" + value);
        }

        void measureAll() throws Exception {
            if (!kind.equals("endpoint") && ONLY_UNDER_WAY.isEmpty()) {
                moderate();
            }
            for (int bytes : SIZES) {
                Found request = request(bytes);
                String size = bytes + " B, ";
                for (int underWay : UNDER_WAY) {
                    if (underWay > mostUnderWay(bytes)) {
                        continue;
                    }
                    if (!kind.equals("endpoint")) {
                        measure(size + "1 client, " + underWay + " under way: ", request, 1, underWay);
                    } else if (underWay < 1024) {
                        messages(size + "1 client, " + underWay + " under way: ", request, underWay);
                    }
                }
                if (!kind.equals("endpoint") && ONLY_UNDER_WAY.isEmpty() && bytes <= LONG_BYTES) {
                    measure(size + CLIENTS + " clients, 1 under way: ", request, CLIENTS, 1);
                    stream(size + "stream of answers: ", request);
                }
            }
            if (!kind.equals("endpoint") && (ONLY_UNDER_WAY.isEmpty() || Boolean.getBoolean("calls.beside"))) {
                beside();
            }
            if (!kind.equals("endpoint") && ONLY_UNDER_WAY.isEmpty()) {
                idle();
            }
        }

        /** In two processes that have just started: the first call, and then moderate load, at first and warm. */
        private void moderate() throws Exception {
            Found request = request(64);
            long start = System.nanoTime();
            List<Caller> callers = new ArrayList<>(List.of(connect(kind, server)));
            callers.getFirst().call(request);
            note("first connect and call, ms", (System.nanoTime() - start) / 1e6);
            while (callers.size() < CLIENTS) {
                callers.add(connect(kind, server));
            }
            ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
            String what = "64 B, %d clients, %,d calls/s open loop, ".formatted(CLIENTS, MODERATE);
            OpenLoop loop = new OpenLoop(callers, request, System.nanoTime(), failures);
            callAll(loop, 0, FIRST_SECONDS, what + "first " + FIRST_SECONDS + " s: ");
            callAll(loop, FIRST_SECONDS, MODERATE_SECONDS - 5, null);
            callAll(loop, MODERATE_SECONDS - 5, MODERATE_SECONDS, what + "warm: ");
            callers.forEach(Caller::close);
            if (!failures.isEmpty()) {
                throw new IOException(what, failures.peek());
            }
        }

        /** Begins calls at their times, from one second to another, and awaits them; null to note nothing. */
        private void callAll(OpenLoop loop, int fromSecond, int untilSecond, String what) throws Exception {
            Histogram times = new ConcurrentHistogram(3);
            times.setAutoResize(true);
            int calls = MODERATE * (untilSecond - fromSecond);
            CountDownLatch answered = new CountDownLatch(calls);
            long processor = processorNanos() + ask("processor");
            for (int call = MODERATE * fromSecond; call < MODERATE * untilSecond; call++) {
                long at = loop.begin + call * 1_000_000_000L / MODERATE;
                for (long left = at - System.nanoTime(); left > 0; left = at - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                Caller caller = loop.callers.get(call % CLIENTS);
                Thread.ofVirtual().start(() -> {
                    try {
                        caller.call(loop.request);
                        times.recordValue(System.nanoTime() - at);
                    } catch (Exception e) {
                        loop.failures.add(e);
                    } finally {
                        answered.countDown();
                    }
                });
            }
            answered.await();
            processor = processorNanos() + ask("processor") - processor;
            if (what != null) {
                note(what + "p50, us", times.getValueAtPercentile(50) / 1000.0);
                note(what + "p99, us", times.getValueAtPercentile(99) / 1000.0);
                note(what + "CPU us/call", processor / 1000.0 / calls);
            }
        }

        private int mostUnderWay(int bytes) {
            if (bytes <= LONG_BYTES) {
                return Integer.MAX_VALUE;
            }
            return kind.equals("endpoint") ? 0 : bytes < VERY_LONG_BYTES ? 4 : 1; // its slots are for short ones
        }

        private static Found request(int bytes) {
            return Found.newBuilder().setValue(ByteString.copyFrom(new byte[bytes])).build();
        }

        /** Calls one after the other until a time, and gives the nanoseconds of each that begins after another. */
        private static void callUntil(long end, long begin, Caller caller, Found request, LongConsumer each)
                throws Exception {
            long before = System.nanoTime();
            while (before - end < 0) {
                caller.call(request);
                long now = System.nanoTime();
                if (before - begin >= 0 && now - end < 0) {
                    each.accept(now - before);
                }
                before = now;
            }
        }

        /** Short calls, one under way, beside long ones of the same client. */
        private void beside() throws Exception {
            String what = "64 B beside " + BESIDE_UNDER_WAY + " x " + (BESIDE_BYTES >> 20) + " MiB: ";
            Found small = request(64);
            Found large = request(BESIDE_BYTES);
            ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
            Histogram times = new ConcurrentHistogram(3);
            times.setAutoResize(true);
            AtomicLong largeCalls = new AtomicLong();
            long begin = System.nanoTime() + WARM_UP_NANOS;
            long end = begin + MEASURED_NANOS;
            try (Caller caller = connect(kind, server)) {
                CountDownLatch done = new CountDownLatch(1 + BESIDE_UNDER_WAY);
                for (int i = 0; i <= BESIDE_UNDER_WAY; i++) {
                    boolean isLarge = i > 0;
                    Thread.ofVirtual().start(() -> {
                        try {
                            if (isLarge) {
                                callUntil(end, begin, caller, large, nanos -> largeCalls.incrementAndGet());
                            } else {
                                callUntil(end, begin, caller, small, times::recordValue);
                            }
                        } catch (Exception e) {
                            failures.add(e);
                        } finally {
                            done.countDown();
                        }
                    });
                }
                done.await();
            }
            if (!failures.isEmpty()) {
                throw new IOException(what, failures.peek());
            }
            note(what + "p50, us", times.getValueAtPercentile(50) / 1000.0);
            note(what + "p99, us", times.getValueAtPercentile(99) / 1000.0);
            note(what + "long calls/s", largeCalls.get() * 1e9 / MEASURED_NANOS);
        }

        private void measure(String what, Found request, int clients, int underWay) throws Exception {
            List<Caller> callers = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                callers.add(connect(kind, server));
            }
            ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
            Histogram times = new ConcurrentHistogram(3);
            times.setAutoResize(true);
            long begin = System.nanoTime() + WARM_UP_NANOS;
            long end = begin + MEASURED_NANOS;
            CountDownLatch done = new CountDownLatch(clients * underWay);
            for (int i = 0; i < clients * underWay; i++) {
                Caller caller = callers.get(i % clients);
                Thread.ofVirtual().start(() -> {
                    try {
                        callUntil(end, begin, caller, request, times::recordValue);
                    } catch (Exception e) {
                        failures.add(e);
                    } finally {
                        done.countDown();
                    }
                });
            }
            TimeUnit.NANOSECONDS.sleep(begin - System.nanoTime());
            long processor = processorNanos() + ask("processor");
            TimeUnit.NANOSECONDS.sleep(end - System.nanoTime());
            processor = processorNanos() + ask("processor") - processor;
            done.await();
            for (Caller caller : callers) {
                caller.close();
            }
            if (!failures.isEmpty()) {
                throw new IOException(what, failures.peek());
            }
            note(what, times.getTotalCount(), processor, times.getValueAtPercentile(50) / 1000.0);
        }

        private static void note(String what, long calls, long processorNanos, double p50) {
            note(what + "p50, us", p50);
            note(what + "calls/s", calls * 1e9 / MEASURED_NANOS);
            note(what + "CPU us/call", processorNanos / 1000.0 / calls);
        }

        /** Bare messages: one thread, which has so many on their way. */
        private void messages(String what, Found request, int underWay) throws Exception {
            Thread thread = Thread.ofVirtual().start(() -> {
                try (OverEndpoint caller = (OverEndpoint) connect(kind, server)) {
                    for (int i = 1; i < underWay; i++) {
                        caller.window.send(request.toByteArray());
                    }
                    long begin = System.nanoTime() + WARM_UP_NANOS;
                    Histogram times = new Histogram(3);
                    long before = System.nanoTime();
                    while (before - begin < 0) {
                        caller.call(request);
                        before = System.nanoTime();
                    }
                    long processor = processorNanos() + ask("processor");
                    before = System.nanoTime();
                    long end = before + MEASURED_NANOS;
                    while (before - end < 0) {
                        caller.call(request);
                        long now = System.nanoTime();
                        times.recordValue(now - before);
                        before = now;
                    }
                    processor = processorNanos() + ask("processor") - processor;
                    note(what, times.getTotalCount(), processor, times.getValueAtPercentile(50) / 1000.0);
                } catch (Exception e) {
                    e.printStackTrace();
                }
            });
            thread.join();
        }

        private void stream(String what, Found request) throws Exception {
            AtomicLong nanos = new AtomicLong();
            Thread.ofVirtual().start(() -> {
                try (Caller caller = connect(kind, server)) {
                    for (int i = 0; i < 4; i++) {
                        long begin = System.nanoTime();
                        caller.many(request);
                        nanos.set(System.nanoTime() - begin);
                    }
                } catch (Exception e) {
                    e.printStackTrace();
                }
            }).join();
            note(what + "messages/s", STREAMED * 1e9 / nanos.get());
        }

        /** The memory that a server keeps for a client that is connected and has made a call. */
        private void idle() throws Exception {
            Found request = request(64);
            long before = ask("heap");
            List<Caller> callers = new ArrayList<>();
            for (int i = 0; i < IDLE_CLIENTS; i++) {
                Caller caller = connect(kind, server);
                callers.add(caller);
                caller.call(request);
            }
            note("heap of the server for each of " + IDLE_CLIENTS + " clients, B",
                    (ask("heap") - before) / (double) IDLE_CLIENTS);
            for (Caller caller : callers) {
                caller.close();
            }
        }
    }
}
