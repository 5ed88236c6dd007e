package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** A process runs out of heap, or of descriptors, for a while: then it serves as before. */
@Timeout(240)
class ExhaustionTest {
    private static final List<String> GRANTED = List.of("--enable-native-access=ALL-UNNAMED",
            "-Dorg.slf4j.simpleLogger.log.org.rdmasockets.internal.sharedmemory.LinkDispatcher=debug");
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int BYSTANDERS = 5;
    private static final int PIECE = 4096;
    /** About twenty more than the process has open after its first connections: each jar of the class path is one. */
    private static final List<String> FEW_DESCRIPTORS = List.of("prlimit", "--nofile="
            + (30 + System.getProperty("java.class.path").split(File.pathSeparator).length));

    @Test
    void aProcessWhoseHeapWasExhaustedServesOldAndNewConnectionsOverEveryTransport() throws Exception {
        outlives(List.of(), "heap", (process, output, port) -> {
            order(process, "heap");
            // Those that come meanwhile may fail, each by itself.
            for (int i = 0; i < 30; i++) {
                tryToConnect(i % 2 == 0 ? Transport.SHARED_MEMORY : Transport.TCP, port);
            }
            awaitLine(output, "done heap");
        });
    }

    @Test
    void aProcessWhoseDescriptorsWereExhaustedWhileClassesWereStillToBeLoadedServesAsBefore() throws Exception {
        outlives(FEW_DESCRIPTORS, "descriptors", (process, output, port) -> {
            order(process, "descriptors");
            awaitLine(output, "done descriptors");
            for (int i = 0; i < 5; i++) {
                tryToConnect(i % 2 == 0 ? Transport.SHARED_MEMORY : Transport.TCP, port);
            }
            // Another process needs a descriptor there: it is refused, or has one that was just given back.
            String said = ChildJvm.run(List.of(), GRANTED, ExhaustedMain.class, "" + port);
            assertTrue(said.contains("failed: ") || said.contains("answered 1"), said);
            order(process, "free");
            awaitLine(output, "done free");
            String again = ChildJvm.run(List.of(), GRANTED, ExhaustedMain.class, "" + port);
            assertTrue(again.contains("answered 1"), again);
        });
    }

    /** The trial that a process must outlive. */
    private interface Trial {
        void run(Process process, BufferedReader output, int port) throws Exception;
    }

    private static void outlives(List<String> prefix, String what, Trial trial) throws Exception {
        Process process = ChildJvm.start(prefix, GRANTED, ExhaustedMain.class);
        List<Socket> old = new ArrayList<>();
        BufferedReader output = process.inputReader();
        try {
            int port = Integer.parseInt(awaitLine(output, "listening "));
            for (int i = 0; i < BYSTANDERS; i++) {
                old.add(connect(Transport.SHARED_MEMORY, port));
                old.add(connect(Transport.TCP, port));
            }
            exchange(old.getFirst(), 1);
            trial.run(process, output, port);
            for (Socket bystander : old) {
                exchange(bystander, 100_000);
            }
            for (Transport transport : List.of(Transport.SHARED_MEMORY, Transport.TCP, Transport.AUTO)) {
                try (Socket socket = connect(transport, port)) {
                    exchange(socket, 100_000);
                }
            }
            try (Socket plain = new Socket(LOOPBACK, port)) {
                plain.setSoTimeout(TestBed.PATIENCE_MILLIS);
                exchange(plain, 1000);
            }
        } catch (IOException | AssertionError e) {
            String threads = threadsOf(process);
            process.toHandle().destroyForcibly(); // its output can still be read
            throw new AssertionError(e + "; the process said: " + String.join("\n", output.readAllLines())
                    + "\n" + threads, e);
        } finally {
            process.destroyForcibly();
            for (Socket socket : old) {
                socket.close();
            }
        }
    }

    /** The stacks of its threads. */
    private static String threadsOf(Process process) throws IOException {
        return new String(new ProcessBuilder(System.getProperty("java.home") + "/bin/jstack", "" + process.pid())
                .redirectErrorStream(true).start().getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static void order(Process process, String command) throws IOException {
        process.outputWriter().write(command + "\n");
        process.outputWriter().flush();
    }

    /** The rest of a line; what loggers say is left out. */
    private static String awaitLine(BufferedReader output, String start) throws IOException {
        List<String> others = new ArrayList<>();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.startsWith(start)) {
                return line.substring(start.length());
            }
            others.add(line);
        }
        throw new AssertionError("the process has ended before '" + start + "': " + others);
    }

    private static void tryToConnect(Transport transport, int port) {
        try (Socket socket = connect(transport, port, 200)) {
            socket.setSoTimeout(200);
            exchange(socket, 10);
        } catch (IOException | AssertionError e) {
            return; // allowed
        }
    }

    private static Socket connect(Transport transport, int port) throws IOException {
        return connect(transport, port, TestBed.PATIENCE_MILLIS);
    }

    private static Socket connect(Transport transport, int port, int timeoutMillis) throws IOException {
        RdmaSocket socket = new RdmaSocket();
        try {
            socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
            socket.connect(new java.net.InetSocketAddress(LOOPBACK, port), timeoutMillis);
            socket.setSoTimeout(TestBed.PATIENCE_MILLIS);
            return socket;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    private static void exchange(Socket socket, int bytes) throws IOException {
        byte[] sent = new byte[bytes];
        new Random(bytes).nextBytes(sent);
        int done = 0;
        try {
            for (; done < bytes; done += PIECE) {
                int count = Math.min(PIECE, bytes - done);
                socket.getOutputStream().write(sent, done, count);
                byte[] received = socket.getInputStream().readNBytes(count);
                assertEquals(count, received.length, "the connection ended");
                assertArrayEquals(Arrays.copyOfRange(sent, done, done + count), received);
            }
        } catch (IOException | AssertionError e) {
            throw new AssertionError(socket + " at byte " + done + " of " + bytes + ": " + e, e);
        }
    }
}
