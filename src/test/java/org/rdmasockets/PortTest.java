package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** A server tells its clients apart by their addresses, whatever JVMs and transports they come from. */
@Timeout(200)
class PortTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int JVMS = 3;
    /** Over each transport; so many that ports chosen at random would meet about ten times. */
    private static final int CONNECTIONS = 300;
    private static final int BACKLOG = 1000;

    private final List<Process> processes = new ArrayList<>();

    @Test
    void clientsOfSeveralJvmsAndTransportsHaveDifferentAddresses() throws Exception {
        List<RdmaSocket> accepted = new ArrayList<>();
        try (RdmaServerSocket server = new RdmaServerSocket(0, BACKLOG, LOOPBACK)) {
            server.setSoTimeout(100_000);
            for (int i = 0; i < JVMS; i++) {
                start(server.getLocalPort(), CONNECTIONS);
            }
            Set<SocketAddress> seen = new HashSet<>();
            for (int i = 0; i < 2 * JVMS * CONNECTIONS; i++) {
                RdmaSocket client = server.accept();
                accepted.add(client);
                assertTrue(seen.add(client.getRemoteSocketAddress()), () -> twins(accepted));
            }
        } finally {
            closeAll(accepted);
        }
    }

    private static String twins(List<RdmaSocket> accepted) {
        RdmaSocket last = accepted.getLast();
        return accepted.stream().filter(socket -> socket.getPort() == last.getPort()).map(PortTest::text)
                .collect(Collectors.joining(" and ")) + " among " + accepted.size();
    }

    private static String text(RdmaSocket socket) {
        try {
            return socket + " over " + socket.getOption(RdmaSocketOptions.TRANSPORT);
        } catch (IOException e) {
            return socket + ": " + e;
        }
    }

    @Test
    void aPortIsTakenWhileAnotherJvmIsConnectedFromIt() throws Exception {
        List<RdmaSocket> accepted = new ArrayList<>();
        try (RdmaServerSocket server = new RdmaServerSocket(0, BACKLOG, LOOPBACK)) {
            server.setSoTimeout(100_000);
            Process other = start(server.getLocalPort(), 1);
            accepted.add(server.accept());
            accepted.add(server.accept());
            for (RdmaSocket client : accepted) {
                for (Transport transport : new Transport[] {Transport.AUTO, Transport.SHARED_MEMORY}) {
                    if (client.getOption(RdmaSocketOptions.TRANSPORT).is(Transport.TCP)
                            && transport.is(Transport.SHARED_MEMORY)) {
                        continue; // a port of TCP is another's only in the kernel's eyes
                    }
                    assertThrows(BindException.class, () -> connectFrom(client.getPort(), transport, server),
                            () -> transport + " from the port of " + client);
                }
            }
            int port = accepted.getFirst().getPort();
            other.destroyForcibly().waitFor();
            Await.until("the port of a killed process to be free", () -> {
                try {
                    connectFrom(port, Transport.SHARED_MEMORY, server);
                    return true;
                } catch (BindException e) {
                    return false;
                }
            });
            assertEquals(port, server.accept().getPort());
        } finally {
            closeAll(accepted);
        }
    }

    /** A server may listen at the local port that was chosen for a connection. */
    @Test
    void aServerMayListenWhereAConnectionComesFrom() throws Exception {
        try (RdmaServerSocket server = new RdmaServerSocket(0, BACKLOG, LOOPBACK);
                RdmaSocket client = new RdmaSocket()) {
            client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            client.connect(server.getLocalSocketAddress());
            try (RdmaServerSocket second = new RdmaServerSocket(client.getLocalPort(), 1, LOOPBACK);
                    RdmaSocket more = new RdmaSocket(LOOPBACK, second.getLocalPort())) {
                assertEquals(more.getLocalPort(), second.accept().getPort());
            }
        }
    }

    private static void connectFrom(int port, Transport transport, RdmaServerSocket server) throws IOException {
        try (RdmaSocket twin = new RdmaSocket()) {
            twin.setOption(RdmaSocketOptions.TRANSPORT, transport);
            twin.bind(new InetSocketAddress(LOOPBACK, port));
            twin.connect(server.getLocalSocketAddress());
        }
    }

    private Process start(int port, int connections) throws IOException {
        Process process = ChildJvm.start(List.of(), List.of("--enable-native-access=ALL-UNNAMED", "-Xmx512m"),
                PortMain.class, Integer.toString(port), Integer.toString(connections));
        Thread.ofPlatform().daemon().start(() -> process.inputReader().lines().filter(line -> !line.startsWith("["))
                .forEach(System.out::println));
        processes.add(process);
        return process;
    }

    private void closeAll(List<RdmaSocket> accepted) throws IOException {
        processes.forEach(Process::destroyForcibly);
        for (RdmaSocket each : accepted) {
            each.close();
        }
    }
}
