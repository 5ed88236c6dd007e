package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.ProcessStarts;
import org.rdmasockets.internal.lock.Losses;
import org.rdmasockets.internal.lock.Rescues;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.interop.Program;

/** A recording tells which transport each connection has, why, and how it failed; without one nothing is used. */
@Timeout(120)
class FlightRecordingTest {
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();
    /** The part of an answer's time that counts: for the rest of it the server may have stood still. */
    private static final long LONGEST_ANSWER_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    @TempDir
    private Path folder;

    /** Records the counts in a process of its own, where nothing else is. */
    public static final class Counting {
        private Counting() {
        }

        /** Leaves the recording in a file. */
        public static void main(String[] arguments) throws Exception {
            Path file = Path.of(arguments[0]);
            try (Recording recording = new Recording();
                    RdmaServerSocket server = new RdmaServerSocket(0, 1, LOOPBACK)) {
                recording.enable("org.rdmasockets.TransportStatistics").withPeriod(Duration.ofMillis(20));
                recording.enable("org.rdmasockets.LossStatistics").withPeriod(Duration.ofMillis(20));
                recording.start();
                try (RdmaSocket client = new RdmaSocket(LOOPBACK, server.getLocalPort());
                        Socket accepted = server.accept()) {
                    client.getOutputStream().write(7);
                    assertEquals(7, accepted.getInputStream().read());
                    await(recording, file, "TransportStatistics", "received", 1);
                }
                Losses.datagram();
                Losses.packet();
                Rescues.count("a test");
                await(recording, file, "LossStatistics", "rescues", 1);
            }
        }

        private static void await(Recording recording, Path file, String event, String field, long value)
                throws Exception {
            Await.until(event + " with a " + field + " of " + value, () -> {
                recording.dump(file);
                return ours(file).stream().anyMatch(e -> e.getEventType().getName().endsWith(event)
                        && e.getLong(field) == value);
            });
        }
    }

    /** Connects without a recording. */
    public static final class Main {
        private Main() {
        }

        /** Exchanges a byte. */
        public static void main(String[] arguments) throws IOException {
            echo();
        }
    }

    private static int echo() throws IOException {
        try (RdmaServerSocket server = new RdmaServerSocket(0, 1, LOOPBACK);
                RdmaSocket client = new RdmaSocket(LOOPBACK, server.getLocalPort());
                Socket accepted = server.accept()) {
            client.getOutputStream().write(7);
            assertEquals(7, accepted.getInputStream().read());
            return server.getLocalPort();
        }
    }

    /** The events of this library in a recording. */
    private static List<RecordedEvent> ours(Path file) throws IOException {
        return RecordingFile.readAllEvents(file).stream()
                .filter(e -> e.getEventType().getName().startsWith("org.rdmasockets.")).toList();
    }

    private static List<RecordedEvent> named(List<RecordedEvent> all, String name) {
        return all.stream().filter(e -> e.getEventType().getName().equals(name)).toList();
    }

    private static RecordedEvent one(List<RecordedEvent> all, String name, int port, String transport) {
        List<RecordedEvent> found = all.stream()
                .filter(e -> e.getEventType().getName().equals("org.rdmasockets." + name)
                        && transport.equals(e.getString("transport"))
                        && (e.getString("remote") + e.getString("local") + ":").contains(":" + port)).toList();
        assertEquals(1, found.size(), () -> name + " over " + transport + " in " + all);
        return found.getFirst();
    }

    @Test
    void aRecordingTellsTransportsAndReasons() throws Exception {
        int shared;
        int tcp;
        int refused;
        try (Recording recording = new Recording()) {
            recording.start();
            shared = echo();
            try (ServerSocket server = new ServerSocket(0, 1, LOOPBACK);
                    RdmaSocket client = new RdmaSocket(LOOPBACK, server.getLocalPort())) {
                tcp = server.getLocalPort();
                assertEquals("tcp", client.getOption(RdmaSocketOptions.TRANSPORT).name());
            }
            refused = tcp;
            ProcessStarts.await();
            try (RdmaSocket client = new RdmaSocket()) {
                assertThrows(ConnectException.class, () -> client.connect(new InetSocketAddress(LOOPBACK, refused)));
            }
            recording.stop();
            recording.dump(folder.resolve("recording.jfr"));
        }
        List<RecordedEvent> all = ours(folder.resolve("recording.jfr"));
        RecordedEvent connect = one(all, "Connect", shared, "sharedmemory");
        assertEquals("it is the first choice", connect.getString("reason"));
        Duration steps = Stream.of("route", "resources", "answer", "start").map(connect::getDuration)
                .reduce(Duration.ZERO, Duration::plus);
        assertTrue(connect.getDuration("resources").isPositive() && connect.getDuration("answer").isPositive()
                && connect.getDuration().compareTo(steps) >= 0, connect::toString);
        assertTrue(named(all, "org.rdmasockets.MemoryRegistered").stream().anyMatch(e ->
                "sharedmemory".equals(e.getString("transport")) && e.getLong("bytes") > 0), all::toString);
        one(all, "Accept", shared, "sharedmemory");
        String reason = one(all, "Connect", tcp, "tcp").getString("reason");
        assertTrue(reason.contains("sharedmemory: Connection refused"), reason);
        assertTrue(named(all, "org.rdmasockets.TransportPassedOver").stream().anyMatch(e -> "sharedmemory".equals(
                e.getString("transport")) && e.getString("remote").endsWith(":" + tcp)
                && e.getDuration().isPositive()), all::toString);
        assertTrue(all.stream().anyMatch(e -> e.hasField("failure") && e.getString("failure") != null
                && e.getString("failure").contains("Connection refused")));
    }

