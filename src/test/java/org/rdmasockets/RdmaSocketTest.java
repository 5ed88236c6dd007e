package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.UnknownHostException;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.rdmasockets.internal.socket.RdmaSocketImpl;

/** The behaviour of RDMA sockets before a device is needed, and their messages where there is none. */
class RdmaSocketTest {
    private static final InetSocketAddress ANYWHERE = new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 7471);

    @Test
    void areSockets() throws IOException {
        try (RdmaSocket socket = new RdmaSocket(); RdmaServerSocket server = new RdmaServerSocket()) {
            assertInstanceOf(Socket.class, socket);
            assertInstanceOf(ServerSocket.class, server);
            assertEquals("Socket[unconnected]", socket.toString());
            assertEquals("ServerSocket[unbound]", server.toString());
        }
    }

    @Test
    void rdmaOptionsAreKeptUntilConnecting() throws IOException {
        try (RdmaSocket socket = new RdmaSocket()) {
            for (SocketOption<Integer> option : rdmaOptions()) {
                assertEquals(option == RdmaSocketOptions.RDMA_IOMAPSIZE, socket.getOption(option) == 0, option::name);
                socket.setOption(option, 48);
                assertEquals(48, socket.getOption(option), option::name);
            }
        }
    }

    @Test
    void serverSocketsHaveTheRdmaOptionsToo() throws IOException {
        try (RdmaServerSocket server = new RdmaServerSocket()) {
            assertTrue(server.supportedOptions().containsAll(rdmaOptions()));
            server.setOption(RdmaSocketOptions.RDMA_RQSIZE, 200);
            assertEquals(200, server.getOption(RdmaSocketOptions.RDMA_RQSIZE));
        }
    }

    @Test
    void rdmaOptionsNameTheirRange() throws IOException {
        try (RdmaSocket socket = new RdmaSocket()) {
            assertRefused("16 to 65534", () -> socket.setOption(RdmaSocketOptions.RDMA_SQSIZE, 15));
            assertRefused("32 to 65534", () -> socket.setOption(RdmaSocketOptions.RDMA_RQSIZE, 65_535));
            assertRefused("0 to 4096", () -> socket.setOption(RdmaSocketOptions.RDMA_INLINE, -1));
            assertRefused("0 to 32512", () -> socket.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 32_513));
            assertEquals(0, socket.getOption(RdmaSocketOptions.RDMA_IOMAPSIZE));
            socket.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 300);
            assertEquals(256, socket.getOption(RdmaSocketOptions.RDMA_IOMAPSIZE));
            assertRefused("0 to 1000", () -> socket.setOption(RdmaSocketOptions.SPIN_MICROS, 1001));
        }
    }

    private static void assertRefused(String range, Executable setting) {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, setting);
        assertTrue(e.getMessage().contains(range), e::getMessage);
    }

    @Test
    void spinningCanBeChangedAtAnyTimeAndIsInherited() throws IOException {
        try (RdmaServerSocket server = new RdmaServerSocket(0)) {
            server.setOption(RdmaSocketOptions.SPIN_MICROS, 7);
            try (RdmaSocket client = new RdmaSocket((String) null, server.getLocalPort());
                    Socket accepted = server.accept()) {
                assertEquals(7, accepted.getOption(RdmaSocketOptions.SPIN_MICROS));
                client.setOption(RdmaSocketOptions.SPIN_MICROS, 0);
                assertEquals(0, client.getOption(RdmaSocketOptions.SPIN_MICROS));
                client.getOutputStream().write(1);
                assertEquals(1, accepted.getInputStream().read());
            }
        }
    }

    @Test
    void rdmaOptionsAreNamedAsInRsocket() {
        assertEquals(List.of("RDMA_SQSIZE", "RDMA_RQSIZE", "RDMA_INLINE", "RDMA_IOMAPSIZE"),
                rdmaOptions().stream().map(SocketOption::name).toList());
    }

    private static List<SocketOption<Integer>> rdmaOptions() {
        return List.of(RdmaSocketOptions.RDMA_SQSIZE, RdmaSocketOptions.RDMA_RQSIZE, RdmaSocketOptions.RDMA_INLINE,
                RdmaSocketOptions.RDMA_IOMAPSIZE);
    }

    @Test
    void unknownHostsAreUnknown() {
        assertThrows(UnknownHostException.class, () -> new RdmaSocket("no.such.host.invalid", 7471));
    }

    @Test
    void whoReadsUrgentDataGetsTcp() throws IOException {
        try (RdmaServerSocket server = new RdmaServerSocket(0, 1, InetAddress.getLoopbackAddress());
                RdmaSocket reader = new RdmaSocket()) {
            reader.setOOBInline(true);
            reader.connect(server.getLocalSocketAddress());
            assertTrue(reader.getOOBInline() && reader.getOption(RdmaSocketOptions.TRANSPORT).is(Transport.TCP));
            try (RdmaSocket writer = server.accept()) {
                writer.sendUrgentData(9);
                assertEquals(9, reader.getInputStream().read());
            }
        }
        try (RdmaSocket forced = new RdmaSocket()) {
            forced.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            assertThrows(SocketException.class, () -> forced.setOOBInline(true));
            assertFalse(forced.getOOBInline() || forced.isClosed());
        }
        try (RdmaSocket later = new RdmaSocket()) {
            later.setOOBInline(true);
            later.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            SocketException e = assertThrows(SocketException.class, () -> later.connect(ANYWHERE));
            assertTrue(e.getMessage().startsWith("Urgent data not supported"), e::getMessage);
            assertTrue(later.isClosed());
        }
    }

    @Test
    void tcpServerSocketsCannotAcceptForUs() throws IOException {
        ServerSocket tcp = new ServerSocket() {
            @Override
            public Socket accept() throws IOException {
                RdmaSocket socket = new RdmaSocket();
                implAccept(socket);
                return socket;
            }
        };
        try (tcp) {
            tcp.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (Socket client = new Socket(tcp.getInetAddress(), tcp.getLocalPort())) {
                IOException e = assertThrows(IOException.class, tcp::accept);
                assertTrue(e.getMessage().contains("cannot accept a connection"), e::getMessage);
                assertTrue(client.isConnected());
            }
        }
    }

    @Test
    void acceptsIntoASocketThatIsNotConnected() throws IOException {
        RdmaSocket open = new RdmaSocket();
        RdmaSocket closed = new RdmaSocket();
        RdmaSocket[] next = {new RdmaSocket()};
        ServerSocket server = new ServerSocket(new RdmaSocketImpl(true)) {
            @Override
            public Socket accept() throws IOException {
                implAccept(next[0]);
                return next[0];
            }
        };
        try (server; open; closed) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (RdmaSocket client = new RdmaSocket((String) null, server.getLocalPort())) {
                assertEquals(client.getLocalPort(), server.accept().getPort());
                assertTrue(client.getInetAddress().isLoopbackAddress());
                assertSame(client.getInputStream(), client.getInputStream());
                assertSame(client.getOutputStream(), client.getOutputStream());
            }
            closed.setSoTimeout(1); // until it is used, a socket has not made what close would close
            closed.close();
            next[0] = closed;
            try (RdmaSocket client = new RdmaSocket(server.getInetAddress(), server.getLocalPort())) {
                assertThrows(SocketException.class, server::accept);
                assertFalse(server.isClosed() || client.isClosed());
            }
            next[0] = open;
            open.bind(null);
            try (RdmaSocket client = new RdmaSocket(server.getInetAddress(), server.getLocalPort())) {
                assertEquals(client.getLocalPort(), server.accept().getPort());
            }
        }
    }

    @Test
    void constructorsCheckTheirArguments() {
        assertThrows(NullPointerException.class, () -> new RdmaSocket((InetAddress) null, 1));
        assertThrows(NullPointerException.class, () -> new RdmaSocket((InetAddress) null, 1, null, 0));
        assertThrows(IllegalArgumentException.class, () -> new RdmaSocket("127.0.0.1", -1));
        assertThrows(IllegalArgumentException.class, () -> new RdmaSocket("127.0.0.1", 65_536));
        assertThrows(IllegalArgumentException.class, () -> new RdmaSocket("127.0.0.1", 1, null, -1));
        assertThrows(IllegalArgumentException.class, () -> new RdmaServerSocket(-1));
        assertThrows(IllegalArgumentException.class, () -> new RdmaServerSocket(65_536));
    }

    @Test
    void whoReadsNoMoreHoldsNobodyUp() throws IOException {
        try (RdmaServerSocket server = new RdmaServerSocket(0, 1, InetAddress.getLoopbackAddress());
                RdmaSocket writer = new RdmaSocket()) {
            writer.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            writer.connect(server.getLocalSocketAddress());
            try (Socket deaf = server.accept()) {
                deaf.shutdownInput();
                writer.getOutputStream().write(new byte[10_000_000]); // far more than fits into the buffers
                deaf.getOutputStream().write(1);
                assertEquals(1, writer.getInputStream().read());
            }
        }
    }

    @Test
    void devicesOrAReasonAreTold() {
        assertEquals(RdmaDevices.list().isEmpty(), RdmaDevices.unavailability().isPresent());
        RdmaDevices.unavailability().ifPresent(reason -> assertFalse(reason.isBlank()));
    }

    @Test
    void withoutRdmaEveryForcedAttemptTellsTheReason() throws IOException {
        String reason = RdmaDevices.unavailability().orElse(null);
        Assumptions.assumeTrue(reason != null, "this machine has RDMA");
        assertTellsWhy(reason, () -> forced(new RdmaSocket()).connect(ANYWHERE));
        assertTellsWhy(reason, () -> forced(new RdmaSocket()).connect(ANYWHERE, 1000));
        assertTellsWhy(reason, () -> forced(new RdmaSocket()).bind(null));
        try (RdmaServerSocket server = new RdmaServerSocket()) {
            server.setOption(RdmaSocketOptions.TRANSPORT, Transport.IBVERBS);
            assertTellsWhy(reason, () -> server.bind(null));
            assertFalse(server.isBound());
        }
    }

    private static Socket forced(RdmaSocket socket) throws IOException {
        return socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.IBVERBS);
    }

    private static void assertTellsWhy(String reason, Executable attempt) {
        SocketException e = assertThrows(SocketException.class, attempt);
        assertTrue(e.getMessage().contains(reason), e::getMessage);
    }
}
