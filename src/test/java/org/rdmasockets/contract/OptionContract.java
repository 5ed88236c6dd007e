package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.Test;

/** Options are kept, checked, and named by {@code supportedOptions}. */
abstract class OptionContract extends SocketContract {
    /** Values that every family takes as they are, before and after connecting. */
    private static final Map<SocketOption<?>, List<?>> VALUES = Map.of(
            StandardSocketOptions.SO_KEEPALIVE, List.of(true, false),
            StandardSocketOptions.TCP_NODELAY, List.of(true, false),
            StandardSocketOptions.SO_REUSEADDR, List.of(true, false),
            StandardSocketOptions.SO_LINGER, List.of(0, 7, 65_535, -1),
            StandardSocketOptions.IP_TOS, List.of(8, 0),
            ExtendedSocketOptions.TCP_KEEPIDLE, List.of(10, 7200),
            ExtendedSocketOptions.TCP_KEEPINTERVAL, List.of(5, 75),
            ExtendedSocketOptions.TCP_KEEPCOUNT, List.of(3, 9));

    /** An option that no socket has. */
    private static final SocketOption<Integer> UNKNOWN = new SocketOption<>() {
        @Override
        public String name() {
            return "UNKNOWN";
        }

        @Override
        public Class<Integer> type() {
            return Integer.class;
        }
    };

    @Test
    void valuesAreKeptBeforeAndAfterConnecting() throws IOException {
        SocketPair pair = pair();
        for (Socket socket : List.of(socket(), pair.client(), pair.server())) {
            for (SocketOption<?> option : VALUES.keySet()) {
                keepsValues(socket, option);
            }
        }
    }

    @SuppressWarnings("unchecked") // the table has values of the option's type
    private static <T> void keepsValues(Socket socket, SocketOption<T> option) throws IOException {
        for (Object value : VALUES.get(option)) {
            socket.setOption(option, (T) value);
            assertEquals(value, socket.getOption(option), option::name);
        }
    }

    @Test
    void namedMethodsAndOptionsAreTheSame() throws IOException {
        Socket socket = socket();
        socket.setKeepAlive(true);
        assertTrue(socket.getOption(StandardSocketOptions.SO_KEEPALIVE));
        socket.setTcpNoDelay(true);
        assertTrue(socket.getOption(StandardSocketOptions.TCP_NODELAY));
        socket.setReuseAddress(true);
        assertTrue(socket.getOption(StandardSocketOptions.SO_REUSEADDR));
        socket.setTrafficClass(8);
        assertEquals(8, socket.getOption(StandardSocketOptions.IP_TOS));
        socket.setSoLinger(true, 70_000);
        assertEquals(65_535, socket.getOption(StandardSocketOptions.SO_LINGER));
        assertEquals(65_535, socket.getSoLinger());
        socket.setSoLinger(false, 3);
        assertEquals(-1, socket.getSoLinger());
        assertEquals(-1, socket.getOption(StandardSocketOptions.SO_LINGER));
        socket.setOption(StandardSocketOptions.SO_LINGER, 4);
        assertEquals(4, socket.getSoLinger());
    }

    @Test
    void theJdksDefaultsHold() throws IOException {
        Socket socket = socket();
        assertFalse(socket.getKeepAlive());
        assertFalse(socket.getTcpNoDelay());
        assertFalse(socket.getReuseAddress());
        assertFalse(socket.getOOBInline());
        assertEquals(-1, socket.getSoLinger());
        assertEquals(0, socket.getTrafficClass());
        assertEquals(0, socket.getSoTimeout());
        assertTrue(socket.getSendBufferSize() > 0);
        assertTrue(socket.getReceiveBufferSize() > 0);
        assertTrue(serverSocket().getReuseAddress());
        assertTrue(serverSocket().getReceiveBufferSize() > 0);
        assertEquals(7200, socket.getOption(ExtendedSocketOptions.TCP_KEEPIDLE));
    }