    @Test
    void countsAndRescuesAreRecorded() throws Exception {
        Path file = folder.resolve("counts.jfr");
        String said = ChildJvm.run(List.of(), List.of("--enable-native-access=ALL-UNNAMED"), Counting.class,
                file.toString());
        List<RecordedEvent> all = ours(file);
        RecordedEvent counts = named(all, "org.rdmasockets.TransportStatistics").stream().filter(e ->
                "sharedmemory".equals(e.getString("transport")) && e.getLong("received") == 1).findFirst()
                .orElseThrow(() -> new AssertionError(said + all));
        assertEquals(1, counts.getLong("sent"));
        assertTrue(counts.getLong("open") <= 2 && counts.getLong("pollerWakeUps") > 0, counts::toString);
        RecordedEvent losses = named(all, "org.rdmasockets.LossStatistics").getLast();
        assertEquals(List.of(1L, 1L, 1L), List.of(losses.getLong("rescues"), losses.getLong("datagrams"),
                losses.getLong("packets")), said);
        assertEquals("a test", named(all, "org.rdmasockets.RescuedWakeUp").getFirst().getString("place"));
    }

    /** By the commands of docs/troubleshooting.md: the server's recording begins while it runs. */
    @Test
    void aRecordingOfTheHttpExampleExplainsASlowRequest() throws Exception {
        Path file = folder.resolve("server.jfr");
        int slowPort;
        int plainPort;
        try (Program server = Program.java("HttpServer", "0")) {
            int port = Integer.parseInt(server.awaitLine("http://localhost:").split("/")[0]);
            jcmd(server, "JFR.start", "name=rdma", "jdk.SocketRead#throttle=off");
            slowPort = askSlowly(port);
            plainPort = ask(new Socket(LOOPBACK, port), "GET / HTTP/1.1\r\n\r\n", "tcp");
            jcmd(server, "JFR.dump", "name=rdma", "filename=" + file);
        }
        List<RecordedEvent> all = RecordingFile.readAllEvents(file);
        RecordedEvent longest = named(all, "jdk.SocketRead").stream()
                .max(Comparator.comparing(RecordedEvent::getDuration)).orElseThrow();
        assertEquals(slowPort, longest.getInt("port"), "the read that waited for the slow client is the longest");
        one(named(all, "org.rdmasockets.Accept"), "Accept", slowPort, "sharedmemory");
        one(named(all, "org.rdmasockets.Accept"), "Accept", plainPort, "tcp");
    }

    /** Half a request, others until the server must have come to the read that waits for the rest, and the rest. */
    private static int askSlowly(int port) throws IOException {
        RdmaSocket slow = new RdmaSocket(LOOPBACK, port);
        slow.getOutputStream().write("GET / HT".getBytes());
        for (long left = TimeUnit.MILLISECONDS.toNanos(300); left > 0;) {
            long begun = System.nanoTime();
            ask(new RdmaSocket(LOOPBACK, port), "GET / HTTP/1.1\r\n\r\n", "sharedmemory");
            left -= Math.min(System.nanoTime() - begun, LONGEST_ANSWER_NANOS);
        }
        return ask(slow, "TP/1.1\r\n\r\n", "sharedmemory");
    }

    /** Closes the socket; gives its port. */
    private static int ask(Socket asking, String request, String transport) throws IOException {
        try (Socket socket = asking) {
            socket.getOutputStream().write(request.getBytes());
            String answer = new String(socket.getInputStream().readAllBytes());
            assertTrue(answer.startsWith("HTTP/1.1 200 OK") && answer.contains("Hello over " + transport), answer);
            return socket.getLocalPort();
        }
    }

    private static void jcmd(Program program, String... command) throws Exception {
        List<String> all = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                Long.toString(program.pid())));
        all.addAll(List.of(command));
        try (Program jcmd = Program.start(all.toArray(String[]::new))) {
            jcmd.awaitSuccess();
        }
    }

    /** Of a server that only TCP reaches. */
    @Test
    void aRecordingOfTheHttpExampleExplainsAFallback() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(LOOPBACK, 0), 5);
        server.createContext("/", exchange -> {
            byte[] page = exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, page.length == 0 ? -1 : page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.start();
        int port = server.getAddress().getPort();
        Path file = folder.resolve("client.jfr");
        try (Program client = Program.java(List.of("-XX:TieredStopAtLevel=1", "-XX:StartFlightRecording:filename="
                + file), "HttpComponents", "http://127.0.0.1:" + port + "/page")) {
            client.awaitSuccess();
        } finally {
            server.stop(0);
        }
        List<RecordedEvent> all = ours(file);
        RecordedEvent passedOver = one(named(all, "org.rdmasockets.TransportPassedOver"), "TransportPassedOver", port,
                "sharedmemory");
        assertTrue(passedOver.getString("reason").startsWith("Connection refused"), passedOver::toString);
        RecordedEvent connect = one(named(all, "org.rdmasockets.Connect"), "Connect", port, "tcp");
        assertTrue(connect.getString("reason").contains("sharedmemory: Connection refused"), connect::toString);
        assertTrue(connect.getDuration().compareTo(passedOver.getDuration()) > 0, all::toString);
    }

    /** The classes themselves may be read ahead, from a folder, but they are not used. */
    @Test
    void withoutARecordingNoEventIsUsed() throws Exception {
        String said = ChildJvm.run(List.of(), List.of("--enable-native-access=ALL-UNNAMED",
                "-Xlog:class+init:stdout"), Main.class);
        assertTrue(said.contains("Initializing 'org/rdmasockets/internal/connection/FlightEvents'"), said);
        assertFalse(said.contains("Initializing 'org/rdmasockets/internal/connection/FlightEvents$"), said);
        assertFalse(said.contains("Initializing 'jdk/jfr/Event'"), said);
    }
}
