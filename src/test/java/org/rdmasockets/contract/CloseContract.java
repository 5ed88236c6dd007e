package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Closing: from another thread, with data on its way, by the peer, abruptly, and by forgetting. */
abstract class CloseContract extends SocketContract {
    private static final int TOO_MUCH = 1 << 25;

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeWakesAReader(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        pair.client().close();
        assertEquals("Socket closed", read.failure(SocketException.class).getMessage());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeWakesATimedReader(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(60_000);
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        pair.client().close();
        assertEquals("Socket closed", read.failure(SocketException.class).getMessage());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeWakesReadersThatWaitForEachOther(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        List<Call<Integer>> reads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            reads.add(Call.start(kind, "read " + i, () -> pair.client().getInputStream().read()).awaitBlocked());
        }
        pair.client().close();
        for (Call<Integer> read : reads) {
            assertEquals("Socket closed", read.failure(SocketException.class).getMessage());
        }
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeWakesAWriter(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Void> write = Call.run(kind, "write", () -> pair.client().getOutputStream().write(new byte[TOO_MUCH]))
                .awaitBlocked();
        pair.client().close();
        assertEquals("Socket closed", write.failure(SocketException.class).getMessage());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeWakesReaderAndWriterAtOnce(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        Call<Void> write = Call.run(kind, "write", () -> pair.client().getOutputStream().write(new byte[TOO_MUCH]))
                .awaitBlocked();
        pair.client().getInputStream().close();
        assertTrue(pair.client().isClosed());
        read.failure(SocketException.class);
        write.failure(SocketException.class);
    }

    /** A program that closes a socket to end a call asks, where that fails, whether it was closed. */
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void whoeverCloseWakesSeesThatItIsClosed(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        ServerSocket listener = listening();
        List<Call<Boolean>> waits = List.of(
                Call.start(kind, "read", () -> isClosedWhenThisFails(pair.client()::isClosed,
                        () -> pair.client().getInputStream().read())),
                Call.start(kind, "write", () -> isClosedWhenThisFails(pair.client()::isClosed,
                        () -> pair.client().getOutputStream().write(new byte[TOO_MUCH]))),
                Call.start(kind, "accept", () -> isClosedWhenThisFails(listener::isClosed, listener::accept)));
        for (Call<Boolean> wait : waits) {
            wait.awaitBlocked();
        }
        pair.client().close();
        listener.close();
        for (Call<Boolean> wait : waits) {
            assertTrue(wait.result());
        }
    }

    private static boolean isClosedWhenThisFails(BooleanSupplier closed, Executable call) {
        assertThrows(SocketException.class, call);
        return closed.getAsBoolean();
    }

    @Test
    void aClosedSocketSaysSo() throws IOException {
        Socket socket = pair().client();
        InputStream in = socket.getInputStream();
        OutputStream out = socket.getOutputStream();
        socket.close();
        socket.close();
        assertFails("Socket closed", in::read);
        assertFails("Socket closed", in::available);
        assertFails("Socket closed", () -> out.write(1));
        assertFails("Socket is closed", socket::getInputStream);
        assertFails("Socket is closed", socket::getOutputStream);
        assertFails("Socket is closed", socket::shutdownInput);
        assertFails("Socket is closed", socket::shutdownOutput);
        assertFails("Socket is closed", socket::getSoTimeout);
        assertFails("Socket is closed", () -> socket.setTcpNoDelay(true));
        assertFails("Socket is closed", () -> socket.connect(new InetSocketAddress(fixture().address(), 1)));
        assertFails("Socket is closed", () -> socket.bind(null));
    }

    private static void assertFails(String text, Executable operation) {
        assertEquals(text, assertThrows(SocketException.class, operation).getMessage());
    }

    @Test
    void aClosedSocketKeepsItsAddresses() throws IOException {
        Socket socket = pair().client();
        Object remote = socket.getRemoteSocketAddress();
        int port = socket.getLocalPort();
        socket.close();
        assertEquals(remote, socket.getRemoteSocketAddress());
        assertEquals(port, socket.getLocalPort());
        assertTrue(socket.getLocalAddress().isAnyLocalAddress());
        assertTrue(socket.isClosed() && socket.isConnected() && socket.isBound());
    }

    @Test
    void aSocketThatWasNeverConnectedCanBeClosed() throws IOException {
        Socket fresh = socket();
        fresh.close();
        assertTrue(fresh.isClosed());
        assertNull(fresh.getRemoteSocketAddress());
        Socket bound = socket();
        bound.bind(new InetSocketAddress(fixture().address(), 0));
        InetSocketAddress address = new InetSocketAddress(fixture().address(), bound.getLocalPort());
        bound.close();
        ProcessStarts.await();
        socket().bind(address);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 100, 65_536, 1_000_000})
    void closeLosesNothingThatWasWritten(int length) throws Exception {
        for (int round = 0; round < 10; round++) {
            SocketPair pair = pair();
            byte[] sent = new byte[length];
            new Random(round).nextBytes(sent);
            Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write and close", () -> {
                pair.client().getOutputStream().write(sent);
                pair.client().close();
            });
            assertArrayEquals(sent, pair.server().getInputStream().readAllBytes(), "round " + round);
            write.result();
            pair.server().close();
        }
    }

