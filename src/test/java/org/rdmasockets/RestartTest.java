package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** Clients that try again and again while their server restarts share memory with it from their first connection on. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class RestartTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final List<String> OPTIONS = List.of("--enable-native-access=ALL-UNNAMED",
            "--add-opens=java.base/java.net=ALL-UNNAMED");
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(3);
    private static final int CONNECTIONS = 20;

    /** Listens in a JVM of its own, and greets each client with a byte. */
    public static final class Server {
        private Server() {
        }

        /** Arguments: how to listen, the port, the backlog, and the byte. */
        public static void main(String[] arguments) throws IOException {
            InetSocketAddress local = new InetSocketAddress(LOOPBACK, Integer.parseInt(arguments[1]));
            try (ServerSocket server = listening(arguments[0], local, Integer.parseInt(arguments[2]))) {
                while (true) {
                    Socket socket = server.accept();
                    Thread.ofPlatform().daemon().start(() -> greet(socket, arguments[3].charAt(0)));
                }
            }
        }

        private static ServerSocket listening(String kind, InetSocketAddress local, int backlog) throws IOException {
            if (kind.equals("bound")) {
                return new RdmaServerSocket(local.getPort(), backlog, local.getAddress());
            }
            if (kind.equals("installed")) {
                RdmaSockets.install();
            }
            ServerSocket server = kind.equals("installed") ? new ServerSocket() : new RdmaServerSocket();
            server.setReuseAddress(!kind.equals("alone"));
            server.bind(local, backlog);
            return server;
        }

        private static void greet(Socket socket, int greeting) {
            try (socket) {
                socket.getOutputStream().write(greeting);
                socket.getInputStream().read();
            } catch (IOException e) {
                return; // the client has what it wanted
            }
        }
    }

    /** Connects again and again, as fast as it can, and notes over what. */
    private static final class Client implements Runnable {
        private final InetSocketAddress server;
        private final int millis;
        private final List<String> met = new ArrayList<>();
        private volatile boolean ended;

        Client(InetSocketAddress server, int millis) {
            this.server = server;
            this.millis = millis;
        }

        @Override
        public void run() {
            while (!ended) {
                try (RdmaSocket socket = new RdmaSocket()) {
                    socket.connect(server, millis);
                    int greeting = socket.getInputStream().read();
                    if (greeting >= 0) {
                        note((char) greeting + " " + socket.getOption(RdmaSocketOptions.TRANSPORT).name());
                    }
                } catch (IOException e) {
                    LockSupport.parkNanos(PAUSE_NANOS); // the server is not listening just now
                }
            }
        }

        private synchronized void note(String line) {
            met.add(line);
        }

        /** Over what this has met that server. */
        synchronized List<String> met(char greeting) {
            return met.stream().filter(line -> line.charAt(0) == greeting).map(line -> line.substring(2)).toList();
        }
    }

    /** Clients in a JVM that has just started, too. */
    public static final class ColdClients {
        private ColdClients() {
        }

        /** Arguments: the port, the greeting, and the timeout. Prints over what it met that server. */
        public static void main(String[] arguments) throws Exception {
            InetSocketAddress server = new InetSocketAddress(LOOPBACK, Integer.parseInt(arguments[0]));
            System.out.println("met " + meet(clients(server, Integer.parseInt(arguments[2]), 2),
                    arguments[1].charAt(0)));
        }
    }

    private static List<Client> clients(InetSocketAddress server, int millis, int count) {
        List<Client> clients = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            clients.add(new Client(server, millis));
            Thread.ofPlatform().daemon().start(clients.getLast());
        }
        return clients;
    }

    /** Waits until all clients have met a server often enough: over what they did. */
    private static List<String> meet(List<Client> clients, char greeting) throws Exception {
        Await.until("each client meets server " + greeting,
                () -> clients.stream().allMatch(client -> client.met(greeting).size() >= CONNECTIONS));
        return clients.stream().flatMap(client -> client.met(greeting).stream()).distinct().toList();
    }

    @BeforeEach
    void sharedMemoryIsThere() {
        Optional<String> reason = Providers.sharedMemory().unavailability();
        reason.ifPresent(r -> System.out.println("RestartTest skips: " + r));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
    }

    private static Process start(String kind, InetSocketAddress local, int backlog, char greeting) throws IOException {
        return ChildJvm.start(List.of(), OPTIONS, Server.class, kind, Integer.toString(local.getPort()),
                Integer.toString(backlog), String.valueOf(greeting));
    }

    @ParameterizedTest
    @CsvSource({"bound,50,4,0", "bound,50,4,2000", "bound,1,1,0", "unbound,50,4,0", "alone,50,4,0",
            "installed,50,4,0"})
    void everyConnectionAfterARestartSharesMemory(String kind, int backlog, int count, int millis) throws Exception {
        InetSocketAddress local = new InetSocketAddress(LOOPBACK, FreePorts.next(LOOPBACK));
        List<Client> clients = clients(local, millis, count);
        Process first = start(kind, local, backlog, 'a');
        Process second = null;
        try {
            assertEquals(List.of("sharedmemory"), meet(clients, 'a'));
            first.destroyForcibly().waitFor();
            second = start(kind, local, backlog, 'b');
            assertEquals(List.of("sharedmemory"), meet(clients, 'b'));
        } finally {
            clients.forEach(client -> client.ended = true);
            first.destroyForcibly();
            if (second != null) {
                second.destroyForcibly();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"0", "2000"})
    void soDoClientsThatStartTogetherWithTheirServer(int millis) throws Exception {
        InetSocketAddress local = new InetSocketAddress(LOOPBACK, FreePorts.next(LOOPBACK));
        Process server = start("bound", local, 50, 'a');
        try {
            String output = ChildJvm.run(List.of(), OPTIONS, ColdClients.class, Integer.toString(local.getPort()), "a",
                    Integer.toString(millis));
            assertEquals("met [sharedmemory]", output.lines().filter(line -> line.startsWith("met ")).findFirst()
                    .orElse(output));
        } finally {
            server.destroyForcibly();
        }
    }
}
