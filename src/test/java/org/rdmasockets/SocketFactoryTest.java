package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ServerSocketFactory;
import javax.net.SocketFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmasockets.contract.ProcessStarts;
import org.rdmasockets.internal.provider.Providers;

/** The factories of {@code javax.net}, as libraries use them. */
class SocketFactoryTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int BACKLOG = 5;

    private static Stream<Transport> transports() {
        Providers.sharedMemory().unavailability()
                .ifPresent(reason -> System.out.println("SocketFactoryTest skips shared memory: " + reason));
        return Providers.sharedMemory().unavailability().isEmpty() ? Stream.of(Transport.TCP, Transport.SHARED_MEMORY)
                : Stream.of(Transport.TCP);
    }

    @ParameterizedTest
    @MethodSource("transports")
    void everyWayToMakeASocketConnectsOverTheTransportAskedFor(Transport wish) throws IOException {
        SocketFactory sockets = new RdmaSocketFactory(wish);
        String host = LOOPBACK.getHostAddress();
        try (ServerSocket server = new RdmaServerSocketFactory(wish).createServerSocket(0, BACKLOG, LOOPBACK)) {
            int port = server.getLocalPort();
            Socket unconnected = sockets.createSocket();
            unconnected.connect(server.getLocalSocketAddress());
            for (Socket socket : List.of(unconnected, sockets.createSocket(host, port),
                    sockets.createSocket(LOOPBACK, port), sockets.createSocket(host, port, LOOPBACK, 0),
                    sockets.createSocket(LOOPBACK, port, LOOPBACK, 0))) {
                try (socket; Socket accepted = server.accept()) {
                    assertInstanceOf(RdmaSocket.class, socket);
                    assertInstanceOf(RdmaSocket.class, accepted);
                    assertTrue(socket.getOption(RdmaSocketOptions.TRANSPORT).is(wish));
                    assertTrue(accepted.getOption(RdmaSocketOptions.TRANSPORT).is(wish));
                    assertEquals(accepted.getRemoteSocketAddress(), socket.getLocalSocketAddress());
                    socket.getOutputStream().write('x');
                    assertEquals('x', accepted.getInputStream().read());
                }
            }
        }
    }

    @Test
    void everyWayToMakeAServerSocketListens() throws IOException {
        ServerSocketFactory servers = RdmaServerSocketFactory.getDefault();
        ServerSocket unbound = servers.createServerSocket();
        assertFalse(unbound.isBound());
        unbound.bind(null);
        for (ServerSocket server : List.of(unbound, servers.createServerSocket(0),
                servers.createServerSocket(0, BACKLOG), servers.createServerSocket(0, BACKLOG, LOOPBACK))) {
            try (server; Socket plain = new Socket(LOOPBACK, server.getLocalPort())) {
                assertInstanceOf(RdmaServerSocket.class, server);
                assertEquals(plain.getLocalPort(), server.accept().getPort());
            }
        }
    }

    @Test
    void withoutAWishTheSettingsDecide() throws IOException {
        assertSame(RdmaSocketFactory.getDefault(), RdmaSocketFactory.getDefault());
        try (Socket socket = new RdmaSocketFactory().createSocket()) {
            assertTrue(socket.getOption(RdmaSocketOptions.TRANSPORT).is(Transport.AUTO));
        }
        assertThrows(NullPointerException.class, () -> new RdmaSocketFactory(null));
        assertThrows(NullPointerException.class, () -> new RdmaServerSocketFactory(null));
    }

    @Test
    void failuresAreThoseOfTheSocket() throws IOException {
        SocketFactory sockets = new RdmaSocketFactory(Transport.TCP);
        int port;
        try (ServerSocket server = new ServerSocket(0, BACKLOG, LOOPBACK)) {
            port = server.getLocalPort();
            assertThrows(IOException.class,
                    () -> new RdmaServerSocketFactory().createServerSocket(port, BACKLOG, LOOPBACK));
        }
        ProcessStarts.await();
        assertThrows(ConnectException.class, () -> sockets.createSocket(LOOPBACK, port));
        assertThrows(UnknownHostException.class, () -> sockets.createSocket("no.such.host.invalid", port));
        assertThrows(IllegalArgumentException.class, () -> sockets.createSocket(LOOPBACK, -1));
    }

    /** This JVM was not told to open java.net; the JVM-wide switch has tests of its own in package programs. */
    @Test
    void replacingTheSocketsOfTheJvmSaysWhatItNeeds() {
        for (SocketException e : List.of(assertThrows(SocketException.class, RdmaSockets::install),
                assertThrows(SocketException.class, RdmaSocketImplFactory::ofSockets))) {
            assertTrue(e.getMessage().contains("--add-opens java.base/java.net=ALL-UNNAMED"), e::getMessage);
            assertTrue(e.getMessage().contains("-javaagent:"), e::getMessage);
        }
    }
}
