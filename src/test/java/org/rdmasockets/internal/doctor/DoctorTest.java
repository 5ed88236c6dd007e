package org.rdmasockets.internal.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.Transport;

/** The findings, their remedies, and the routes. */
class DoctorTest {
    @TempDir
    private Path proc;

    /** The output of the doctor, and its status. */
    private record Said(int status, String text) {}

    private static Said doctor(String... arguments) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int status = Doctor.run(List.of(arguments), new PrintStream(bytes, true, StandardCharsets.UTF_8));
        return new Said(status, bytes.toString(StandardCharsets.UTF_8));
    }

    private Finding finding(String subject) {
        return new Machine(proc).findings().stream().filter(f -> f.subject().equals(subject)).findFirst().orElseThrow();
    }

    private void limits(String locked, String files, String mappings) throws IOException {
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
        return Route.to(new InetSocketAddress(address, port)).stream();
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
            Said said = doctor("localhost:" + server.getLocalPort());
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
                    .endsWith("no process that shares memory with this one listens there with an RdmaServerSocket"));
            assertEquals("tcp", route(routes, Transport.AUTO, r -> r.taken().name()));
        }
        Said said = doctor("--json", "localhost:" + port);
        assertEquals(1, said.status, said.text);
        assertTrue(said.text.contains("{\"transport\":\"tcp\",\"failure\":\"Connection refused"), said.text);
    }

    @Test
    void wrongArgumentsAreToldTheUsage() {
        for (String wrong : List.of("here", ":1", "localhost:0", "localhost:70000", "localhost:x")) {
            assertEquals(new Said(2, "usage: doctor [--json] [HOST:PORT]" + System.lineSeparator()), doctor(wrong));
        }
        assertEquals(2, doctor("a:1", "b:2").status);
        assertEquals(1, doctor("[::1]:1").status);
    }

    @Test
    void aTerminalObeysNoNameAndJsonIsAscii() {
        Said said = doctor("a\u001b[2J\u009b\u00e9:1");
        assertTrue(said.text.contains("a\\u001b[2J\\u009b\u00e9"), said.text);
        assertTrue(doctor("--json", "a\u001b\u00e9:1").text.chars().allMatch(c -> c == '\n' || c >= ' ' && c <= '~'));
    }
}