    @Test
    void whatWasWrittenIsReadLongAfterTheClose() throws Exception {
        SocketPair pair = pair();
        byte[] sent = new byte[40_000]; // fits into the buffers of every family
        new Random(4).nextBytes(sent);
        pair.client().getOutputStream().write(sent);
        pair.client().close();
        Await.until("all has arrived", () -> pair.server().getInputStream().available() == sent.length);
        assertArrayEquals(sent, pair.server().getInputStream().readAllBytes());
        assertEquals(-1, pair.server().getInputStream().read());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void thePeersCloseWakesAReader(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        pair.server().close();
        assertEquals(-1, read.result());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void thePeersCloseWakesAWriter(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Void> write = Call.run(kind, "write", () -> pair.client().getOutputStream().write(new byte[TOO_MUCH]))
                .awaitBlocked();
        pair.server().close();
        assertIsBroken(write.failure(SocketException.class));
    }

    private static void assertIsBroken(SocketException e) {
        assertTrue(e.getMessage().contains("reset") || e.getMessage().equals("Broken pipe"), e::getMessage);
    }

    @Test
    void writingToAClosedPeerFailsInTheEnd() throws Exception {
        SocketPair pair = pair();
        pair.server().close();
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            for (int i = 0; i < 1000; i++) {
                pair.client().getOutputStream().write(new byte[100_000]);
            }
        });
        assertIsBroken(write.failure(SocketException.class));
    }

    /** A server that is full says so and hangs up, before it has read what the client says first. */
    @ParameterizedTest
    @ValueSource(ints = {1, 100, 40_000})
    void theFirstWriteAfterThePeersCloseSucceeds(int length) throws Exception {
        for (boolean seen : new boolean[] {false, true}) {
            SocketPair pair = pair();
            pair.server().getOutputStream().write("sorry".getBytes(StandardCharsets.US_ASCII));
            pair.server().close();
            InputStream in = pair.client().getInputStream();
            OutputStream out = pair.client().getOutputStream();
            if (seen) {
                assertEquals("sorry", new String(in.readAllBytes(), StandardCharsets.US_ASCII));
            }
            out.write(new byte[length]);
            assertEquals(seen ? "" : "sorry", new String(in.readAllBytes(), StandardCharsets.US_ASCII));
            if (!seen) {
                continue; // whether a second one succeeds is a matter of time
            }
            Await.until("a later write to fail", () -> {
                try {
                    out.write(1);
                    return false;
                } catch (SocketException e) {
                    assertEquals("Broken pipe", e.getMessage());
                    return true;
                }
            });
            assertFails("Broken pipe", () -> out.write(1));
            assertEquals(-1, in.read());
            pair.client().shutdownOutput();
        }
    }

