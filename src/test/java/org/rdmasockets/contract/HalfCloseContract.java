package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Ending one direction leaves the other. */
abstract class HalfCloseContract extends SocketContract {
    @Test
    void thePeerReadsTheEndAfterTheDataAgainAndAgain() throws IOException {
        SocketPair pair = pair();
        pair.client().getOutputStream().write(new byte[] {1, 2, 3});
        pair.client().shutdownOutput();
        InputStream in = pair.server().getInputStream();
        assertArrayEquals(new byte[] {1, 2, 3}, in.readNBytes(3));
        for (int i = 0; i < 3; i++) {
            assertEquals(-1, in.read());
            assertEquals(-1, in.read(new byte[10]));
            assertEquals(0, in.available());
        }
    }

    @Test
    void theOtherDirectionGoesOn() throws Exception {
        SocketPair pair = pair();
        pair.client().getOutputStream().write(1);
        pair.client().shutdownOutput();
        assertEquals(1, pair.server().getInputStream().read());
        assertEquals(-1, pair.server().getInputStream().read());
        byte[] sent = new byte[3_000_000];
        new Random(1).nextBytes(sent);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            pair.server().getOutputStream().write(sent);
            pair.server().close();
        });
        assertArrayEquals(sent, pair.client().getInputStream().readAllBytes());
        write.result();
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void theEndWakesABlockedReader(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(kind, "read", () -> pair.server().getInputStream().read()).awaitBlocked();
        pair.client().shutdownOutput();
        assertEquals(-1, read.result());
    }

    @Test
    void nothingCanBeWrittenAfterTheEnd() throws IOException {
        SocketPair pair = pair();
        OutputStream out = pair.client().getOutputStream();
        pair.client().shutdownOutput();
        assertTrue(pair.client().isOutputShutdown());
        assertFalse(pair.client().isInputShutdown());
        for (int i = 0; i < 2; i++) {
            assertEquals("Broken pipe", assertThrows(SocketException.class, () -> out.write(1)).getMessage());
        }
        assertEquals("Socket output is shutdown",
                assertThrows(SocketException.class, () -> pair.client().getOutputStream()).getMessage());
        assertEquals("Socket output is already shutdown",
                assertThrows(SocketException.class, () -> pair.client().shutdownOutput()).getMessage());
        assertEquals(-1, pair.server().getInputStream().read());
    }

    @Test
    void nothingIsReadAfterTheInputWasShutDown() throws Exception {
        SocketPair pair = pair();
        InputStream in = pair.client().getInputStream();
        pair.server().getOutputStream().write(new byte[10]);
        Await.until("10 bytes are there", () -> in.available() == 10);
        pair.client().shutdownInput();
        assertTrue(pair.client().isInputShutdown());
        assertFalse(pair.client().isOutputShutdown());
        for (int i = 0; i < 2; i++) {
            assertEquals(-1, in.read());
            assertEquals(-1, in.read(new byte[10]));
            assertEquals(0, in.available());
        }
        assertEquals("Socket input is shutdown",
                assertThrows(SocketException.class, () -> pair.client().getInputStream()).getMessage());
        assertEquals("Socket input is already shutdown",
                assertThrows(SocketException.class, () -> pair.client().shutdownInput()).getMessage());
        pair.client().getOutputStream().write(4);
        assertEquals(4, pair.server().getInputStream().read());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void shuttingInputDownWakesAReader(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        pair.client().shutdownInput();
        assertEquals(-1, read.result());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void shuttingOutputDownWakesAWriter(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Void> write = Call.run(kind, "write", () -> pair.client().getOutputStream().write(new byte[1 << 25]))
                .awaitBlocked();
        pair.client().shutdownOutput();
        assertEquals("Broken pipe", write.failure(SocketException.class).getMessage());
    }

    @Test
    void bothEndsMayEndBothDirections() throws IOException {
        SocketPair pair = pair();
        for (Socket socket : new Socket[] {pair.client(), pair.server()}) {
            socket.getOutputStream().write(6);
            socket.shutdownOutput();
        }
        for (Socket socket : new Socket[] {pair.client(), pair.server()}) {
            assertEquals(6, socket.getInputStream().read());
            assertEquals(-1, socket.getInputStream().read());
            socket.shutdownInput();
            assertFalse(socket.isClosed());
            socket.close();
        }
    }

    @Test
    void unconnectedSocketsCannotBeShutDown() throws IOException {
        Socket socket = socket();
        String text = "Socket is not connected";
        assertEquals(text, assertThrows(SocketException.class, socket::shutdownInput).getMessage());
        assertEquals(text, assertThrows(SocketException.class, socket::shutdownOutput).getMessage());
        assertEquals(text, assertThrows(SocketException.class, socket::getInputStream).getMessage());
        assertEquals(text, assertThrows(SocketException.class, socket::getOutputStream).getMessage());
    }
}
