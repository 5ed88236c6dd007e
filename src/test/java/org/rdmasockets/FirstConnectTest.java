package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.ProcessStarts;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** The first connect of a process has the timeout that its caller gave, whatever has to be loaded for it. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class FirstConnectTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final List<String> OPTIONS = List.of("--enable-native-access=ALL-UNNAMED");

    /** Connects once, in a JVM of its own, and prints what it goes over. */
    public static final class Client {
        private Client() {
        }

        /** Arguments: a transport, {@code plain} or {@code endpoint}, a port, and a timeout in milliseconds. */
        public static void main(String[] arguments) throws IOException {
            InetSocketAddress server = new InetSocketAddress(LOOPBACK, Integer.parseInt(arguments[1]));
            int millis = Integer.parseInt(arguments[2]);
            if (arguments[0].equals("endpoint")) {
                RdmaEndpoint.builder().connectTimeout(Duration.ofMillis(millis)).connect(server).close();
                System.out.println("over endpoint");
                return;
            }
            try (Socket socket = arguments[0].equals("plain") ? new Socket() : new RdmaSocket()) {
                if (socket instanceof RdmaSocket own) {
                    own.setOption(RdmaSocketOptions.TRANSPORT, new Transport(arguments[0], ""));
                }
                socket.connect(server, millis);
                System.out.println("over " + (socket instanceof RdmaSocket own
                        ? own.getOption(RdmaSocketOptions.TRANSPORT) : "tcp"));
            }
        }
    }

    @BeforeEach
    void sharedMemoryIsThere() {
        Optional<String> reason = Providers.sharedMemory().unavailability();
        reason.ifPresent(r -> System.out.println("FirstConnectTest skips: " + r));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
    }

    private static String first(String kind, int port, int millis) throws Exception {
        String output = ChildJvm.run(List.of(), OPTIONS, Client.class, kind, Integer.toString(port),
                Integer.toString(millis));
        return output.lines().filter(line -> line.startsWith("over ")).findFirst()
                .map(line -> line.split(" ")[1]).orElse(output);
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 250, 500, 2000})
    void aProcessThatHasJustStartedSharesMemoryWithinAnyTimeout(int millis) throws Exception {
        try (ServerSocket plain = new ServerSocket(0, 50, LOOPBACK);
                RdmaServerSocket server = new RdmaServerSocket(0, 50, LOOPBACK)) {
            assertEquals("tcp", first("plain", plain.getLocalPort(), millis));
            assertEquals("sharedmemory", first("auto", server.getLocalPort(), millis));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 250})
    void aProcessThatHasJustStartedReachesAServerOfTcpAlone(int millis) throws Exception {
        try (ServerSocket plain = new ServerSocket(0, 50, LOOPBACK)) {
            assertEquals("tcp", first("plain", plain.getLocalPort(), millis));
            assertEquals("tcp", first("auto", plain.getLocalPort(), millis));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "sharedmemory"})
    void soItIsWhereATransportIsForced(String transport) throws Exception {
        try (RdmaServerSocket server = new RdmaServerSocket(0, 50, LOOPBACK)) {
            assertEquals(transport, first(transport, server.getLocalPort(), 100));
        }
    }

    @Test
    void anEndpointOfAProcessThatHasJustStartedConnectsWithinAShortTimeout() throws Exception {
        try (RdmaEndpointServer server = RdmaEndpoint.builder().listen(new InetSocketAddress(LOOPBACK, 0))) {
            assertEquals("endpoint", first("endpoint", server.localAddress().getPort(), 100));
        }
    }

    @Test
    void aRefusalIsForgottenWhenSomebodyListens() throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0, 50, LOOPBACK)) {
            port = free.getLocalPort();
            connected(port); // over TCP: there is no other listener
        }
        for (int i = 0; i < 20; i++) {
            ProcessStarts.await();
            try (RdmaServerSocket server = new RdmaServerSocket(port, 50, LOOPBACK)) {
                assertEquals("sharedmemory", connected(server.getLocalPort()));
            }
        }
    }

    private static String connected(int port) throws IOException {
        try (RdmaSocket socket = new RdmaSocket(LOOPBACK, port)) {
            return socket.getOption(RdmaSocketOptions.TRANSPORT).toString().split(" ")[0];
        }
    }
}
