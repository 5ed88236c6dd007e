package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.contract.SocketFixture.Ability;

/** Several threads on one socket: a thread that waits for another is woken by what wakes that one. */
abstract class ConcurrencyContract extends SocketContract {
    private static final int TOO_MUCH = 1 << 25;

    private List<Call<Integer>> readers(ThreadKind kind, Socket socket) throws Exception {
        List<Call<Integer>> readers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            readers.add(Call.start(kind, "read " + i, () -> socket.getInputStream().read()).awaitBlocked());
        }
        return readers;
    }

    private List<Call<Void>> writers(ThreadKind kind, Socket socket) throws Exception {
        List<Call<Void>> writers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            writers.add(Call.run(kind, "write " + i, () -> socket.getOutputStream().write(new byte[TOO_MUCH]))
                    .awaitBlocked());
        }
        return writers;
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void shuttingInputDownWakesEveryReader(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        List<Call<Integer>> readers = readers(kind, pair.client());
        pair.client().shutdownInput();
        for (Call<Integer> reader : readers) {
            assertEquals(-1, reader.result());
        }
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void shuttingOutputDownWakesEveryWriter(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        List<Call<Void>> writers = writers(kind, pair.client());
        pair.client().shutdownOutput();
        for (Call<Void> writer : writers) {
            assertEquals("Broken pipe", writer.failure(SocketException.class).getMessage());
        }
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void theEndOfTheStreamWakesEveryReader(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        List<Call<Integer>> readers = readers(kind, pair.client());
        pair.server().shutdownOutput();
        for (Call<Integer> reader : readers) {
            assertEquals(-1, reader.result());
        }
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeWakesTimedReadersAndWriters(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(60_000);
        List<Call<?>> calls = new ArrayList<>();
        calls.addAll(readers(kind, pair.client()));
        calls.addAll(writers(kind, pair.client()));
        pair.client().close();
        for (Call<?> call : calls) {
            assertEquals("Socket closed", call.failure(SocketException.class).getMessage());
        }
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void everyCloserReturns(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        List<Call<Void>> closers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            closers.add(Call.run(kind, "close " + i, () -> pair.client().close()));
        }
        for (Call<Void> closer : closers) {
            closer.result();
        }
        assertEquals("Socket closed", read.failure(SocketException.class).getMessage());
        assertEquals(-1, pair.server().getInputStream().read());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void nothingButDataWaitsForData(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        List<Call<Void>> writers = writers(kind, pair.client());
        Call.run(kind, "options and addresses", () -> {
            Socket socket = pair.client();
            socket.setTcpNoDelay(true);
            socket.setKeepAlive(true);
            socket.setSoTimeout(1);
            assertTrue(socket.getTcpNoDelay() && socket.getKeepAlive());
            assertEquals(0, socket.getInputStream().available());
            assertTrue(socket.getLocalPort() > 0 && socket.getPort() > 0 && !socket.toString().isEmpty());
            assertFalse(socket.getLocalAddress().isAnyLocalAddress());
            assertTrue(socket.getSendBufferSize() > 0);
        }).result();
        assertFalse(read.isDone() || writers.getFirst().isDone(), "the timeout is for reads that begin later");
        pair.server().getOutputStream().write(3);
        assertEquals(3, read.result());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void twoMayNotConnectOneSocket(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        Socket client = socket();
        List<Call<Void>> connects = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            connects.add(Call.run(kind, "connect " + i, () -> client.connect(addressOf(listener), 30_000)));
        }
        int connected = 0;
        for (Call<Void> connect : connects) {
            try {
                connect.result();
                connected++;
            } catch (SocketException e) {
                assertTrue(List.of("Already connected", "Socket closed", "Socket is closed").contains(e.getMessage()),
                        e::getMessage);
            }
        }
        assertEquals(1, connected);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void aSecondConnectWaitsForTheFirst(ThreadKind kind) throws Exception {
        needs(Ability.SILENT_DESTINATION);
        InetSocketAddress destination = fixture().silentDestination(this);
        Socket client = socket();
        Call<Void> first = Call.run(kind, "connect", () -> client.connect(destination)).awaitBlocked();
        Call<Void> second = Call.run(kind, "connect too", () -> client.connect(destination)).awaitBlocked();
        client.close();
        assertEquals("Socket closed", first.failure(SocketException.class).getMessage());
        second.failure(SocketException.class);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void aConnectingSocketIsNeitherConnectedNorFree(ThreadKind kind) throws Exception {
        needs(Ability.SILENT_DESTINATION);
        InetSocketAddress destination = fixture().silentDestination(this);
        Socket client = socket();
        Call<Void> connect = Call.run(kind, "connect", () -> client.connect(destination)).awaitBlocked();
        assertFalse(client.isConnected() || client.isClosed());
        assertEquals("Socket[unconnected]", client.toString());
        assertRefused(SocketException.class, "Socket is not connected", client::getInputStream);
        assertRefused(SocketException.class, "Socket is not connected", client::shutdownInput);
        assertRefused(SocketException.class, "", () -> client.bind(null));
        client.setSoTimeout(5);
        client.setKeepAlive(true);
        assertTrue(client.getKeepAlive() && client.getSoTimeout() == 5);
        assertFalse(connect.isDone());
        client.close();
        assertEquals("Socket closed", connect.failure(SocketException.class).getMessage());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void timedOutAcceptsLoseNoConnection(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        listener.setSoTimeout(1);
        List<Integer> connected = new ArrayList<>();
        List<Integer> accepted = new ArrayList<>();
        Call<Void> accept = Call.run(kind, "accept", () -> {
            while (accepted.size() < 10) {
                try {
                    accepted.add(acceptFrom(listener).getPort());
                } catch (SocketTimeoutException e) {
                    assertEquals("Accept timed out", e.getMessage());
                }
            }
        });
        for (int i = 0; i < 10; i++) {
            connected.add(connectedTo(listener).getLocalPort());
        }
        accept.result();
        assertEquals(connected, accepted);
    }

    @Test
    void timedOutReadsLoseNoByte() throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(1);
        int count = 2000;
        Call<Void> write = Call.run(ThreadKind.PLATFORM, "write", () -> {
            for (int i = 0; i < count; i++) {
                pair.server().getOutputStream().write(i);
            }
        });
        for (int i = 0; i < count; i++) {
            assertEquals(i & 0xff, readPatiently(pair.client()));
        }
        write.result();
    }

    private static int readPatiently(Socket socket) throws IOException {
        while (true) {
            try {
                return socket.getInputStream().read();
            } catch (SocketTimeoutException e) {
                assertFalse(socket.isClosed());
            }
        }
    }
}
