package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.TransportType;

/** The choice by auto where there is an RDMA device: RoCE is used, iWARP is left alone. */
@Tag("device")
class TransportOnDeviceTest {
    private static final int PATIENCE_MILLIS = 30_000;
    /** A host that does not answer in the test guest. */
    private static final int SILENT_HOST = 99;

    private final InetAddress address = TestDevice.address();
    private final boolean iwarp = RdmaDevices.list().stream()
            .anyMatch(d -> d.name().equals(TestDevice.name()) && d.transport() == TransportType.IWARP);

    private static RdmaServerSocket listening(Transport transport, InetAddress local) throws IOException {
        RdmaServerSocket server = new RdmaServerSocket();
        server.setOption(RdmaSocketOptions.TRANSPORT, transport);
        server.setSoTimeout(PATIENCE_MILLIS);
        server.bind(new InetSocketAddress(local, 0));
        return server;
    }

    private RdmaSocket connected(Transport transport, int port) throws IOException {
        RdmaSocket socket = new RdmaSocket();
        socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
        socket.connect(new InetSocketAddress(address, port), PATIENCE_MILLIS);
        socket.setSoTimeout(PATIENCE_MILLIS);
        return socket;
    }

    private static Transport transport(Socket socket) throws IOException {
        return socket.getOption(RdmaSocketOptions.TRANSPORT);
    }

    private static void assertCarries(Socket from, Socket to) throws IOException {
        from.getOutputStream().write("carried".getBytes());
        assertEquals("carried", new String(to.getInputStream().readNBytes(7)));
    }

    /** An iWARP listener is a TCP listener of the kernel: there auto gets as far as any TCP client. */
    @Test
    void autoTakesRoceOnly() throws IOException {
        try (RdmaServerSocket server = listening(Transport.IBVERBS, address);
                RdmaSocket client = connected(Transport.AUTO, server.getLocalPort())) {
            assertTrue(transport(client).is(iwarp ? Transport.TCP : Transport.IBVERBS), () -> client + " is not");
            assertTrue(transport(client).reason().contains("sharedmemory"), client::toString);
            if (!iwarp) {
                try (RdmaSocket accepted = server.accept()) {
                    assertTrue(transport(accepted).is(Transport.IBVERBS));
                    assertCarries(client, accepted);
                }
            }
        }
    }

    @Test
    void plainTcpServersSeeNothingButTheApplicationsBytes() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 5, address);
                RdmaSocket client = connected(Transport.AUTO, server.getLocalPort());
                Socket accepted = server.accept()) {
            assertTrue(transport(client).is(Transport.TCP));
            assertEquals(iwarp, transport(client).reason().contains("iWARP"), () -> client.toString());
            assertCarries(client, accepted);
            assertCarries(accepted, client);
            server.setSoTimeout(1);
            assertThrows(SocketTimeoutException.class, server::accept, "only one connection came");
        }
    }

    @Test
    void oneListenerTakesTcpAndRoceOnOnePort() throws IOException {
        try (RdmaServerSocket server = listening(Transport.AUTO, address)) {
            String reason = server.getOption(RdmaSocketOptions.TRANSPORT).reason();
            assertEquals(iwarp, !reason.contains("listens over tcp, sharedmemory, ibverbs"), reason);
            assertEquals(iwarp, reason.contains("iWARP"), reason);
            assertReaches(server, Transport.TCP);
            assertReaches(server, Transport.SHARED_MEMORY);
            if (!iwarp) {
                assertReaches(server, Transport.IBVERBS);
            }
        }
    }

    /** In the test guest there is always an iWARP device too, so each address is bound by itself. */
    @Test
    void theWildcardTakesTcpAndRoceOnOnePort() throws IOException {
        try (RdmaServerSocket server = listening(Transport.AUTO, InetAddress.ofLiteral("0.0.0.0"))) {
            assertReaches(server, Transport.TCP);
            if (!iwarp) {
                assertReaches(server, Transport.IBVERBS);
            }
        }
    }

    private void assertReaches(RdmaServerSocket server, Transport transport) throws IOException {
        try (RdmaSocket client = connected(transport, server.getLocalPort()); RdmaSocket accepted = server.accept()) {
            assertTrue(transport(accepted).is(transport), () -> accepted + " is not over " + transport);
            assertCarries(client, accepted);
            assertCarries(accepted, client);
        }
    }

    @Test
    void autoPrefersSharedMemoryOnThisHost() throws IOException {
        try (RdmaServerSocket server = listening(Transport.AUTO, address);
                RdmaSocket client = connected(Transport.AUTO, server.getLocalPort())) {
            assertTrue(transport(client).is(Transport.SHARED_MEMORY), () -> client + " is not");
        }
    }

    /** The attempt over RDMA and that over TCP share the time. */
    @Test
    void aConnectTimeoutHoldsForTheWhole() throws IOException {
        byte[] host = address.getAddress();
        host[host.length - 1] = SILENT_HOST;
        try (RdmaSocket client = new RdmaSocket()) {
            client.setOption(RdmaSocketOptions.TRANSPORT, Transport.AUTO);
            long start = System.nanoTime();
            assertThrows(SocketTimeoutException.class,
                    () -> client.connect(new InetSocketAddress(InetAddress.getByAddress(host), 7471), 1_000));
            assertFalse(System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(999));
        }
    }
}
