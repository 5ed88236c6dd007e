package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** A client that knows the process of a port finds the one that has taken the port over. */
@Timeout(200)
class ListenerMovesTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    /** Connections to one listener: the first looks for its process, the others know it. */
    private static final int CONNECTIONS = 3;

    /** A process that listens as it is told. */
    private static final class Server implements AutoCloseable {
        private final Process process;
        private final BufferedReader answers;
        private final Writer orders;

        Server(String name) throws IOException {
            process = ChildJvm.start(List.of(), List.of("--enable-native-access=ALL-UNNAMED"), ListenerMain.class,
                    name);
            answers = process.inputReader();
            orders = process.outputWriter();
        }

        int listen(int port) throws IOException {
            return Integer.parseInt(ask(Integer.toString(port), "port ").substring("port ".length()));
        }

        void stop() throws IOException {
            ask("", "stopped");
        }

        private String ask(String order, String wanted) throws IOException {
            orders.write(order + "\n");
            orders.flush();
            String line = answers.readLine();
            while (line != null && !line.startsWith(wanted)) {
                line = answers.readLine(); // a line of the log
            }
            return line;
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    @Test
    void aPortThatAnotherProcessTakesOverLeadsThere() throws Exception {
        try (Server first = new Server("first"); Server second = new Server("second")) {
            int port = first.listen(0);
            assertNames("first", port);
            first.stop();
            assertThrows(ConnectException.class, () -> connect(port), "nobody listens");
            second.listen(port);
            assertNames("second", port);
            second.stop();
            first.listen(port);
            assertNames("first", port);
        }
    }

    @Test
    void aProcessThatGivesUpOnePortIsStillFoundOnTheOther() throws Exception {
        try (Server first = new Server("first"); Server second = new Server("second")) {
            int port = first.listen(0);
            assertNames("first", port);
            second.listen(0);
            assertNames("first", port);
            first.stop();
            int other = first.listen(0);
            assertNames("first", other);
            second.stop();
            second.listen(port);
            assertNames("first", other);
            assertNames("second", port);
        }
    }

    @Test
    void aPortTakenOverFromAProcessThatWasKilledLeadsToTheNewOne() throws Exception {
        int port;
        try (Server first = new Server("first")) {
            port = first.listen(0);
            assertNames("first", port);
        }
        try (Server second = new Server("second")) {
            second.listen(port);
            assertNames("second", port);
        }
    }

    /** The port is held by this process from the connection before, which has it no more. */
    @Test
    void thePortOfAClosedConnectionCanBeAskedFor() throws Exception {
        try (RdmaServerSocket server = new RdmaServerSocket(0, 50, LOOPBACK)) {
            int port = 0;
            for (int i = 0; i < CONNECTIONS; i++) {
                try (RdmaSocket client = new RdmaSocket()) {
                    client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
                    if (port != 0) {
                        client.bind(new InetSocketAddress(LOOPBACK, port));
                    }
                    client.connect(server.getLocalSocketAddress());
                    port = port != 0 ? port : client.getLocalPort();
                    assertEquals(port, client.getLocalPort());
                    server.accept().close();
                }
            }
        }
    }

    private static void assertNames(String name, int port) throws IOException {
        for (int i = 0; i < CONNECTIONS; i++) {
            assertEquals(name, connect(port));
        }
    }

    private static String connect(int port) throws IOException {
        try (RdmaSocket socket = new RdmaSocket()) {
            socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            socket.connect(new InetSocketAddress(LOOPBACK, port));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
