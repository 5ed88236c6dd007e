package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
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
import org.junit.jupiter.params.provider.ValueSource;

/**
 * SO_LINGER's three meanings: off, close returns at once and the data goes on; with a time, close waits for it at most
 * so long; zero, close is a reset.
 */
abstract class LingerContract extends SocketContract {
    /** Fits into the buffers of every family. */
    private static final int UNREAD = 40_000;
    private static final int TOO_MUCH = 1 << 25;

    private static byte[] bytes() {
        byte[] bytes = new byte[UNREAD];
        new Random(5).nextBytes(bytes);
        return bytes;
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void offOrWithATimeCloseEndsAndLosesNothing(ThreadKind kind) throws Exception {
        for (int seconds : new int[] {-1, 1, 65_535}) {
            SocketPair pair = pair();
            byte[] sent = bytes();
            Call.run(kind, "write and close, linger " + seconds, () -> {
                pair.client().setSoLinger(seconds >= 0, Math.max(0, seconds));
                pair.client().getOutputStream().write(sent);
                if (seconds > 1) {
                    assertArrayEquals(sent, pair.server().getInputStream().readNBytes(sent.length));
                }
                pair.client().close();
            }).result();
            byte[] rest = pair.server().getInputStream().readAllBytes();
            assertArrayEquals(seconds > 1 ? new byte[0] : sent, rest, "linger " + seconds);
        }
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void aLingeringCloseEndsABlockedWriteWithinItsTime(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        pair.client().setSoLinger(true, 1);
        Call<Void> write = Call.run(kind, "write", () -> pair.client().getOutputStream().write(new byte[TOO_MUCH]))
                .awaitBlocked();
        Call.run(kind, "close", () -> pair.client().close()).result();
        assertEquals("Socket closed", write.failure(SocketException.class).getMessage());
        Call<Long> rest = Call.start(kind, "read the rest",
                () -> pair.server().getInputStream().transferTo(OutputStream.nullOutputStream()));
        try {
            assertTrue(rest.result() < TOO_MUCH);
        } catch (SocketException e) {
            assertEquals("Connection reset", e.getMessage());
        }
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void anInterruptDoesNotStopALingeringClose(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        byte[] sent = bytes();
        pair.client().setSoLinger(true, 2);
        Call<Void> close = Call.run(kind, "close", () -> {
            pair.client().getOutputStream().write(sent);
            Thread.currentThread().interrupt();
            pair.client().close();
        });
        close.result();
        assertTrue(close.interruptedAtEnd(), "the interrupt status stays set");
        assertTrue(pair.client().isClosed());
        assertArrayEquals(sent, pair.server().getInputStream().readAllBytes());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void zeroWakesTheOwnReaderWithAClose(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        pair.client().setSoLinger(true, 0);
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        pair.client().close();
        assertEquals("Socket closed", read.failure(SocketException.class).getMessage());
    }

    @Test
    void zeroResetsAfterWhatHadArrived() throws Exception {
        SocketPair pair = pair();
        InputStream in = pair.server().getInputStream();
        pair.client().getOutputStream().write(new byte[100]);
        Await.until("100 bytes are there", () -> in.available() == 100);
        pair.client().setSoLinger(true, 0);
        pair.client().close();
        Call<Long> rest = Call.start(ThreadKind.VIRTUAL, "read",
                () -> in.transferTo(OutputStream.nullOutputStream()));
        assertEquals("Connection reset", rest.failure(SocketException.class).getMessage());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void zeroTakenBackIsAnOrderlyEnd(boolean byOption) throws IOException {
        SocketPair pair = pair();
        Socket client = pair.client();
        client.setSoLinger(true, 0);
        assertEquals(0, client.getSoLinger());
        if (byOption) {
            client.setOption(java.net.StandardSocketOptions.SO_LINGER, -7);
        } else {
            client.setSoLinger(false, 0);
        }
        assertEquals(-1, client.getSoLinger());
        client.getOutputStream().write(1);
        client.close();
        assertArrayEquals(new byte[] {1}, pair.server().getInputStream().readAllBytes());
    }

    @Test
    void zeroMeansNothingToWhoeverIsNotConnected() throws IOException {
        Socket fresh = socket();
        fresh.setSoLinger(true, 0);
        fresh.close();
        Socket bound = socket();
        bound.bind(null);
        bound.setSoLinger(true, 0);
        bound.close();
        assertTrue(fresh.isClosed() && bound.isClosed());
    }

    @Test
    void zeroResetsAlsoWhereTheOutputWasShut() throws Exception {
        SocketPair pair = pair();
        pair.client().getOutputStream().write(1);
        pair.client().shutdownOutput();
        assertEquals(1, pair.server().getInputStream().read());
        assertEquals(-1, pair.server().getInputStream().read());
        pair.client().setSoLinger(true, 0);
        pair.client().close();
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            for (int i = 0; i < 1000; i++) {
                pair.server().getOutputStream().write(new byte[100_000]);
            }
        });
        SocketException e = write.failure(SocketException.class);
        assertTrue(e.getMessage().contains("reset") || e.getMessage().equals("Broken pipe"), e::getMessage);
    }

    @Test
    void anAcceptedSocketDoesNotLinger() throws IOException {
        assertEquals(-1, pair().server().getSoLinger());
    }
}
