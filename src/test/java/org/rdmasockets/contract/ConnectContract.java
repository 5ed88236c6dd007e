package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.contract.SocketFixture.Ability;

/** Binding and connecting, and what both ends say of their addresses. */
abstract class ConnectContract extends SocketContract {
    /** An address that no host has (RFC 5737). */
    private static final InetAddress NOT_OURS = InetAddress.ofLiteral("192.0.2.1");

    @Test
    void connectsWritesAndClosesBeforeAcceptIsCalled() throws IOException {
        ServerSocket listener = listening();
        Socket client = connectedTo(listener);
        client.getOutputStream().write(new byte[] {1, 2, 3});
        client.close();
        assertArrayEquals(new byte[] {1, 2, 3}, acceptFrom(listener).getInputStream().readAllBytes());
    }

    @Test
    void bothEndsNameBothAddresses() throws IOException {
        ServerSocket listener = listening();
        Socket client = connectedTo(listener);
        Socket server = acceptFrom(listener);
        InetAddress address = fixture().address();
        assertEquals(new InetSocketAddress(address, listener.getLocalPort()), client.getRemoteSocketAddress());
        assertEquals(client.getLocalSocketAddress(), server.getRemoteSocketAddress());
        assertEquals(client.getRemoteSocketAddress(), server.getLocalSocketAddress());
        assertEquals(address, client.getInetAddress());
        assertEquals(address, client.getLocalAddress());
        assertEquals(address, server.getInetAddress());
        assertEquals(listener.getLocalPort(), client.getPort());
        assertEquals(client.getLocalPort(), server.getPort());
        assertTrue(client.getLocalPort() > 0);
        assertEquals("Socket[addr=" + client.getInetAddress() + ",port=" + listener.getLocalPort() + ",localport="
                + client.getLocalPort() + "]", client.toString());
        assertTrue(server.isBound() && server.isConnected() && !server.isClosed());
        assertTrue(client.isBound() && client.isConnected() && !client.isClosed());
    }

    @Test
    void newSocketsHaveNoAddresses() throws IOException {
        Socket socket = socket();
        assertFalse(socket.isBound() || socket.isConnected() || socket.isClosed());
        assertNull(socket.getInetAddress());
        assertNull(socket.getLocalSocketAddress());
        assertNull(socket.getRemoteSocketAddress());
        assertEquals(0, socket.getPort());
        assertEquals(-1, socket.getLocalPort());
        assertTrue(socket.getLocalAddress().isAnyLocalAddress());
        assertEquals("Socket[unconnected]", socket.toString());
    }

    @Test
    void newServerSocketsHaveNoAddresses() throws IOException {
        ServerSocket listener = serverSocket();
        assertFalse(listener.isBound() || listener.isClosed());
        assertNull(listener.getInetAddress());
        assertNull(listener.getLocalSocketAddress());
        assertEquals(-1, listener.getLocalPort());
        assertEquals("ServerSocket[unbound]", listener.toString());
    }

    @Test
    void portZeroTakesAFreePort() throws IOException {
        ServerSocket first = listening();
        ServerSocket second = listening();
        assertTrue(first.getLocalPort() > 0 && second.getLocalPort() > 0);
        assertTrue(first.getLocalPort() != second.getLocalPort());
        assertEquals(fixture().address(), first.getInetAddress());
        assertEquals(addressOf(first), first.getLocalSocketAddress());
    }

    @Test
    void connectsFromABoundAddress() throws IOException {
        ServerSocket listener = listening();
        Socket client = socket();
        client.bind(new InetSocketAddress(fixture().address(), 0));
        int port = client.getLocalPort();
        assertTrue(client.isBound() && port > 0);
        client.connect(addressOf(listener));
        assertEquals(port, client.getLocalPort());
        assertEquals(new InetSocketAddress(fixture().address(), port), acceptFrom(listener).getRemoteSocketAddress());
    }

    @Test
    void connectsFromTheWildcard() throws IOException {
        ServerSocket listener = listening();
        Socket client = socket();
        client.bind(null);
        int port = client.getLocalPort();
        assertTrue(port > 0);
        assertTrue(client.getLocalAddress().isAnyLocalAddress());
        client.connect(addressOf(listener));
        assertEquals(port, client.getLocalPort());
        assertEquals(fixture().address(), client.getLocalAddress());
    }

    @Test
    void wildcardListenersTakeConnections() throws IOException {
        ServerSocket listener = serverSocket();
        listener.bind(null);
        assertTrue(listener.getInetAddress().isAnyLocalAddress());
        Socket client = connectedTo(listener);
        assertEquals(fixture().address(), client.getInetAddress());
        assertEquals(fixture().address(), acceptFrom(listener).getLocalAddress());
    }

    @Test
    void theWildcardAsDestinationIsThisHost() throws IOException {
        ServerSocket listener = serverSocket();
        listener.bind(null);
        Socket client = socket();
        client.bind(new InetSocketAddress(fixture().address(), 0));
        client.connect(new InetSocketAddress(listener.getLocalPort()));
        assertTrue(client.isConnected());
        assertFalse(client.getInetAddress().isAnyLocalAddress());
    }

    @Test
    void version6Connects() throws IOException {
        needs(Ability.IPV6);
        InetAddress address = fixture().address6().orElseThrow();
        ServerSocket listener = serverSocket();
        listener.bind(new InetSocketAddress(address, 0));
        Socket client = socket();
        client.connect(listener.getLocalSocketAddress());
        Socket server = acceptFrom(listener);
        assertTrue(client.getLocalAddress() instanceof Inet6Address);
        assertEquals(address, server.getInetAddress());
        assertEquals(client.getLocalSocketAddress(), server.getRemoteSocketAddress());
        client.getOutputStream().write(6);
        assertEquals(6, server.getInputStream().read());
    }

