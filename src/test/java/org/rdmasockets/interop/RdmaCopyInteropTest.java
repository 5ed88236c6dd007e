package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** examples/RdmaCopyServer and RdmaCopyClient with a C program written to rdma-example's description. */
@Tag("device")
class RdmaCopyInteropTest {
    @TempDir
    private Path directory;
    private String peer;

    @BeforeEach
    void compile() throws Exception {
        assumeFalse(TestBed.tcp(), "verbs only");
        peer = RdmaCopyPeer.compileOrSkip(directory);
    }

    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {1, 13, 100_000})
    void javaServesTheClientInC(int bytes) throws Exception {
        try (Program server = Program.java("RdmaCopyServer", "-a", host(), "-p", "0")) {
            String port = server.awaitLine("listening on port ");
            try (Program client = Program.start(peer, "client", host(), port, text(bytes))) {
                assertEquals("SUCCESS", client.awaitSuccess());
            }
            assertTrue(server.awaitSuccess().contains("lent " + bytes + " bytes"), server::toString);
        }
    }

    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {1, 13, 100_000})
    void javaIsServedByTheServerInC(int bytes) throws Exception {
        try (Program server = Program.start(peer, "server", host(), "0")) {
            String port = server.awaitLine("listening on port ");
            try (Program client = Program.java("RdmaCopyClient", "-a", host(), "-p", port, "-s", text(bytes))) {
                assertTrue(client.awaitSuccess().contains("SUCCESS"), client::toString);
            }
            server.awaitSuccess();
            assertEquals(text(bytes), server.awaitLine("buffer: "));
        }
    }

    private static String host() throws IOException {
        return TestBed.address().getHostAddress();
    }

    private static String text(int bytes) {
        return "0123456789abcdefghijklmnopqrstuvwxyz".repeat(bytes / 36 + 1).substring(0, bytes);
    }
}