    @Test
    void bufferSizesBecomeTheConnections() throws IOException {
        int size = 32_768;
        ServerSocket listener = serverSocket();
        listener.setReceiveBufferSize(size);
        assertEquals(size, listener.getReceiveBufferSize());
        listener.bind(new InetSocketAddress(fixture().address(), 0));
        Socket client = socket();
        client.setReceiveBufferSize(size);
        client.setSendBufferSize(size);
        client.connect(addressOf(listener));
        assertEquals(size, client.getReceiveBufferSize());
        assertEquals(size, client.getSendBufferSize());
        assertEquals(size, acceptFrom(listener).getReceiveBufferSize());
    }

    @Test
    void sizesAreHints() throws IOException {
        Socket client = pair().client();
        for (int size : new int[] {1, 1000, 100_000, Integer.MAX_VALUE}) {
            client.setReceiveBufferSize(size);
            client.setSendBufferSize(size);
            assertTrue(client.getReceiveBufferSize() > 0);
            assertTrue(client.getSendBufferSize() > 0);
        }
    }

    @Test
    void smallBuffersCarryLargeData() throws Exception {
        ServerSocket listener = serverSocket();
        listener.setReceiveBufferSize(1);
        listener.bind(new InetSocketAddress(fixture().address(), 0));
        Socket client = socket();
        client.setReceiveBufferSize(1);
        client.setSendBufferSize(1);
        client.connect(addressOf(listener));
        Socket server = acceptFrom(listener);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write",
                () -> client.getOutputStream().write(new byte[200_000]));
        assertEquals(200_000, server.getInputStream().readNBytes(200_000).length);
        write.result();
    }

    @Test
    void wrongValuesAreRefused() throws IOException {
        Socket socket = socket();
        assertThrows(IllegalArgumentException.class, () -> socket.setReceiveBufferSize(0));
        assertThrows(IllegalArgumentException.class, () -> socket.setSendBufferSize(-1));
        assertThrows(IllegalArgumentException.class, () -> socket.setTrafficClass(256));
        assertThrows(IllegalArgumentException.class, () -> socket.setSoLinger(true, -1));
        assertThrows(IllegalArgumentException.class, () -> socket.setOption(StandardSocketOptions.SO_RCVBUF, -1));
        assertThrows(IllegalArgumentException.class, () -> socket.setOption(StandardSocketOptions.SO_SNDBUF, null));
        assertThrows(IllegalArgumentException.class, () -> socket.setOption(StandardSocketOptions.IP_TOS, -1));
        assertThrows(SocketException.class, () -> socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 0));
        assertThrows(SocketException.class, () -> socket.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, 1000));
        assertThrows(IllegalArgumentException.class, () -> serverSocket().setReceiveBufferSize(0));
        assertThrows(NullPointerException.class, () -> socket.setOption(null, 1));
        assertThrows(NullPointerException.class, () -> socket.getOption(null));
        assertThrows(UnsupportedOperationException.class, () -> socket.setOption(UNKNOWN, 1));
        assertThrows(UnsupportedOperationException.class, () -> socket.getOption(UNKNOWN));
        assertThrows(UnsupportedOperationException.class,
                () -> serverSocket().setOption(StandardSocketOptions.TCP_NODELAY, true));
    }

    @Test
    void supportedOptionsAreSupported() throws IOException {
        Socket socket = socket();
        assertTrue(socket.supportedOptions().containsAll(VALUES.keySet()));
        assertTrue(socket.supportedOptions().containsAll(
                Set.of(StandardSocketOptions.SO_RCVBUF, StandardSocketOptions.SO_SNDBUF)));
        for (SocketOption<?> option : socket.supportedOptions()) {
            assertNotNull(socket.getOption(option), option::name);
        }
        ServerSocket listener = listening();
        assertTrue(listener.supportedOptions().containsAll(Set.of(StandardSocketOptions.SO_RCVBUF,
                StandardSocketOptions.SO_REUSEADDR, StandardSocketOptions.IP_TOS)));
        assertFalse(listener.supportedOptions().contains(StandardSocketOptions.SO_SNDBUF));
        for (SocketOption<?> option : listener.supportedOptions()) {
            assertNotNull(listener.getOption(option), option::name);
        }
    }

    @Test
    void optionsEndWithTheSocket() throws IOException {
        Socket socket = socket();
        ServerSocket listener = serverSocket();
        Set<SocketOption<?>> before = socket.supportedOptions();
        socket.close();
        listener.close();
        assertEquals(before, socket.supportedOptions());
        for (SocketOption<?> option : before) {
            assertThrows(SocketException.class, () -> socket.getOption(option), option::name);
        }
        assertThrows(SocketException.class, () -> socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true));
        assertThrows(SocketException.class, () -> listener.setOption(StandardSocketOptions.SO_RCVBUF, 5000));
        assertThrows(SocketException.class, () -> listener.getOption(StandardSocketOptions.SO_RCVBUF));
    }

    @Test
    void congestionBitsAreTheKernels() throws IOException {
        Socket socket = socket();
        for (int bits : new int[] {1, 2, 3, 255}) {
            socket.setTrafficClass(bits);
            assertEquals(bits & 0xfc, socket.getTrafficClass());
        }
    }

    @Test
    void anAcceptedSocketHasSomeOfItsListenersOptions() throws IOException {
        ServerSocket listener = serverSocket();
        listener.setReuseAddress(true);
        listener.setOption(StandardSocketOptions.IP_TOS, 8);
        listener.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 55);
        listener.setSoTimeout(30_000);
        listener.bind(new InetSocketAddress(fixture().address(), 0));
        connectedTo(listener);
        Socket server = acceptFrom(listener);
        assertEquals(8, server.getTrafficClass());
        assertEquals(55, server.getOption(ExtendedSocketOptions.TCP_KEEPIDLE));
        assertTrue(server.getReuseAddress());
        assertEquals(0, server.getSoTimeout());
        assertEquals(-1, server.getSoLinger());
        assertFalse(server.getKeepAlive() || server.getTcpNoDelay());
    }

    @Test
    void aTrafficClassGoesWithTheConnection() throws IOException {
        ServerSocket listener = listening();
        Socket client = socket();
        client.setTrafficClass(0x28);
        client.connect(addressOf(listener));
        assertEquals(0x28, client.getTrafficClass());
        client.getOutputStream().write(1);
        assertEquals(1, acceptFrom(listener).getInputStream().read());
        client.setTrafficClass(8);
        assertEquals(8, client.getTrafficClass());
    }

    @Test
    void textsAreTheJdks() throws IOException {
        Socket socket = socket();
        assertRefused(IllegalArgumentException.class, "Invalid value 'null'",
                () -> socket.setOption(StandardSocketOptions.SO_SNDBUF, null));
        assertRefused(IllegalArgumentException.class, "Invalid send/receive buffer size",
                () -> socket.setOption(StandardSocketOptions.SO_RCVBUF, -1));
        assertRefused(IllegalArgumentException.class, "Invalid IP_TOS value",
                () -> socket.setOption(StandardSocketOptions.IP_TOS, 256));
        String unsupported = assertThrows(UnsupportedOperationException.class,
                () -> socket.setOption(StandardSocketOptions.IP_MULTICAST_TTL, 1)).getMessage();
        assertTrue(unsupported.contains("IP_MULTICAST_TTL") && unsupported.endsWith("' not supported"), unsupported);
        assertRefused(UnsupportedOperationException.class, "'SO_LINGER' not supported",
                () -> serverSocket().getOption(StandardSocketOptions.SO_LINGER));
        socket.setOption(StandardSocketOptions.SO_LINGER, Integer.MIN_VALUE);
        assertEquals(-1, socket.getOption(StandardSocketOptions.SO_LINGER));
        assertThrows(UnsupportedOperationException.class, () -> socket.supportedOptions().clear());
    }

    @Test
    void valuesSurviveConnecting() throws IOException {
        ServerSocket listener = listening();
        Socket client = socket();
        client.setKeepAlive(true);
        client.setTcpNoDelay(true);
        client.setSoLinger(true, 5);
        client.setSoTimeout(321);
        client.connect(addressOf(listener));
        assertTrue(client.getKeepAlive() && client.getTcpNoDelay());
        assertEquals(5, client.getSoLinger());
        assertEquals(321, client.getSoTimeout());
    }
}
