package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.Transport;
import org.rdmasockets.interop.Program;

/** {@code RdmaSockets.install()} in a process of its own, for it is for good: {@link Installed} says what it saw. */
@Execution(ExecutionMode.CONCURRENT)
class InstallTest {
    private static final String OPEN = "--add-opens=java.base/java.net=ALL-UNNAMED";

    /** Where the sockets meet. */
    Place place() {
        return Place.here().orSkip();
    }

    @Test
    void plainSocketsFollowTheRules() throws Exception {
        Place place = place();
        String transport = place.transport().name();
        try (Program program = Program.java(place.options(OPEN,
                "-Dorg.slf4j.simpleLogger.log.org.rdmasockets.internal.selection.Connector=debug"),
                Installed.class.getName(),
                place.host())) {
            String output = program.awaitSuccess();
            List<String> said = output.lines().filter(line -> line.startsWith("saw ")).toList();
            List<String> expected = new ArrayList<>(List.of("saw tcp: from before",
                    "saw sockets: " + transport + " " + transport,
                    "saw subclass: " + transport,
                    "saw rmi: HELLO over " + transport,
                    "saw logger: connected over " + transport));
            if (place.transport().is(Transport.SHARED_MEMORY)) {
                expected.add(3, "saw http: 200 hello");
            }
            assertEquals(expected, said, output);
        }
    }

    @Test
    void factoriesOfSomebodyElseAreNamedEachTime() throws Exception {
        for (String foreign : List.of("foreign sockets", "foreign server sockets")) {
            try (Program program = Program.java(List.of(OPEN), Installed.class.getName(), foreign)) {
                String expected = "Somebody else has replaced the sockets of this JVM: factory already defined";
                assertEquals(List.of(expected, expected), program.awaitSuccess().lines().toList());
            }
        }
    }

    /** A SOCKS client begins with the version of its protocol (RFC 1928). */
    @Test
    void tcpHonoursSocksSettings() throws Exception {
        try (ServerSocket proxy = new ServerSocket(0, 5, Place.here().address());
                Program program = Program.java(Place.here().options(OPEN, "-DsocksProxyHost=127.0.0.1",
                        "-DsocksProxyPort=" + proxy.getLocalPort()), Installed.class.getName(), "dial", "192.0.2.1")) {
            proxy.setSoTimeout(60_000);
            try (Socket client = proxy.accept()) {
                assertEquals(5, client.getInputStream().read());
            }
            assertTrue(program.awaitSuccess().contains("SOCKS"), program::output);
        }
    }
}
