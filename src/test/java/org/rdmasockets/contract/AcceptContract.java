package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.contract.SocketFixture.Ability;

/** Accepting: waiting, several at once, the backlog, and many connections. */
abstract class AcceptContract extends SocketContract {
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void acceptWaitsForAConnection(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        Call<Socket> accept = Call.start(kind, "accept", () -> acceptFrom(listener)).awaitBlocked();
        Socket client = connectedTo(listener);
        assertEquals(client.getLocalPort(), accept.result().getPort());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void acceptTimesOutAndCanBeCalledAgain(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        listener.setSoTimeout(150);
        SocketTimeoutException e = Call.start(kind, "accept", listener::accept).failure(SocketTimeoutException.class);
        assertEquals("Accept timed out", e.getMessage());
        assertFalse(listener.isClosed());
        listener.setSoTimeout(30_000);
        Socket client = connectedTo(listener);
        Socket server = Call.start(kind, "accept", () -> acceptFrom(listener)).result();
        assertEquals(client.getLocalPort(), server.getPort());
        assertEquals(0, server.getSoTimeout(), "the listener's timeout is not the connection's");
    }

    @Test
    void connectionsAreAcceptedInTheOrderTheyWereMade() throws Exception {
        ServerSocket listener = listening();
        List<Integer> connected = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            connected.add(connectedTo(listener).getLocalPort());
        }
        List<Integer> accepted = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            accepted.add(acceptFrom(listener).getPort());
        }
        assertEquals(connected, accepted);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void aTimeoutCountsTheWaitForAnotherAcceptor(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        Call<Socket> patient = Call.start(kind, "accept", () -> acceptFrom(listener)).awaitBlocked();
        listener.setSoTimeout(150);
        Call.start(kind, "accept with timeout", listener::accept).failure(SocketTimeoutException.class);
        assertFalse(patient.isDone());
        Socket client = connectedTo(listener);
        assertEquals(client.getLocalPort(), patient.result().getPort());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeWakesEverybodyInAccept(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        List<Call<Socket>> accepts = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            accepts.add(Call.start(kind, "accept " + i, listener::accept).awaitBlocked());
        }
        listener.close();
        for (Call<Socket> accept : accepts) {
            assertEquals("Socket closed", accept.failure(SocketException.class).getMessage());
        }
    }

    @Test
    void acceptNeedsABoundAndOpenSocket() throws IOException {
        ServerSocket listener = serverSocket();
        assertEquals("Socket is not bound yet", assertThrows(SocketException.class, listener::accept).getMessage());
        listener.bind(null);
        int port = listener.getLocalPort();
        listener.close();
        assertEquals("Socket is closed", assertThrows(SocketException.class, listener::accept).getMessage());
        assertEquals("Socket is closed",
                assertThrows(SocketException.class, () -> serverSocketClosed().bind(null)).getMessage());
        assertTrue(listener.isClosed() && listener.isBound());
        assertEquals(port, listener.getLocalPort());
    }

    private ServerSocket serverSocketClosed() throws IOException {
        ServerSocket listener = serverSocket();
        listener.close();
        return listener;
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void everyAcceptorGetsAnotherConnection(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        List<Call<Socket>> accepts = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            accepts.add(Call.start(kind, "accept " + i, () -> acceptFrom(listener)));
        }
        Set<Integer> clients = new HashSet<>();
        for (int i = 0; i < 8; i++) {
            clients.add(connectedTo(listener).getLocalPort());
        }
        Set<Integer> accepted = new HashSet<>();
        for (Call<Socket> accept : accepts) {
            accepted.add(accept.result().getPort());
        }
        assertEquals(clients, accepted);
    }

    @Test
    void connectionsWithinTheBacklogWaitForAccept() throws IOException {
        ServerSocket listener = serverSocket();
        listener.bind(new InetSocketAddress(fixture().address(), 0), 10);
        Set<Integer> sent = new HashSet<>();
        for (int i = 0; i < 10; i++) {
            connectedTo(listener).getOutputStream().write(i);
            sent.add(i);
        }
        Set<Integer> received = new HashSet<>();
        for (int i = 0; i < 10; i++) {
            received.add(acceptFrom(listener).getInputStream().read());
        }
        assertEquals(sent, received);
    }

    @Test
    void connectionsThatNobodyAcceptedEndWithTheListener() throws Exception {
        ServerSocket listener = listening();
        Socket client = connectedTo(listener);
        listener.close();
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> client.getInputStream().read());
        try {
            assertEquals(-1, read.result());
        } catch (SocketException e) {
            assertTrue(e.getMessage().contains("reset"), e::getMessage);
        }
    }

    @Test
    void closingAnAcceptedSocketLeavesTheListenerOpen() throws IOException {
        ServerSocket listener = listening();
        connectedTo(listener).close();
        acceptFrom(listener).close();
        Socket client = connectedTo(listener);
        client.getOutputStream().write(5);
        assertEquals(5, acceptFrom(listener).getInputStream().read());
    }

    @Test
    void manyConnectionsAtOnceEcho() throws Exception {
        needs(Ability.MANY_CONNECTIONS);
        int count = fixture().manyConnections();
        ServerSocket listener = serverSocket();
        listener.bind(new InetSocketAddress(fixture().address(), 0), count);
        Call<Void> acceptor = Call.run(ThreadKind.PLATFORM, "acceptor", () -> {
            for (int i = 0; i < count; i++) {
                Socket server = acceptFrom(listener);
                Call.run(ThreadKind.VIRTUAL, "echo",
                        () -> server.getInputStream().transferTo(server.getOutputStream()));
            }
        });
        List<Call<Void>> clients = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] message = ("connection " + i).getBytes();
            clients.add(Call.run(ThreadKind.VIRTUAL, "client " + i, () -> echo(listener, message)));
        }
        for (Call<Void> client : clients) {
            client.result();
        }
        acceptor.result();
    }

    private void echo(ServerSocket listener, byte[] message) throws IOException {
        Socket client = connectedTo(listener);
        for (int round = 0; round < 10; round++) {
            client.getOutputStream().write(message);
            assertEquals(new String(message), new String(client.getInputStream().readNBytes(message.length)));
        }
        client.close();
    }
}
