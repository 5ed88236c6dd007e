package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.SocketException;
import java.util.Optional;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.interop.Program;
import org.rdmasockets.internal.provider.Providers;

/** Two processes of this host that say nothing of transports. */
class TwoProcessesTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int LENGTH = 1_000_000;

    @Test
    void meetInSharedMemoryAndNoticeDeath() throws Exception {
        Optional<String> reason = Providers.sharedMemory().unavailability();
        reason.ifPresent(r -> System.out.println("TwoProcessesTest skips: " + r));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
        try (Program server = Program.java("EchoServer", "0");
                RdmaSocket socket = new RdmaSocket(LOOPBACK, port(server))) {
            assertTrue(socket.getOption(RdmaSocketOptions.TRANSPORT).is(Transport.SHARED_MEMORY), socket::toString);
            byte[] sent = new byte[LENGTH];
            new Random(LENGTH).nextBytes(sent);
            Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> socket.getOutputStream().write(sent));
            assertArrayEquals(sent, socket.getInputStream().readNBytes(LENGTH));
            write.result();
            Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> socket.getInputStream().read());
            read.awaitBlocked();
            server.kill();
            assertEnded(read);
            assertEquals(137, server.awaitEnd() & 0xff, "killed");
            assertThrows(ConnectException.class, () -> new RdmaSocket(LOOPBACK, socket.getPort()));
        }
    }

    /** As over TCP, whose kernel resets or ends the connections of a process that dies. */
    private static void assertEnded(Call<Integer> read) throws Exception {
        try {
            assertEquals(-1, read.result());
        } catch (SocketException e) {
            assertTrue(e.getMessage().contains("reset"), e::getMessage);
        }
    }

    private static int port(Program server) throws InterruptedException, IOException {
        Matcher port = Pattern.compile(".*:(\\d+) listens over tcp.*").matcher(server.awaitLine("0.0.0.0"));
        assertTrue(port.matches(), server::output);
        return Integer.parseInt(port.group(1));
    }
}