    @Test
    void version6ReachesAWildcardListener() throws IOException {
        needs(Ability.IPV6);
        ServerSocket listener = serverSocket();
        listener.bind(null);
        Socket client = socket();
        client.connect(new InetSocketAddress(fixture().address6().orElseThrow(), listener.getLocalPort()));
        assertEquals(client.getLocalSocketAddress(), acceptFrom(listener).getRemoteSocketAddress());
    }

    @Test
    void refusesWhereNobodyListens() throws IOException {
        ServerSocket gone = listening();
        InetSocketAddress destination = addressOf(gone);
        gone.close();
        ProcessStarts.await();
        Socket client = socket();
        ConnectException e = assertThrows(ConnectException.class, () -> client.connect(destination));
        assertTrue(e.getMessage().startsWith("Connection refused"), e::getMessage);
        assertTrue(client.isClosed());
        assertFalse(client.isConnected());
    }

    @Test
    void connectsAfterAnotherSocketWasRefused() throws IOException {
        refusesWhereNobodyListens();
        pair();
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void connectTimesOut(ThreadKind kind) throws Exception {
        needs(Ability.SILENT_DESTINATION);
        InetSocketAddress destination = fixture().silentDestination(this);
        Socket client = socket();
        long start = System.nanoTime();
        SocketTimeoutException e = Call.run(kind, "connect", () -> client.connect(destination, 300))
                .failure(SocketTimeoutException.class);
        assertEquals("Connect timed out", e.getMessage());
        assertTrue(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(299));
        assertTrue(client.isClosed());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeEndsAConnect(ThreadKind kind) throws Exception {
        needs(Ability.SILENT_DESTINATION);
        InetSocketAddress destination = fixture().silentDestination(this);
        Socket client = socket();
        Call<Void> connect = Call.run(kind, "connect", () -> client.connect(destination)).awaitBlocked();
        client.close();
        assertEquals("Socket closed", connect.failure(SocketException.class).getMessage());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void connectWithinATimeoutConnects(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        Socket client = socket();
        Call.run(kind, "connect", () -> client.connect(addressOf(listener), 30_000)).result();
        client.getOutputStream().write(7);
        assertEquals(7, acceptFrom(listener).getInputStream().read());
    }

    @Test
    void unresolvedAddressesAreUnknownHosts() throws IOException {
        Socket client = socket();
        UnknownHostException e = assertThrows(UnknownHostException.class,
                () -> client.connect(InetSocketAddress.createUnresolved("no.such.host.invalid", 1)));
        assertTrue(e.getMessage().contains("no.such.host.invalid"), e::getMessage);
    }

    @Test
    void connectsOnlyOnce() throws IOException {
        SocketPair pair = pair();
        SocketException e = assertThrows(SocketException.class,
                () -> pair.client().connect(new InetSocketAddress(fixture().address(), 1)));
        assertEquals("Already connected", e.getMessage());
        pair.client().getOutputStream().write(1);
        assertEquals(1, pair.server().getInputStream().read());
    }

    @Test
    void bindsOnlyOnce() throws IOException {
        Socket client = socket();
        client.bind(null);
        assertEquals("Already bound", assertThrows(SocketException.class, () -> client.bind(null)).getMessage());
        ServerSocket listener = listening();
        assertEquals("Already bound", assertThrows(SocketException.class, () -> listener.bind(null)).getMessage());
    }

    @Test
    void refusesAPortInUse() throws IOException {
        ServerSocket listener = listening();
        ServerSocket another = serverSocket();
        BindException e = assertThrows(BindException.class, () -> another.bind(addressOf(listener)));
        assertTrue(e.getMessage().startsWith("Address already in use"), e::getMessage);
        assertFalse(another.isBound());
        another.bind(new InetSocketAddress(fixture().address(), 0));
        assertTrue(connectedTo(another).isConnected());
    }

    @Test
    void refusesAPortInUseToClients() throws IOException {
        Socket first = socket();
        first.bind(new InetSocketAddress(fixture().address(), 0));
        Socket second = socket();
        assertThrows(BindException.class, () -> second.bind(first.getLocalSocketAddress()));
        Socket third = socket();
        assertThrows(BindException.class, () -> third.bind(addressOf(listening())), "port of a listener");
    }

    @Test
    void refusesAnAddressThatIsNotOurs() throws IOException {
        Socket client = socket();
        BindException e = assertThrows(BindException.class, () -> client.bind(new InetSocketAddress(NOT_OURS, 0)));
        assertTrue(e.getMessage().startsWith("Cannot assign requested address"), e::getMessage);
        ServerSocket listener = serverSocket();
        assertThrows(BindException.class, () -> listener.bind(new InetSocketAddress(NOT_OURS, 0)));
    }

    @Test
    void aPortIsFreeAfterItsListenerIsClosed() throws IOException {
        ServerSocket first = listening();
        InetSocketAddress address = addressOf(first);
        Socket client = connectedTo(first);
        Socket server = acceptFrom(first);
        first.close();
        ProcessStarts.await();
        ServerSocket second = serverSocket();
        second.bind(address);
        assertTrue(connectedTo(second).isConnected());
        client.getOutputStream().write(9); // the connection of the first listener goes on
        assertEquals(9, server.getInputStream().read());
    }
}