    /** OpenJDK's contract of a broken pipe: no later write of the stream succeeds. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void noWriteSucceedsAfterOneThatThePeersCloseHasEnded(boolean reset) throws Exception {
        SocketPair pair = pair();
        OutputStream out = pair.client().getOutputStream();
        Call<Void> write = Call.run(ThreadKind.PLATFORM, "write", () -> out.write(new byte[TOO_MUCH])).awaitBlocked();
        Call<Void> behind = Call.run(ThreadKind.VIRTUAL, "write behind it", () -> out.write(1)).awaitBlocked();
        pair.server().setSoLinger(reset, 0);
        pair.server().close();
        assertIsBroken(write.failure(SocketException.class));
        assertIsBroken(behind.failure(SocketException.class));
        for (int length : new int[] {1, 100, 40_000}) {
            assertIsBroken(assertThrows(SocketException.class, () -> out.write(new byte[length])));
            out.write(new byte[0]);
        }
    }

    /** The answer to the first bytes arrives before the write has passed on those that exceed the sender's buffer. */
    @Test
    void aLargeFirstWriteAfterThePeersCloseFails() throws Exception {
        SocketPair pair = pair();
        pair.server().close();
        assertEquals(-1, pair.client().getInputStream().read());
        OutputStream out = pair.client().getOutputStream();
        assertIsBroken(assertThrows(SocketException.class, () -> out.write(new byte[TOO_MUCH])));
        assertIsBroken(assertThrows(SocketException.class, () -> out.write(1)));
    }

    /** There the close itself is a reset. */
    @ParameterizedTest
    @EnumSource(Leftover.class)
    void noWriteSucceedsAfterThePeersCloseWithDataUnread(Leftover leftover) throws Exception {
        SocketPair pair = pair();
        OutputStream out = pair.client().getOutputStream();
        if (leftover == Leftover.CAME_AFTER_SHUTDOWN) {
            pair.server().shutdownInput();
        }
        out.write(new byte[10]);
        if (leftover == Leftover.PARTLY_READ) {
            assertEquals(9, pair.server().getInputStream().readNBytes(9).length);
        } else if (leftover == Leftover.SHUT_DOWN) {
            Await.until("10 bytes are there", () -> pair.server().getInputStream().available() == 10);
            pair.server().shutdownInput();
        }
        awaitOrder();
        pair.server().close();
        ProcessStarts.await();
        Call<Integer> end = Call.start(ThreadKind.VIRTUAL, "read", () -> pair.client().getInputStream().read());
        try {
            assertEquals(-1, end.result());
        } catch (SocketException e) {
            assertIsBroken(e);
        }
        assertIsBroken(assertThrows(SocketException.class, () -> out.write(1)));
        out.write(new byte[0]);
    }

    /** Waits until all that was written before has come: a later byte of another connection overtakes none of it. */
    private void awaitOrder() throws Exception {
        SocketPair other = pair();
        other.client().getOutputStream().write(1);
        assertEquals(1, other.server().getInputStream().read());
    }

    /** The server's use of ten bytes before it closes. */
    enum Leftover { UNREAD, PARTLY_READ, SHUT_DOWN, CAME_AFTER_SHUTDOWN }

    @Test
    void whoHasShutTheOutputWritesNothingAfterThePeersClose() throws Exception {
        SocketPair pair = pair();
        OutputStream out = pair.client().getOutputStream();
        pair.client().shutdownOutput();
        pair.server().close();
        assertEquals(-1, pair.client().getInputStream().read());
        assertFails("Broken pipe", () -> out.write(1));
    }

