package org.rdmasockets.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.provider.Providers;
import org.rdmasockets.provider.sharedmemory.ChildJvm;

/** A server in a JVM of its own that is killed, and started anew on its port, while a client calls. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class CallsBetweenProcessesTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int CALLS = 10_000;
    private static final int THREADS = 8;
    private static final int PER_THREAD = CALLS / THREADS;
    private static final Duration LONG = Duration.ofSeconds(100);

    @TempDir
    private Path folder;
    private Path store;
    private InetSocketAddress address;
    private final List<Process> servers = new ArrayList<>();

    /** Serves until it is killed. */
    public static final class Server {
        private Server() {
        }

        /** Arguments: the transport, the port, the file of the store, whether calls are held for ever once stored. */
        public static void main(String[] arguments) throws Exception {
            FileOutputStream store = new FileOutputStream(arguments[2], true);
            boolean holds = Boolean.parseBoolean(arguments[3]);
            RpcServer.Builder builder = RpcServer.builder().unary("put", (request, call) -> {
                store.write(request); // one call of the system, which appends it whole whoever is killed
                if (holds) {
                    Thread.sleep(Duration.ofHours(1));
                }
                return request;
            });
            switch (arguments[0]) {
                case "udp" -> builder.datagrams(DatagramSocket::new);
                case "datagrams" -> builder.datagrams();
                default -> { }
            }
            InetSocketAddress local = new InetSocketAddress(LOOPBACK, Integer.parseInt(arguments[1]));
            Await.until("the port is free", () -> listens(builder, local));
            System.out.println("listens");
            System.in.read(); // the end of who has started this
            System.exit(0);
        }

        private static boolean listens(RpcServer.Builder builder, InetSocketAddress local) {
            try {
                builder.listen(local);
                return true;
            } catch (IOException e) {
                return false;
            }
        }
    }

    @BeforeEach
    void findPort() throws IOException {
        store = folder.resolve("store");
        address = new InetSocketAddress(LOOPBACK, FreePorts.next(LOOPBACK));
    }

    @AfterEach
    void killServers() {
        servers.forEach(Process::destroyForcibly);
    }

    private Process start(String transport, boolean holds) throws IOException {
        if (!transport.equals("udp")) {
            Optional<String> reason = Providers.sharedMemory().unavailability();
            reason.ifPresent(r -> System.out.println("CallsBetweenProcessesTest skips: " + r));
            Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
        }
        Process process = ChildJvm.start(List.of(), List.of("--enable-native-access=ALL-UNNAMED"), Server.class,
                transport, Integer.toString(address.getPort()), store.toString(), Boolean.toString(holds));
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

    private RpcClient connect(String transport) throws IOException {
        RpcClient client = (switch (transport) {
            case "udp" -> RpcClient.builder().datagrams(DatagramSocket::new);
            case "datagrams" -> RpcClient.builder().datagrams();
            default -> RpcClient.builder();
        }).connect(address);
        assertEquals(transport.equals("udp") ? "udp" : "sharedmemory", client.transport());
        return client;
    }

    private static byte[] bytes(int value) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
    }

    private static RpcOptions options(boolean idempotent) {
        return RpcOptions.DEFAULT.idempotent(idempotent).timeout(LONG);
    }

    private int stored() throws IOException {
        return Files.exists(store) ? (int) Files.size(store) / Integer.BYTES : 0;
    }

    /** How often each call ran. */
    private int[] runs() throws IOException {
        int[] runs = new int[CALLS];
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(store));
        assertEquals(0, all.remaining() % Integer.BYTES, "a call is stored in part");
        while (all.hasRemaining()) {
            runs[all.getInt()]++;
        }
        return runs;
    }

    /** Makes calls one after the other: those that ended without an answer. */
    private static List<Integer> callAll(RpcClient client, int first, boolean idempotent) throws RpcException {
        List<Integer> failed = new ArrayList<>();
        for (int i = first; i < first + PER_THREAD; i++) {
            try {
                assertEquals(i, ByteBuffer.wrap(client.call("put", bytes(i), options(idempotent))).getInt());
            } catch (RpcException e) {
                if (idempotent || e.status() != RpcStatus.UNAVAILABLE) {
                    throw e;
                }
                failed.add(i);
            }
        }
        return failed;
    }

    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp", "datagrams"})
    void aServerKilledAmongTenThousandCallsLosesNoIdempotentOneAndRunsNoOtherTwice(String transport) throws Exception {
        Process first = start(transport, false);
        List<Integer> failed = new ArrayList<>();
        try (RpcClient client = connect(transport); ExecutorService callers = Executors.newCachedThreadPool()) {
            List<Future<List<Integer>>> threads = new ArrayList<>();
            for (int t = 0; t < THREADS; t++) {
                int start = t * PER_THREAD;
                boolean idempotent = t % 2 == 0;
                threads.add(callers.submit(() -> callAll(client, start, idempotent)));
            }
            Await.until("a third is stored", () -> stored() > CALLS / 3);
            first.destroyForcibly().waitFor();
            assertTrue(stored() < CALLS, "all calls were over before the server was killed");
            start(transport, false);
            for (Future<List<Integer>> thread : threads) {
                failed.addAll(thread.get(200, TimeUnit.SECONDS));
            }
            assertEquals(transport.equals("udp") ? "udp" : "sharedmemory", client.transport());
        }
        assertTrue(failed.size() <= THREADS / 2, () -> "more failed than were under way: " + failed);
        int[] runs = runs();
        for (int i = 0; i < CALLS; i++) {
            boolean idempotent = i / PER_THREAD % 2 == 0;
            boolean right = idempotent ? runs[i] >= 1 : failed.contains(i) ? runs[i] <= 1 : runs[i] == 1;
            assertTrue(right, "call " + i + (idempotent ? ", idempotent," : failed.contains(i) ? ", that failed," : "")
                    + " ran " + runs[i] + " times");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp", "datagrams"})
    void aCallThatRanWhenItsServerWasKilledRunsAgainOnlyIfIdempotent(String transport) throws Exception {
        Process first = start(transport, true);
        try (RpcClient client = connect(transport); ExecutorService callers = Executors.newCachedThreadPool()) {
            Future<byte[]> again = callers.submit(() -> client.call("put", bytes(1), options(true)));
            Future<RpcException> once = callers.submit(() -> assertThrows(RpcException.class,
                    () -> client.call("put", bytes(2), options(false))));
            Await.until("both calls run", () -> stored() == 2);
            first.destroyForcibly().waitFor();
            start(transport, false);
            assertEquals(1, ByteBuffer.wrap(again.get(200, TimeUnit.SECONDS)).getInt());
            assertEquals(RpcStatus.UNAVAILABLE, once.get(200, TimeUnit.SECONDS).status());
            assertTrue(once.get().getMessage().contains("started anew"), once.get().getMessage());
        }
        assertEquals(2, runs()[1], "runs of the idempotent call");
        assertEquals(1, runs()[2], "runs of the other call");
    }
}
