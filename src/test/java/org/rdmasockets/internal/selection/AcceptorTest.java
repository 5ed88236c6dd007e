package org.rdmasockets.internal.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.contract.ProcessStarts;
import org.rdmasockets.internal.connection.AcceptQueue;
import org.rdmasockets.internal.connection.Connection;
import org.rdmasockets.internal.connection.Listener;
import org.rdmasockets.internal.connection.PendingOptions;
import org.rdmasockets.internal.connection.StreamOptions;
import org.rdmasockets.internal.connection.TcpListener;

/** One port number for all transports. The first is TCP, the second a pretended one that has its own idea of ports. */
class AcceptorTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(LOOPBACK, 0);
    private static final Policy.Decision AUTO = new Policy.Decision(Policy.AUTO, "");
    private static final List<String> BOTH = List.of(Policy.TCP, "other");

    /** Ports that the other transport was asked for. */
    private final List<Integer> asked = new ArrayList<>();

    /** A transport that refuses so many times. */
    private Acceptor.Opener refusing(int times, IOException refusal) {
        return (end, transport, address) -> {
            if (transport.equals(Policy.TCP)) {
                return tcp(address, end.accepted);
            }
            asked.add(address.getPort());
            if (asked.size() <= times) {
                throw refusal;
            }
            return tcp(new InetSocketAddress("127.0.0.2", address.getPort()), end.accepted);
        };
    }

    private static Listener tcp(InetSocketAddress address, AcceptQueue<Connection> accepted) throws IOException {
        return TcpListener.open(address, 5, new PendingOptions(StreamOptions.DEFAULT, Map.of(), false, false),
                accepted);
    }

    @Test
    void aFreePortIsFreeOnAllTransports() throws IOException {
        BindException taken = new BindException("Address already in use");
        try (Acceptor end = Acceptor.open(AUTO, BOTH, ANY_PORT, StreamOptions.DEFAULT, refusing(3, taken))) {
            assertEquals(4, asked.size());
            assertEquals(4, new HashSet<>(asked).size(), "another port each time");
            assertEquals(asked.getLast(), end.localAddress().getPort());
        }
    }

    @Test
    void theSearchEnds() {
        BindException taken = new BindException("Address already in use");
        assertEquals(taken, assertThrows(BindException.class,
                () -> Acceptor.open(AUTO, BOTH, ANY_PORT, StreamOptions.DEFAULT, refusing(Integer.MAX_VALUE, taken))));
    }

    @Test
    void aGivenPortIsNotReplaced() throws IOException {
        int port = FreePorts.next(LOOPBACK);
        InetSocketAddress address = new InetSocketAddress(LOOPBACK, port);
        assertThrows(BindException.class,
                () -> Acceptor.open(AUTO, BOTH, address, StreamOptions.DEFAULT,
                        refusing(1, new BindException("Address already in use"))));
        assertEquals(List.of(port), asked);
        ProcessStarts.await();
        new ServerSocket(port, 1, LOOPBACK).close(); // TCP has given it back
    }

    @Test
    void whatCannotListenIsLeftOutAndNamed() throws IOException {
        SocketException missing = new SocketException("there is none");
        try (Acceptor end = Acceptor.open(AUTO, BOTH, ANY_PORT, StreamOptions.DEFAULT, refusing(1, missing))) {
            assertEquals("listens over tcp; left out: other: there is none", end.reason());
        }
    }

    @Test
    void withNothingLeftItFails() {
        SocketException e = assertThrows(SocketException.class, () -> Acceptor.open(AUTO, List.of("other"), ANY_PORT,
                StreamOptions.DEFAULT, refusing(1, new SocketException("there is none"))));
        assertTrue(e.getMessage().contains("other: there is none"), e::getMessage);
        Policy.Decision forced = new Policy.Decision("other", "why");
        assertEquals("there is none", assertThrows(SocketException.class, () -> Acceptor.open(forced, List.of("other"),
                ANY_PORT, StreamOptions.DEFAULT, refusing(2, new SocketException("there is none")))).getMessage());
    }
}
