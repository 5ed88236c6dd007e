package org.rdmasockets.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Assumptions;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** A server of calls in a JVM of its own, which can be killed and started anew on its port; it stores what ran. */
public final class KillableServer implements AutoCloseable {
    /** The calls of a trial, by some threads, which make idempotent ones and others in turn. */
    public static final int CALLS = 10_000;
    /** Those threads. */
    public static final int THREADS = 8;
    /** The calls of each. */
    public static final int PER_THREAD = CALLS / THREADS;
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final String READY = "listens";

    private final Class<?> main;
    private final Path store;
    private final InetSocketAddress address = at(FreePorts.next(LOOPBACK));
    private final List<Process> processes = new ArrayList<>();
    private final CountDownLatch killed = new CountDownLatch(1);

    /**
     * Starts nothing yet.
     *
     * @param main the main class of the JVM; its arguments are the transport, the port, the store's file, perhaps more
     * @param store the file
     * @throws IOException if no port is free
     */
    public KillableServer(Class<?> main, Path store) throws IOException {
        this.main = main;
        this.store = store;
    }

    /** {@return such a server's address, for the process itself} */
    public static InetSocketAddress at(int port) {
        return new InetSocketAddress(LOOPBACK, port);
    }

    /** {@return where it listens, whenever it runs} */
    public InetSocketAddress address() {
        return address;
    }

    /** The process itself: says that it listens, once it does, and ends with the one who has started it. */
    public static void serve(Callable<?> listen) throws Exception {
        Await.until("the port is free", () -> listens(listen));
        System.out.println(READY);
        System.in.read(); // the end of who has started this
        System.exit(0);
    }

    private static boolean listens(Callable<?> listen) throws Exception {
        try {
            listen.call();
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Starts it, perhaps anew; skips the test where the transport is not to be had. */
    public Process start(String transport, String... further) throws IOException {
        if (!transport.equals("udp")) {
            Optional<String> reason = Providers.sharedMemory().unavailability();
            reason.ifPresent(r -> System.out.println(main.getName() + " skips: " + r));
            Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
        }
        List<String> arguments = new ArrayList<>(List.of(transport, Integer.toString(address.getPort()),
                store.toString()));
        arguments.addAll(List.of(further));
        Process process = ChildJvm.start(List.of(), List.of("--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow"), main, arguments.toArray(String[]::new));
        processes.add(process);
        BufferedReader output = process.inputReader();
        StringBuilder said = new StringBuilder();
        String line = output.readLine();
        while (line != null && !line.equals(READY)) {
            said.append(line).append('\n');
            line = output.readLine();
        }
        assertEquals(READY, line, said::toString);
        Thread.ofPlatform().daemon().start(() -> output.lines().forEach(System.out::println));
        return process;
    }

    /** {@return the number of a call, as it is stored: whole even after a kill, by one call of the system} */
    public static byte[] bytes(int call) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(call).array();
    }

    /** {@return how many runs are stored} */
    public int stored() throws IOException {
        return Files.exists(store) ? (int) Files.size(store) / Integer.BYTES : 0;
    }

    /** {@return how often each call ran} */
    public int[] runs() throws IOException {
        int[] runs = new int[CALLS];
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(store));
        assertEquals(0, all.remaining() % Integer.BYTES, "a call is stored in part");
        while (all.hasRemaining()) {
            runs[all.getInt()]++;
        }
        return runs;
    }

    /** Waits until it was killed, if the call is of the last third of its thread's: some have to be left then. */
    public void awaitTurn(int call) throws InterruptedException {
        if (call % PER_THREAD > 2 * PER_THREAD / 3) {
            killed.await();
        }
    }

    /** Waits until calls run, kills it among them, and starts it anew. */
    public void killAmongCalls(Process first, String transport, String... further) throws Exception {
        try {
            Await.until("a third is stored", () -> stored() > CALLS / 3);
            first.destroyForcibly().waitFor();
            assertTrue(stored() < CALLS, "all calls were over before the server was killed");
        } finally {
            killed.countDown();
        }
        start(transport, further);
    }

    /** Whether a thread's calls are idempotent. */
    public static boolean isIdempotent(int thread) {
        return thread % 2 == 0;
    }

    /** Idempotent calls ran, others once, but those that failed perhaps not at all. */
    public void checkRuns(Collection<Integer> failed) throws IOException {
        int[] runs = runs();
        for (int i = 0; i < CALLS; i++) {
            boolean idempotent = isIdempotent(i / PER_THREAD);
            boolean right = idempotent ? runs[i] >= 1 : failed.contains(i) ? runs[i] <= 1 : runs[i] == 1;
            assertTrue(right, "call " + i + (idempotent ? ", idempotent," : failed.contains(i) ? ", that failed," : "")
                    + " ran " + runs[i] + " times");
        }
    }

    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
    }
}
