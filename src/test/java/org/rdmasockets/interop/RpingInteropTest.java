package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The rping of rdma-core and examples/Rping ping each other; each client checks what comes back. The program is made to
 * write line by line, or what it says of the end would stand in the middle of a ping.
 */
@Tag("device")
class RpingInteropTest {
    private static final String C_SERVER_PORT = "7174";

    @BeforeEach
    void onlyOverRdma() {
        assumeFalse(TestBed.tcp(), "rping has verbs only");
    }

    @ParameterizedTest(name = "{0} bytes, {1} pings")
    @CsvSource({"64, 10000", "23, 100", "4096, 100", "65535, 100"})
    void javaServesTheClientInC(int bytes, int pings) throws Exception {
        try (Program server = Program.java("Rping", "-s", "-v", "-a", host(), "-p", "0")) {
            String port = server.awaitLine("listening on port ");
            try (Program client = Program.start("stdbuf", "-oL", "rping", "-c", "-V", "-v", "-a", host(), "-p", port,
                    "-S", "" + bytes, "-C", "" + pings)) {
                client.awaitSuccess();
                assertPings(lines(client, "ping data: "), pings);
            }
            server.awaitSuccess();
            server.awaitLine("the client has disconnected after " + pings + " pings");
            assertPings(lines(server, "server ping data: "), pings);
        }
    }

    @ParameterizedTest(name = "{0} bytes, {1} pings")
    @CsvSource({"64, 10000", "23, 100", "4096, 100", "65535, 100"})
    void javaIsServedByTheServerInC(int bytes, int pings) throws Exception {
        try (Program server = Program.start("stdbuf", "-oL", "rping", "-s", "-v", "-a", host(), "-p", C_SERVER_PORT,
                "-S", "" + bytes)) {
            String output = ping(server, bytes, pings);
            assertTrue(output.contains(pings + " pings, all as they were sent"), output);
            server.awaitSuccess();
            assertPings(lines(server, "server ping data: "), pings);
        }
    }

    /** The server does not say when it listens: a client that comes too early is refused, and comes again. */
    private static String ping(Program server, int bytes, int pings) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TestBed.PATIENCE_MILLIS * 1_000_000L;
        while (true) {
            try (Program client = Program.java("Rping", "-c", "-V", "-a", host(), "-p", C_SERVER_PORT, "-S",
                    "" + bytes, "-C", "" + pings)) {
                client.awaitEnd();
                boolean early = client.output().contains("nobody listens")
                        || client.output().contains("ECONNREFUSED");
                if (!early || System.nanoTime() > deadline) {
                    return client.awaitSuccess();
                }
            }
            assertTrue(server.isAlive(), server::toString);
        }
    }

    private static String host() throws IOException {
        return TestBed.address().getHostAddress();
    }

    private static List<String> lines(Program program, String start) {
        return program.output().lines().filter(line -> line.startsWith(start))
                .map(line -> line.substring(start.length())).toList();
    }

    /** One line for each, in order; and the letters begin with the next one each time. */
    private static void assertPings(List<String> lines, int pings) {
        assertEquals(pings, lines.size(), "lines");
        for (int i = 0; i < pings; i++) {
            String start = "rdma-ping-" + i + ": " + (char) ('A' + i % ('z' - 'A' + 1));
            assertTrue(lines.get(i).startsWith(start), lines.get(i));
        }
    }
}
