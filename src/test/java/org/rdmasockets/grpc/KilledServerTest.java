package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.examples.Change;
import org.rdmasockets.examples.Changed;
import org.rdmasockets.examples.Entry;
import org.rdmasockets.examples.Found;
import org.rdmasockets.examples.StoreGrpc;
import org.rdmasockets.provider.Providers;
import org.rdmasockets.provider.sharedmemory.ChildJvm;

/** A server in a JVM of its own that is killed, and started anew on its port, while stubs of a client call it. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class KilledServerTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int CALLS = 10_000;
    private static final int THREADS = 8;
    private static final int PER_THREAD = CALLS / THREADS;
    private static final int LONG_SECONDS = 100;
    /** Calls of each thread at once, where it does not wait for each. */
    private static final int UNDER_WAY = 16;

    @TempDir
    private Path folder;
    private Path file;
    private InetSocketAddress address;
    private final List<Process> servers = new ArrayList<>();

    /** Serves until it is killed. */
    public static final class Child {
        private Child() {
        }

        /** Arguments: transport, port and file. */
        public static void main(String[] arguments) throws Exception {
            FileOutputStream file = new FileOutputStream(arguments[2], true);
            RdmaServerBuilder builder = RdmaServerBuilder.forAddress(new InetSocketAddress(LOOPBACK,
                    Integer.parseInt(arguments[1]))).addService(new Stored(file));
            if (arguments[0].equals("udp")) {
                builder.datagrams(DatagramSocket::new);
            } else if (arguments[0].equals("datagrams")) {
                builder.datagrams();
            }
            Await.until("the port is free", () -> listens(builder.build()));
            System.out.println("listens");
            System.in.read(); // the end of who has started this
            System.exit(0);
        }

        private static boolean listens(Server server) {
            try {
                server.start();
                return true;
            } catch (IOException e) {
                return false;
            }
        }
    }

    /** Put is idempotent, compareAndSet is not; each run is stored before it is answered. */
    private static final class Stored extends StoreGrpc.StoreImplBase {
        private final FileOutputStream file;

        Stored(FileOutputStream file) {
            this.file = file;
        }

        private void store(String key) {
            try {
                file.write(bytes(Integer.parseInt(key))); // one call of the system, whole whoever is killed
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void put(Entry request, StreamObserver<Found> answers) {
            store(request.getKey());
            answers.onNext(Found.newBuilder().setValue(request.getValue()).build());
            answers.onCompleted();
        }

        @Override
        public void compareAndSet(Change request, StreamObserver<Changed> answers) {
            store(request.getKey());
            answers.onNext(Changed.newBuilder().setDone(true).setFound(request.getValue()).build());
            answers.onCompleted();
        }
    }

    private static byte[] bytes(int value) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
    }

    @BeforeEach
    void findPort() throws IOException {
        file = folder.resolve("store");
        address = new InetSocketAddress(LOOPBACK, FreePorts.next(LOOPBACK));
    }

    @AfterEach
    void killServers() {
        servers.forEach(Process::destroyForcibly);
    }

    private Process start(String transport) throws IOException {
        if (!transport.equals("udp")) {
            Optional<String> reason = Providers.sharedMemory().unavailability();
            reason.ifPresent(r -> System.out.println("KilledServerTest skips: " + r));
            Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
        }
        Process process = ChildJvm.start(List.of(), List.of("--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow"), Child.class,
                transport, Integer.toString(address.getPort()), file.toString());
        servers.add(process);
        BufferedReader output = process.inputReader();
        StringBuilder said = new StringBuilder();
        String line = output.readLine();
        while (line != null && !line.equals("listens")) {
            said.append(line).append('\n');
            line = output.readLine();
        }
        assertEquals("listens", line, said::toString);
        Thread.ofPlatform().daemon().start(() -> output.lines().forEach(System.out::println));
        return process;
    }

    private ManagedChannel channel(String transport) {
        RdmaChannelBuilder builder = RdmaChannelBuilder.forAddress(LOOPBACK.getHostAddress(), address.getPort());
        return (switch (transport) {
            case "udp" -> builder.datagrams(DatagramSocket::new);
            case "datagrams" -> builder.datagrams();
            default -> builder;
        }).build();
    }

    private int stored() throws IOException {
        return Files.exists(file) ? (int) Files.size(file) / Integer.BYTES : 0;
    }

    private int[] runs() throws IOException {
        int[] runs = new int[CALLS];
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(file));
        assertEquals(0, all.remaining() % Integer.BYTES, "a call is stored in part");
        while (all.hasRemaining()) {
            runs[all.getInt()]++;
        }
        return runs;
    }

    /** Where a thread's answers are awaited: at each call, or by observers, some at once. */
    private interface Caller {
        /** Makes all calls of a thread: those that ended as unavailable. */
        Set<Integer> callAll(int first, boolean idempotent) throws Exception;
    }

    private static Set<Integer> block(ManagedChannel channel, int first, boolean idempotent) {
        StoreGrpc.StoreBlockingStub stub = StoreGrpc.newBlockingStub(channel);
        Set<Integer> failed = new HashSet<>();
        for (int i = first; i < first + PER_THREAD; i++) {
            try {
                ByteString value = ByteString.copyFrom(bytes(i));
                StoreGrpc.StoreBlockingStub now = stub.withDeadlineAfter(LONG_SECONDS, TimeUnit.SECONDS);
                assertEquals(value, idempotent ? now.put(entry(i, value)).getValue()
                        : now.compareAndSet(change(i, value)).getFound());
            } catch (StatusRuntimeException e) {
                note(e, i, idempotent, failed);
            }
        }
        return failed;
    }

    private static void note(StatusRuntimeException e, int call, boolean idempotent, Set<Integer> failed) {
        if (idempotent || e.getStatus().getCode() != Status.Code.UNAVAILABLE) {
            throw e;
        }
        failed.add(call);
    }

    private static Entry entry(int call, ByteString value) {
        return Entry.newBuilder().setKey(Integer.toString(call)).setValue(value).build();
    }

    private static Change change(int call, ByteString value) {
        return Change.newBuilder().setKey(Integer.toString(call)).setValue(value).build();
    }

    /** Ends a call. */
    private static final class Ending<A> implements StreamObserver<A> {
        private final int call;
        private final Semaphore room;
        private final ConcurrentLinkedQueue<Future<Integer>> ends;

        Ending(int call, Semaphore room, ConcurrentLinkedQueue<Future<Integer>> ends) {
            this.call = call;
            this.room = room;
            this.ends = ends;
        }

        @Override
        public void onNext(A value) {
            ByteString come = value instanceof Found found ? found.getValue() : ((Changed) value).getFound();
            assertEquals(ByteString.copyFrom(bytes(call)), come);
        }

        @Override
        public void onError(Throwable failure) {
            ends.add(CompletableFuture.failedFuture(failure));
            room.release();
        }

        @Override
        public void onCompleted() {
            ends.add(CompletableFuture.completedFuture(call));
            room.release();
        }
    }

    private static Set<Integer> observe(ManagedChannel channel, int first, boolean idempotent) throws Exception {
        Semaphore room = new Semaphore(UNDER_WAY);
        List<ConcurrentLinkedQueue<Future<Integer>>> ends = new ArrayList<>();
        for (int i = first; i < first + PER_THREAD; i++) {
            ByteString value = ByteString.copyFrom(bytes(i));
            assertTrue(room.tryAcquire(2 * LONG_SECONDS, TimeUnit.SECONDS), "no call of " + UNDER_WAY + " ends");
            StoreGrpc.StoreStub stub = StoreGrpc.newStub(channel).withWaitForReady().withDeadlineAfter(LONG_SECONDS,
                    TimeUnit.SECONDS);
            ConcurrentLinkedQueue<Future<Integer>> own = new ConcurrentLinkedQueue<>();
            ends.add(own);
            if (idempotent) {
                stub.put(entry(i, value), new Ending<>(i, room, own));
            } else {
                stub.compareAndSet(change(i, value), new Ending<>(i, room, own));
            }
        }
        assertTrue(room.tryAcquire(UNDER_WAY, 2 * LONG_SECONDS, TimeUnit.SECONDS), "not all calls end");
        Set<Integer> failed = new HashSet<>();
        for (int i = 0; i < PER_THREAD; i++) {
            assertEquals(1, ends.get(i).size(), "ends of call " + (first + i));
            try {
                ends.get(i).peek().get();
            } catch (ExecutionException e) {
                note((StatusRuntimeException) e.getCause(), first + i, idempotent, failed);
            }
        }
        return failed;
    }

    @ParameterizedTest
    @CsvSource({"sharedmemory, false", "udp, false", "datagrams, false", "sharedmemory, true", "udp, true"})
    void everyIdempotentCallIsAnsweredAndNoOtherRunsTwice(String transport, boolean observed) throws Exception {
        Process first = start(transport);
        ManagedChannel channel = channel(transport);
        Caller caller = observed ? (from, idempotent) -> observe(channel, from, idempotent)
                : (from, idempotent) -> block(channel, from, idempotent);
        Set<Integer> failed = new HashSet<>();
        try (ExecutorService callers = Executors.newCachedThreadPool()) {
            List<Future<Set<Integer>>> threads = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                int from = t * PER_THREAD;
                boolean idempotent = t % 2 == 0;
                threads.add(callers.submit(() -> caller.callAll(from, idempotent)));
            }
            Await.until("a third is stored", () -> stored() > CALLS / 3);
            first.destroyForcibly().waitFor();
            assertTrue(stored() < CALLS, "all calls were over before the server was killed");
            start(transport);
            for (Future<Set<Integer>> thread : threads) {
                failed.addAll(thread.get(2 * LONG_SECONDS, TimeUnit.SECONDS));
            }
        } finally {
            channel.shutdownNow().awaitTermination(LONG_SECONDS, TimeUnit.SECONDS);
        }
        if (observed) { // and waits for the server
            assertTrue(failed.size() <= THREADS / 2 * UNDER_WAY, () -> "more failed than were under way: " + failed);
        }
        System.out.println(failed.size() + " of " + CALLS + " calls, none of them idempotent, were unavailable over "
                + transport);
        int[] runs = runs();
        for (int i = 0; i < CALLS; i++) {
            boolean idempotent = i / PER_THREAD % 2 == 0;
            boolean right = idempotent ? runs[i] >= 1 : failed.contains(i) ? runs[i] <= 1 : runs[i] == 1;
            assertTrue(right, "call " + i + (idempotent ? ", idempotent," : failed.contains(i) ? ", that failed," : "")
                    + " ran " + runs[i] + " times");
        }
    }
}
