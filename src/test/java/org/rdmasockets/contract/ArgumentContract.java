package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;

/** Wrong arguments are refused with the JDK's types and texts, in its order, and harm nothing. */
abstract class ArgumentContract extends SocketContract {
    private static final InetSocketAddress UNRESOLVED = InetSocketAddress.createUnresolved("no.such.host.invalid", 7);
    private static final InetAddress NOT_OURS = InetAddress.ofLiteral("192.0.2.1");

    /** An address of no kind that sockets know. */
    private static final class ForeignAddress extends SocketAddress {
        private static final long serialVersionUID = 1L;
    }

    @Test
    void connectChecksItsArgumentsAndStaysUsable() throws IOException {
        ServerSocket listener = listening();
        Socket client = socket();
        assertRefused(IllegalArgumentException.class, "connect: The address can't be null",
                () -> client.connect(null));
        assertRefused(IllegalArgumentException.class, "connect: timeout can't be negative",
                () -> client.connect(addressOf(listener), -1));
        assertRefused(IllegalArgumentException.class, "Unsupported address type",
                () -> client.connect(new ForeignAddress()));
        assertFalse(client.isClosed() || client.isBound() || client.isConnected());
        client.connect(addressOf(listener));
        client.getOutputStream().write(1);
        assertEquals(1, acceptFrom(listener).getInputStream().read());
    }

    @Test
    void argumentsComeBeforeTheState() throws IOException {
        Socket closed = socket();
        closed.close();
        assertRefused(IllegalArgumentException.class, "connect: The address", () -> closed.connect(null));
        assertRefused(IllegalArgumentException.class, "connect: timeout", () -> closed.connect(UNRESOLVED, -1));
        assertRefused(SocketException.class, "Socket is closed", () -> closed.connect(UNRESOLVED));
        Socket connected = pair().client();
        assertRefused(IllegalArgumentException.class, "connect: timeout", () -> connected.connect(UNRESOLVED, -1));
        assertRefused(SocketException.class, "Already connected", () -> connected.connect(UNRESOLVED));
        assertFalse(connected.isClosed());
    }

    @Test
    void anUnknownHostClosesTheSocket() throws IOException {
        Socket client = socket();
        assertRefused(UnknownHostException.class, "no.such.host.invalid", () -> client.connect(UNRESOLVED));
        assertTrue(client.isClosed());
        assertNull(client.getInetAddress());
    }

    @Test
    void unresolvedIsUnknownWhateverTheNameMeans() throws IOException {
        assertRefused(UnknownHostException.class, "localhost",
                () -> socket().connect(InetSocketAddress.createUnresolved("localhost", 7)));
    }

    @Test
    void nobodyListensOnPortZero() throws IOException {
        Socket client = socket();
        assertRefused(ConnectException.class, "Connection refused",
                () -> client.connect(new InetSocketAddress(fixture().address(), 0), 30_000));
        assertTrue(client.isClosed());
    }

    @Test
    void aRefusedSocketHasNoPeer() throws IOException {
        ServerSocket gone = listening();
        InetSocketAddress destination = addressOf(gone);
        gone.close();
        ProcessStarts.await();
        Socket client = socket();
        client.bind(new InetSocketAddress(fixture().address(), 0));
        assertThrows(ConnectException.class, () -> client.connect(destination));
        assertTrue(client.isClosed() && client.isBound() && !client.isConnected());
        assertNull(client.getInetAddress());
        assertNull(client.getRemoteSocketAddress());
        assertEquals(0, client.getPort());
        assertEquals("Socket[unconnected]", client.toString());
    }

    @Test
    void bindChecksItsArgumentAndStaysUsable() throws IOException {
        Socket client = socket();
        assertRefused(IllegalArgumentException.class, "Unsupported address type",
                () -> client.bind(new ForeignAddress()));
        assertRefused(SocketException.class, "Unresolved address", () -> client.bind(UNRESOLVED));
        assertRefused(BindException.class, "Cannot assign requested address",
                () -> client.bind(new InetSocketAddress(NOT_OURS, 0)));
        assertFalse(client.isBound() || client.isClosed());
        client.bind(new InetSocketAddress(fixture().address(), 0));
        assertTrue(client.isBound());
    }

    @Test
    void listenersCheckTheirArgumentAndStayUsable() throws IOException {
        ServerSocket listener = serverSocket();
        assertRefused(IllegalArgumentException.class, "Unsupported address type",
                () -> listener.bind(new ForeignAddress()));
        assertRefused(SocketException.class, "Unresolved address", () -> listener.bind(UNRESOLVED));
        assertRefused(BindException.class, "Cannot assign requested address",
                () -> listener.bind(new InetSocketAddress(NOT_OURS, 0)));
        assertFalse(listener.isBound() || listener.isClosed());
        assertEquals("ServerSocket[unbound]", listener.toString());
        listener.bind(new InetSocketAddress(fixture().address(), 0));
        assertTrue(connectedTo(listener).isConnected());
    }

    @Test
    void connectedSocketsCannotBeBound() throws IOException {
        SocketPair pair = pair();
        assertRefused(SocketException.class, "Already bound", () -> pair.client().bind(null));
        assertRefused(SocketException.class, "Already bound", () -> pair.server().bind(new ForeignAddress()));
        pair.client().getOutputStream().write(1);
        assertEquals(1, pair.server().getInputStream().read());
    }

    @Test
    void aBacklogBelowOneIsTheDefault() throws IOException {
        for (int backlog : new int[] {0, -5}) {
            ServerSocket listener = serverSocket();
            listener.bind(new InetSocketAddress(fixture().address(), 0), backlog);
            for (int i = 0; i < 5; i++) {
                assertTrue(connectedTo(listener).isConnected());
            }
        }
    }

    @Test
    void namedSettersCheckTheirArguments() throws IOException {
        Socket socket = socket();
        assertRefused(IllegalArgumentException.class, "timeout can't be negative", () -> socket.setSoTimeout(-1));
        assertRefused(IllegalArgumentException.class, "negative send size", () -> socket.setSendBufferSize(0));
        assertRefused(IllegalArgumentException.class, "invalid receive size", () -> socket.setReceiveBufferSize(0));
        assertRefused(IllegalArgumentException.class, "invalid value for SO_LINGER",
                () -> socket.setSoLinger(true, -1));
        assertRefused(IllegalArgumentException.class, "tc is not in range", () -> socket.setTrafficClass(-1));
        ServerSocket listener = serverSocket();
        assertRefused(IllegalArgumentException.class, "timeout < 0", () -> listener.setSoTimeout(-1));
        assertRefused(IllegalArgumentException.class, "negative receive size",
                () -> listener.setReceiveBufferSize(0));
    }

    @Test
    void performancePreferencesAreTakenAndChannelsAreNotThere() throws IOException {
        Socket socket = socket();
        socket.setPerformancePreferences(1, 2, 3);
        assertNull(socket.getChannel());
        ServerSocket listener = serverSocket();
        listener.setPerformancePreferences(3, 2, 1);
        assertNull(listener.getChannel());
        assertEquals(socket, socket);
        assertFalse(socket.equals(socket()));
    }
}
