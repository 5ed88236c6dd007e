package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.TransportCounters;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.TestBed;

/**
 * An honest process that outlives what happens to the others: it echoes, and whatever this process sends is compared
 * with what comes back, without a pause, over connections that stay open.
 */
final class Companion implements AutoCloseable {
    private static final int CONNECTIONS = 2;
    private static final int MAX_BYTES = 20_000;
    /** The library's line at the first rescue of a process. */
    private static final String RESCUED = "a timer found what a wake-up should have told";

    private final Program program;
    private final int port;
    private final Socket[] sockets = new Socket[CONNECTIONS];
    private final Attempt[] loops = new Attempt[CONNECTIONS];
    private final AtomicLong exchanges = new AtomicLong();
    private volatile boolean closing;

    /** One that listens over shared memory, or with {@code auto} on every transport and address. */
    Companion(String... arguments) throws IOException, InterruptedException {
        this(List.of(), arguments);
    }

    /**
     * Likewise, with options of its JVM.
     */
    Companion(List<String> options, String... arguments) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of("-XX:TieredStopAtLevel=1"));
        all.addAll(options);
        program = Program.java(all, Companion.class.getName(), arguments);
        port = Integer.parseInt(program.awaitLine("listening"));
        for (int i = 0; i < CONNECTIONS; i++) {
            Socket socket = Neighbours.connect(port);
            Random random = new Random(i);
            sockets[i] = socket;
            loops[i] = Attempt.start("exchange " + i, () -> exchangeAll(socket, random));
        }
    }

    /**
     * Echoes until it is killed.
     */
    static void main(String[] arguments) throws IOException {
        try (ServerSocket server = arguments.length == 0 ? Neighbours.listen() : new RdmaServerSocket(0)) {
            System.out.println("listening " + server.getLocalPort());
            while (true) {
                Socket socket = server.accept();
                Thread.ofVirtual().start(() -> echo(socket));
            }
        }
    }

    private static void echo(Socket socket) {
        try (socket) {
            socket.getInputStream().transferTo(socket.getOutputStream());
        } catch (IOException e) {
            System.out.println("an echo ends: " + e);
        }
    }

    private int exchangeAll(Socket socket, Random random) throws IOException {
        while (!closing) {
            exchange(socket, random);
            exchanges.incrementAndGet();
        }
        return 0;
    }

    private static void exchange(Socket socket, Random random) throws IOException {
        byte[] sent = new byte[1 + random.nextInt(MAX_BYTES)];
        random.nextBytes(sent);
        socket.getOutputStream().write(sent);
        byte[] received = socket.getInputStream().readNBytes(sent.length);
        int mismatch = Arrays.mismatch(sent, received);
        if (mismatch >= 0) {
            throw new IOException("echo of " + sent.length + " bytes differs at " + mismatch);
        }
    }

    /** All exchanges go on, and a new connection is served as well. */
    void assertServes() throws Exception {
        long enough = exchanges.get() + 10L * CONNECTIONS;
        Await.until("exchanges with the companion", () -> {
            assertHealthy();
            return exchanges.get() >= enough;
        });
        try (Socket socket = Neighbours.connect(port)) {
            socket.setSoTimeout(TestBed.PATIENCE_MILLIS);
            exchange(socket, new Random(enough));
        }
    }

    private void assertHealthy() throws InterruptedException {
        for (Attempt loop : loops) {
            assertFalse(loop.isOver(), () -> "an exchange with the companion ended: " + loop + "; " + program);
        }
    }

    /** The port that it serves. */
    int port() {
        return port;
    }

    /** The number of its process. */
    long pid() {
        return program.pid();
    }

    /** How many lines it has printed or logged. */
    long lines() {
        return program.output().lines().count();
    }

    /** How often something was sent and came back as it was. */
    long exchanges() {
        return exchanges.get();
    }

    /** Ends the exchanges, none of which may have failed, and the process. */
    @Override
    public void close() throws IOException {
        closing = true;
        try (program) {
            for (Attempt loop : loops) {
                Attempt.Outcome outcome = loop.await(TestBed.PATIENCE_MILLIS);
                if (outcome.failure() != null) {
                    throw new IOException("an exchange with the companion failed", outcome.failure());
                }
            }
            assertEquals(List.of(), program.output().lines().filter(line -> line.contains(RESCUED)).toList());
            assertEquals(0, TransportCounters.rescues(), "wake-ups that timers have rescued");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted before the exchanges had ended", e);
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }
}
