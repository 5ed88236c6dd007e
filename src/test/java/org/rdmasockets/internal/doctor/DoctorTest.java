package org.rdmasockets.internal.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.Transport;

/** The findings, their remedies, and the routes. */
class DoctorTest {
    @TempDir
    private Path root;

    /** The output of the doctor, and its status. */
    private record Said(int status, String text) {}

    private static Said doctor(String... arguments) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int status = Doctor.run(List.of(arguments), new PrintStream(bytes, true, StandardCharsets.UTF_8), null);
        return new Said(status, bytes.toString(StandardCharsets.UTF_8));
    }

    private Finding finding(String subject) {
        return new Machine(root).findings().stream().filter(f -> f.subject().equals(subject)).findFirst().orElseThrow();
    }

    private void limits(String locked, String files, String mappings) throws IOException {
        Path proc = root.resolve("proc");
        Files.createDirectories(proc.resolve("self"));
        Files.createDirectories(proc.resolve("sys/vm"));
        Files.writeString(proc.resolve("self/limits"), """
                Limit                     Soft Limit           Hard Limit           Units
                Max open files            %s                   1048576              files
                Max locked memory         %s                   unlimited            bytes
                """.formatted(files, locked));
        Files.writeString(proc.resolve("sys/vm/max_map_count"), mappings + "\n");
    }

    @Test
    void limitsThatSufficeNeedNoRemedy() throws IOException {
        limits("unlimited", "65536", "65530");
        for (String subject : List.of("locked memory", "open files", "vm.max_map_count")) {
            assertEquals(Finding.Level.OK, finding(subject).level(), subject);
        }
    }

    @Test
    void eachLimitThatIsLowHasItsRemedy() throws IOException {
        limits("65536", "1024", "4096");
        assertTrue(finding("locked memory").text().startsWith("at most 64 KiB (ulimit -l), but RDMA pins its buffers: "
                + "ulimit -l unlimited"), () -> finding("locked memory").text());
        assertTrue(finding("open files").text().contains("ulimit -n 65536"), () -> finding("open files").text());
        assertTrue(finding("vm.max_map_count").text().contains("sysctl -w vm.max_map_count=65530"),
                () -> finding("vm.max_map_count").text());
        for (String subject : List.of("locked memory", "open files", "vm.max_map_count")) {
            assertTrue(finding(subject).level() != Finding.Level.OK, subject);
        }
    }

    private static Stream<Route> to(InetAddress address, int port) {
        return Route.to(new InetSocketAddress(address, port), false).stream();
    }

    private static String route(List<Route> routes, Transport wanted, Function<Route, String> part) {
        return routes.stream().filter(r -> r.transport().is(wanted)).map(part).collect(Collectors.joining());
    }

    @Test
    void serverOfThisLibraryIsReachedBySharedMemoryAndTcp() throws IOException {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        try (RdmaServerSocket server = new RdmaServerSocket(0, 50, loopback)) {
            List<Route> routes = to(loopback, server.getLocalPort()).toList();
            assertEquals("sharedmemory", route(routes, Transport.SHARED_MEMORY, r -> r.taken().name()));
            assertEquals("tcp", route(routes, Transport.TCP, r -> r.taken().name()));
            assertEquals("sharedmemory", route(routes, Transport.AUTO, r -> r.taken().name()));
            Said said = doctor("doctor", "localhost:" + server.getLocalPort());
            assertEquals(0, said.status, said.text);
            assertTrue(said.text.contains("\nauto          takes sharedmemory"), said.text);
        }
    }

    @Test
    void serverOfTcpIsReachedByTcpAlone() throws IOException {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        int port;
        try (ServerSocket server = new ServerSocket(0, 50, loopback)) {
            port = server.getLocalPort();
            List<Route> routes = to(loopback, port).toList();
            assertTrue(route(routes, Transport.SHARED_MEMORY, Route::failure)
                    .contains("no process that shares memory with this one listens there with an RdmaServerSocket"));
            assertEquals("tcp", route(routes, Transport.AUTO, r -> r.taken().name()));
        }
        Said said = doctor("--json", "doctor", "localhost:" + port);
        assertEquals(1, said.status, said.text);
        assertTrue(said.text.contains("{\"transport\":\"tcp\",\"failure\":\"Connection refused"), said.text);
    }

    @Test
    void wrongArgumentsAreToldTheUsage() {
        for (String wrong : List.of("here", ":1", "localhost:0", "localhost:70000", "localhost:x")) {
            assertUsage("doctor", wrong);
        }
        for (String wrong : List.of("0", "x", "-1", "1234567890", "1 2")) {
            assertUsage("connections", wrong);
        }
        assertUsage("ping", "localhost");
        assertUsage("ping", "localhost", "0");
        assertUsage("ping", "--echo", "65536");
        assertUsage("devices", "rxe0");
        assertUsage("help");
        assertUsage();
        assertEquals(2, doctor("doctor", "a:1", "b:2").status);
        assertEquals(1, doctor("doctor", "[::1]:1").status);
    }

    private static void assertUsage(String... arguments) {
        Said said = doctor(arguments);
        assertEquals(2, said.status, String.join(" ", arguments));
        assertTrue(said.text.startsWith("usage: doctor [--json] [HOST:PORT] "), said.text);
    }

    private void make(String... files) throws IOException {
        for (String file : files) {
            Path path = root.resolve(file);
            Files.createDirectories(path.getParent());
            Files.createFile(path);
        }
    }

    private void assertFinds(Finding.Level level, String subject, String text) {
        Finding found = finding(subject);
        assertEquals(level, found.level(), found.text());
        assertTrue(found.text().contains(text), found.text());
    }

    /** Modules and files of a device, one after the other as an operator would mend them. */
    @Test
    void eachStepToADeviceHasItsRemedy() throws IOException {
        assertFinds(Finding.Level.OK, "modules", "no RDMA device needs that");
        assertFinds(Finding.Level.OK, "/dev/infiniband", "is not there, and no RDMA device needs it");
        make("sys/class/infiniband/rxe0");
        assertFinds(Finding.Level.PROBLEM, "modules", "ib_uverbs and rdma_ucm are not loaded: modprobe -a ib_uverbs "
                + "rdma_ucm on the host");
        assertFinds(Finding.Level.PROBLEM, "/dev/infiniband", "is not there: modprobe -a ib_uverbs rdma_ucm; a "
                + "container has to be given it: docker run --device /dev/infiniband");
        make("sys/module/ib_uverbs/version", "dev/infiniband/uverbs0");
        assertFinds(Finding.Level.PROBLEM, "modules", "rdma_ucm is not loaded: modprobe -a rdma_ucm on the host");
        assertFinds(Finding.Level.PROBLEM, "/dev/infiniband", "has no rdma_cm");
        make("sys/module/rdma_ucm/version", "dev/infiniband/rdma_cm");
        assertFinds(Finding.Level.OK, "modules", "ib_uverbs and rdma_ucm are loaded");
        assertFinds(Finding.Level.OK, "/dev/infiniband", "this user may open rdma_cm, uverbs0");
        assertFinds(Finding.Level.OK, "native access", "--enable-native-access=org.rdmasockets");
        assertFinds(Finding.Level.OK, "memfd", "sealed and mapped");
    }

    /** Root of the host may lock more; root of a container may not. */
    @Test
    void aLimitThatDoesNotBindIsNoProblem() throws IOException {
        limits("65536", "65536", "65530");
        Path self = root.resolve("proc/self");
        Files.writeString(self.resolve("status"), "Name:\tjava\nCapEff:\t0000000000004000\nCapBnd:\t0\n");
        assertFinds(Finding.Level.OK, "locked memory", "at most 64 KiB (ulimit -l), which does not bind this user");
        Files.createDirectories(self.resolve("ns"));
        Files.createSymbolicLink(self.resolve("ns/user"), Path.of("user:[4026532000]"));
        assertFinds(Finding.Level.NOTE, "locked memory", "RDMA pins its buffers");
        Files.writeString(self.resolve("status"), "CapEff:\t0000000000002000\n");
        assertFinds(Finding.Level.NOTE, "locked memory", "RDMA pins its buffers");
    }

    @Test
    void aPingMeasuresTheRoundTripOfEachTransportThatLeadsThere() throws Exception {
        PipedInputStream said = new PipedInputStream();
        PrintStream out = new PrintStream(new PipedOutputStream(said), true, StandardCharsets.UTF_8);
        Thread.ofPlatform().daemon().start(() -> Doctor.run(List.of("ping", "--echo", "0"), out, null));
        String line = new BufferedReader(new InputStreamReader(said, StandardCharsets.UTF_8)).readLine();
        assertTrue(line.matches("echoes on port \\d+ until it is interrupted"), line);
        Said pinged = doctor("--json", "ping", "127.0.0.1", line.split(" ")[3]);
        assertEquals(0, pinged.status, pinged.text);
        Map<String, JsonObject> routes = new HashMap<>();
        for (JsonElement route : JsonParser.parseString(pinged.text).getAsJsonObject().getAsJsonArray("routes")) {
            routes.put(route.getAsJsonObject().get("transport").getAsString(), route.getAsJsonObject());
        }
        assertEquals("sharedmemory", routes.get("auto").get("taken").getAsString());
        for (String transport : List.of("sharedmemory", "tcp", "auto")) {
            JsonObject route = routes.get(transport);
            double least = route.get("leastMicros").getAsDouble();
            double median = route.get("medianMicros").getAsDouble();
            assertTrue(0 < least && least <= median && median <= route.get("mostOfHundredMicros").getAsDouble(),
                    pinged.text);
        }
        assertTrue(routes.get("ibverbs").has("failure"), pinged.text);
    }

    /** No timeout of a socket ends a write: the client's writes go on until the server gives its connection up. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void anEchoOfAClientThatReadsNothingEnds() throws Exception {
        PipedInputStream said = new PipedInputStream();
        PrintStream out = new PrintStream(new PipedOutputStream(said), true, StandardCharsets.UTF_8);
        Thread.ofPlatform().daemon().start(() -> {
            try {
                new EchoServer(0, out, Duration.ofMillis(200)).serve();
            } catch (IOException e) {
                out.println(e);
            }
        });
        String line = new BufferedReader(new InputStreamReader(said, StandardCharsets.UTF_8)).readLine();
        try (Socket client = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(line.split(" ")[3]))) {
            byte[] block = new byte[1 << 16];
            assertThrows(SocketException.class, () -> {
                while (true) {
                    client.getOutputStream().write(block);
                }
            });
        }
    }

    /** A server that sends something else, and one that closes. */
    @Test
    void aServerThatDoesNotEchoIsToldFromOneThatIsNotThere() throws Exception {
        for (boolean closes : new boolean[] {false, true}) {
            try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
                Thread.ofPlatform().daemon().start(() -> answerWrongly(server, closes));
                Said said = doctor("ping", "127.0.0.1", "" + server.getLocalPort());
                assertEquals(1, said.status, said.text);
                assertTrue(said.text.contains("but no echo came: the server "
                        + (closes ? "has closed the connection" : "answers something else") + "; 'ping --echo PORT'"),
                        said.text);
            }
        }
    }

    private static void answerWrongly(ServerSocket server, boolean closes) {
        List<Socket> kept = new ArrayList<>();
        try {
            while (true) {
                Socket accepted = server.accept();
                kept.add(accepted);
                if (closes) {
                    accepted.shutdownOutput();
                } else {
                    accepted.getOutputStream().write(new byte[RoundTrip.MESSAGE_BYTES]);
                }
            }
        } catch (IOException e) {
            return; // closed: the end of the test
        }
    }

    @Test
    void aTerminalObeysNoNameAndJsonIsAscii() {
        Said said = doctor("doctor", "a\u001b[2J\u009b\u00e9:1");
        assertTrue(said.text.contains("a\\u001b[2J\\u009b\u00e9"), said.text);
        String json = doctor("--json", "doctor", "a\u001b\u00e9:1").text;
        assertTrue(json.chars().allMatch(c -> c == '\n' || c >= ' ' && c <= '~'), json);
    }
}