    @Test
    void aPeerThatClosesWithUnreadDataHarmsNobody() throws Exception {
        SocketPair pair = pair();
        pair.client().getOutputStream().write(new byte[10_000]);
        Await.until("data is there", () -> pair.server().getInputStream().available() > 0);
        pair.server().close();
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> pair.client().getInputStream().read());
        try {
            assertEquals(-1, read.result());
        } catch (SocketException e) {
            assertIsBroken(e);
        }
        pair(); // the next connection is not harmed
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void lingerZeroResetsThePeersRead(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(kind, "read", () -> pair.server().getInputStream().read()).awaitBlocked();
        pair.client().setSoLinger(true, 0);
        pair.client().close();
        assertEquals("Connection reset", read.failure(SocketException.class).getMessage());
        for (int i = 0; i < 2; i++) {
            assertFails("Connection reset", () -> pair.server().getInputStream().read());
        }
    }

    @Test
    void lingerZeroMakesThePeersWritesFail() throws Exception {
        SocketPair pair = pair();
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write",
                () -> pair.server().getOutputStream().write(new byte[TOO_MUCH])).awaitBlocked();
        pair.client().setSoLinger(true, 0);
        pair.client().close();
        assertIsBroken(write.failure(SocketException.class));
    }

    @Test
    void lingerWithATimeDeliversEverything() throws Exception {
        SocketPair pair = pair();
        byte[] sent = new byte[500_000];
        new Random(3).nextBytes(sent);
        pair.client().setSoLinger(true, 20);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write and close", () -> {
            pair.client().getOutputStream().write(sent);
            pair.client().close();
        });
        assertArrayEquals(sent, pair.server().getInputStream().readAllBytes());
        write.result();
    }

    @Test
    void closingBothEndsAtOnceIsFine() throws Exception {
        for (int round = 0; round < 20; round++) {
            SocketPair pair = pair();
            Call<Void> other = Call.run(ThreadKind.VIRTUAL, "close", () -> pair.client().close());
            pair.server().close();
            other.result();
        }
    }

    @Test
    void aForgottenSocketIsClosed() throws Exception {
        ServerSocket listener = listening();
        Socket server = connectAndForget(listener);
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> server.getInputStream().read());
        Await.until("the forgotten socket closes", () -> {
            System.gc();
            return read.isDone();
        });
        try {
            assertEquals(-1, read.result());
        } catch (SocketException e) {
            assertIsBroken(e);
        }
    }

    /** A method of its own, so that nothing of the client stays on the stack. */
    private Socket connectAndForget(ServerSocket listener) throws IOException {
        Socket forgotten = fixture().newSocket();
        forgotten.connect(addressOf(listener));
        return acceptFrom(listener);
    }

    @Test
    void aForgottenListenerGivesItsPortBack() throws Exception {
        InetSocketAddress address = listenAndForget();
        Await.until("the port is free", () -> {
            System.gc();
            try (ServerSocket next = fixture().newServerSocket()) {
                next.bind(address);
                return true;
            } catch (SocketException e) {
                return false;
            }
        });
    }

    private InetSocketAddress listenAndForget() throws IOException {
        ServerSocket forgotten = fixture().newServerSocket();
        forgotten.bind(new InetSocketAddress(fixture().address(), 0));
        return addressOf(forgotten);
    }

    @Test
    void aReaderKeepsItsSocket() throws Exception {
        ServerSocket listener = listening();
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> {
            Socket onlyHere = fixture().newSocket();
            onlyHere.connect(addressOf(listener));
            return onlyHere.getInputStream().read();
        });
        Socket server = acceptFrom(listener);
        read.awaitBlocked();
        for (int i = 0; i < 5; i++) {
            System.gc();
        }
        if (read.isDone()) {
            fail("the socket was taken from its reader: " + read.result());
        }
        server.getOutputStream().write(3);
        assertEquals(3, read.result());
        assertFalse(server.isClosed());
    }
}
