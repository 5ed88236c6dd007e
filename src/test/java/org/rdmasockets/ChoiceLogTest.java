package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** The log of the choice of transports: each transport and reason once, TCP instead as a warning. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ChoiceLogTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int CONNECTIONS = 3;

    /** Connects to a server of TCP alone, and to one of its own that shares memory. */
    public static final class Program {
        private Program() {
        }

        /** Argument: in which order. */
        public static void main(String[] arguments) throws IOException {
            boolean serverFirst = arguments[0].equals("server first");
            if (serverFirst) {
                listenTwice();
            }
            try (ServerSocket plain = new ServerSocket(0, 50, LOOPBACK)) {
                for (int i = 0; i < CONNECTIONS; i++) {
                    connect(plain.getLocalPort(), Transport.AUTO);
                }
                connect(plain.getLocalPort(), Transport.TCP);
            }
            if (!serverFirst) {
                listenTwice();
            }
        }

        private static void listenTwice() throws IOException {
            for (int i = 0; i < 2; i++) {
                try (RdmaServerSocket server = new RdmaServerSocket(0, 50, LOOPBACK)) {
                    connect(server.getLocalPort(), Transport.AUTO);
                }
            }
        }

        private static void connect(int port, Transport transport) throws IOException {
            try (RdmaSocket socket = new RdmaSocket()) {
                socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
                socket.connect(new InetSocketAddress(LOOPBACK, port));
            }
        }
    }

    @BeforeEach
    void advisesOnThisMachine() {
        Optional<String> missing = Providers.sharedMemory().unavailability();
        if (missing.isEmpty() && Providers.ibverbs().unavailability().isEmpty()) {
            missing = Optional.of("nothing is missing here");
        }
        missing.ifPresent(r -> System.out.println("ChoiceLogTest skips: " + r));
        Assumptions.assumeTrue(missing.isEmpty());
    }

    private static List<String> log(String level, String order) throws Exception {
        String output = ChildJvm.run(List.of(), List.of("--enable-native-access=ALL-UNNAMED",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=" + level), Program.class, order);
        return output.lines().toList();
    }

    private static long count(List<String> lines, String pattern) {
        return lines.stream().filter(line -> line.matches(pattern)).count();
    }

    @ParameterizedTest
    @ValueSource(strings = {"server first", "client first"})
    void eachTransportAndReasonIsToldOnceAndAFallbackIsAWarning(String order) throws Exception {
        List<String> lines = log("info", order);
        String all = String.join("\n", lines);
        String advice = Providers.ibverbs().unavailability().orElseThrow();
        assertEquals(2, lines.stream().filter(line -> line.contains(advice)).count(), all);
        assertEquals(1, count(lines, ".*WARN.*connected over tcp.*"), all);
        assertEquals(1, count(lines, ".*INFO.*connected over tcp.*option TRANSPORT.*"), all);
        assertEquals(1, count(lines, ".*INFO.*listens over tcp, sharedmemory; left out: ibverbs is not available.*"),
                all);
        assertEquals(1, count(lines, ".*INFO.*connected over sharedmemory.*: it is the first choice"), all);
        assertEquals(4, lines.size(), all);
    }

    @ParameterizedTest
    @ValueSource(strings = {"server first", "client first"})
    void theOtherConnectionsAreDetails(String order) throws Exception {
        List<String> lines = log("debug", order);
        String all = String.join("\n", lines);
        assertEquals(CONNECTIONS - 1, count(lines, ".*DEBUG.* connected over tcp.*; ibverbs is not available.*"), all);
        assertEquals(1, count(lines, ".*DEBUG.* listens over tcp, sharedmemory.*"), all);
        assertEquals(1, count(lines, ".*DEBUG.* connected over sharedmemory.*: it is the first choice"), all);
    }

    @ParameterizedTest
    @ValueSource(strings = {"server first", "client first"})
    void whoSeesWarningsAloneSeesTheAdvice(String order) throws Exception {
        List<String> lines = log("warn", order);
        assertEquals(1, count(lines, ".*WARN.*"), String.join("\n", lines));
        assertTrue(lines.getFirst().contains(Providers.ibverbs().unavailability().orElseThrow()), lines::getFirst);
    }
}
