package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.ProcessStarts;
import org.rdmasockets.internal.provider.Providers;

/** The transport that a socket takes, what it says of it, and one port number for all transports. */
class TransportChoiceTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    @BeforeEach
    void sharedMemoryIsThere() {
        Optional<String> reason = Providers.sharedMemory().unavailability();
        reason.ifPresent(r -> System.out.println("TransportChoiceTest skips: " + r));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
    }

    private static RdmaServerSocket listening(Transport transport, int port) throws IOException {
        RdmaServerSocket server = new RdmaServerSocket();
        server.setOption(RdmaSocketOptions.TRANSPORT, transport);
        try {
            server.bind(new InetSocketAddress(LOOPBACK, port));
        } catch (IOException e) {
            server.close();
            throw e;
        }
        return server;
    }

    private static RdmaSocket connected(Transport transport, int port) throws IOException {
        RdmaSocket socket = new RdmaSocket();
        socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
        socket.connect(new InetSocketAddress(LOOPBACK, port));
        return socket;
    }

    private static Transport transport(RdmaSocket socket) throws IOException {
        return socket.getOption(RdmaSocketOptions.TRANSPORT);
    }

    private static void assertCarries(Socket from, Socket to) throws IOException {
        from.getOutputStream().write("carried".getBytes());
        assertEquals("carried", new String(to.getInputStream().readNBytes(7)));
    }

    @Test
    void autoPrefersSharedMemoryOnThisHost() throws IOException {
        try (RdmaServerSocket server = listening(Transport.AUTO, 0);
                RdmaSocket client = connected(Transport.AUTO, server.getLocalPort());
                RdmaSocket accepted = server.accept()) {
            assertTrue(transport(client).is(Transport.SHARED_MEMORY), () -> client + " is not");
            assertTrue(transport(accepted).is(Transport.SHARED_MEMORY));
            assertFalse(transport(client).reason().isEmpty() || transport(accepted).reason().isEmpty());
            assertCarries(client, accepted);
        }
    }

    @Test
    void oneListenerTakesEveryTransportOnOnePort() throws IOException {
        try (RdmaServerSocket server = listening(Transport.AUTO, 0)) {
            Transport listensOn = server.getOption(RdmaSocketOptions.TRANSPORT);
            assertTrue(listensOn.is(Transport.AUTO));
            assertTrue(listensOn.reason().contains("listens over tcp, sharedmemory"), listensOn::reason);
            for (Transport each : new Transport[] {Transport.TCP, Transport.SHARED_MEMORY, Transport.TCP}) {
                try (RdmaSocket client = connected(each, server.getLocalPort());
                        RdmaSocket accepted = server.accept()) {
                    assertTrue(transport(accepted).is(each), () -> "accepted over another transport than " + each);
                    assertEquals(client.getLocalSocketAddress(), accepted.getRemoteSocketAddress());
                    assertCarries(client, accepted);
                    assertCarries(accepted, client);
                }
            }
        }
    }

    @Test
    void ordinarySocketsReachAnRdmaServerSocket() throws IOException {
        try (RdmaServerSocket server = listening(Transport.AUTO, 0);
                Socket client = new Socket(LOOPBACK, server.getLocalPort());
                RdmaSocket accepted = server.accept()) {
            assertTrue(transport(accepted).is(Transport.TCP));
            assertCarries(client, accepted);
            assertCarries(accepted, client);
        }
    }

    @Test
    void autoFallsBackToTcpAndSaysWhy() throws IOException {
        long before = TransportCounters.of(Transport.TCP).connected();
        long failedBefore = TransportCounters.of(Transport.SHARED_MEMORY).failed();
        try (ServerSocket server = new ServerSocket(0, 5, LOOPBACK);
                RdmaSocket client = connected(Transport.AUTO, server.getLocalPort());
                Socket accepted = server.accept()) {
            assertTrue(transport(client).is(Transport.TCP));
            assertTrue(transport(client).reason().contains("sharedmemory: "), () -> client.toString());
            assertCarries(client, accepted);
        }
        assertEquals(before + 1, TransportCounters.of(Transport.TCP).connected());
        assertEquals(failedBefore + 1, TransportCounters.of(Transport.SHARED_MEMORY).failed());
    }

    @Test
    void aForcedTransportDoesNotFallBack() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 5, LOOPBACK)) {
            ConnectException e = assertThrows(ConnectException.class,
                    () -> connected(Transport.SHARED_MEMORY, server.getLocalPort()));
            assertTrue(e.getMessage().startsWith("Connection refused"), e::getMessage);
        }
        try (RdmaServerSocket server = listening(Transport.SHARED_MEMORY, 0)) {
            assertThrows(ConnectException.class, () -> connected(Transport.TCP, server.getLocalPort()));
            assertThrows(ConnectException.class, () -> new Socket(LOOPBACK, server.getLocalPort()).close());
            connected(Transport.AUTO, server.getLocalPort()).close();
        }
    }

    @Test
    void aPortThatOneTransportLacksIsInUse() throws IOException {
        try (RdmaServerSocket taken = listeningWhereTcpIsFree()) {
            int port = taken.getLocalPort();
            assertThrows(BindException.class, () -> listening(Transport.AUTO, port));
            ProcessStarts.await();
            new ServerSocket(port, 5, LOOPBACK).close(); // TCP's was given back
        }
        try (ServerSocket taken = new ServerSocket(0, 5, LOOPBACK)) {
            int port = taken.getLocalPort();
            assertThrows(BindException.class, () -> listening(Transport.AUTO, port));
            listening(Transport.SHARED_MEMORY, port).close();
        }
    }

    /** Shared memory knows nothing of the ports that TCP gives to others on this machine. */
    private static RdmaServerSocket listeningWhereTcpIsFree() throws IOException {
        while (true) {
            RdmaServerSocket server = listening(Transport.SHARED_MEMORY, 0);
            try {
                new ServerSocket(server.getLocalPort(), 5, LOOPBACK).close();
                return server;
            } catch (BindException e) {
                server.close();
            }
        }
    }

    @Test
    void closingFreesThePortOnEveryTransport() throws IOException {
        int port;
        try (RdmaServerSocket server = listening(Transport.AUTO, 0)) {
            port = server.getLocalPort();
        }
        for (Transport each : List.of(Transport.SHARED_MEMORY, Transport.TCP, Transport.AUTO)) {
            ProcessStarts.await();
            listening(each, port).close();
        }
    }

    @Test
    void aBoundPortIsTheConnectionsWhateverItsTransport() throws IOException {
        try (RdmaServerSocket server = listening(Transport.AUTO, 0); RdmaSocket client = new RdmaSocket()) {
            client.bind(new InetSocketAddress(LOOPBACK, 0));
            int port = client.getLocalPort();
            client.connect(server.getLocalSocketAddress());
            assertTrue(transport(client).is(Transport.SHARED_MEMORY));
            assertEquals(port, client.getLocalPort());
            try (RdmaSocket accepted = server.accept()) {
                assertEquals(port, accepted.getPort());
            }
        }
    }

    @Test
    void theTransportIsSetInTime() throws IOException {
        try (RdmaSocket client = new RdmaSocket(); RdmaServerSocket server = listening(Transport.AUTO, 0)) {
            assertTrue(transport(client).is(Transport.AUTO));
            client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            assertTrue(transport(client).is(Transport.SHARED_MEMORY));
            client.bind(null);
            assertRefused(client);
            client.connect(server.getLocalSocketAddress());
            assertRefused(client);
            SocketException e = assertThrows(SocketException.class,
                    () -> server.setOption(RdmaSocketOptions.TRANSPORT, Transport.TCP));
            assertTrue(e.getMessage().contains("bound"), e::getMessage);
        }
    }

    private static void assertRefused(RdmaSocket client) {
        SocketException e = assertThrows(SocketException.class,
                () -> client.setOption(RdmaSocketOptions.TRANSPORT, Transport.TCP));
        assertTrue(e.getMessage().contains("bound or connected"), e::getMessage);
    }

    @Test
    void transportsHaveNames() {
        assertEquals("tcp", Transport.TCP.name());
        assertEquals("tcp (why)", new Transport("tcp", "why").toString());
        assertTrue(new Transport("tcp", "why").is(Transport.TCP));
        assertThrows(IllegalArgumentException.class, () -> new Transport("sctp", ""));
    }

    @Test
    void theTransportOfDatagramsIsRefusedByStreams() throws IOException {
        try (RdmaSocket socket = new RdmaSocket(); RdmaServerSocket server = new RdmaServerSocket()) {
            assertThrows(IllegalArgumentException.class,
                    () -> socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.UDP));
            assertThrows(IllegalArgumentException.class,
                    () -> server.setOption(RdmaSocketOptions.TRANSPORT, Transport.UDP));
            assertEquals(Transport.AUTO, socket.getOption(RdmaSocketOptions.TRANSPORT));
        }
    }

    @Test
    void connectionsAreCounted() throws IOException {
        TransportCounters before = TransportCounters.of(Transport.SHARED_MEMORY);
        try (RdmaServerSocket server = listening(Transport.AUTO, 0);
                RdmaSocket client = connected(Transport.AUTO, server.getLocalPort());
                RdmaSocket accepted = server.accept()) {
            TransportCounters after = TransportCounters.of(Transport.SHARED_MEMORY);
            assertEquals(before.connected() + 1, after.connected());
            assertEquals(before.accepted() + 1, after.accepted());
            assertTrue(client.isConnected() && accepted.isConnected());
        }
    }

    /** Options that were set before the transport was chosen hold on the chosen one. */
    @Test
    void optionsReachTheChosenTransport() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 5, LOOPBACK); RdmaSocket client = new RdmaSocket()) {
            client.setReceiveBufferSize(40_000);
            client.setKeepAlive(true);
            client.connect(server.getLocalSocketAddress());
            assertTrue(transport(client).is(Transport.TCP));
            assertEquals(40_000, client.getReceiveBufferSize());
            assertTrue(client.getKeepAlive());
            assertThrows(SocketException.class, () -> client.setOption(RdmaSocketOptions.RDMA_SQSIZE, 64));
            assertTrue(client.getOption(RdmaSocketOptions.RDMA_SQSIZE) > 0);
        }
    }
}
