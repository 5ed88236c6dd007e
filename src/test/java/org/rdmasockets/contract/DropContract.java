package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An end drops its connection, with or without work in flight: what rdma-io tries with its transports and streams. */
abstract class DropContract extends SocketContract {
    /** More than the buffers of both ends hold. */
    private static final int TOO_MUCH = 1 << 25;

    /** rdma-io, transports: the peer sees a disconnect; streams: the end after the peer's drop, for ever. */
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void theEndAfterThePeersDropIsReadAgainAndAgain(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        pair.server().getOutputStream().write(new byte[] {1, 2, 3});
        InputStream in = pair.client().getInputStream();
        assertArrayEquals(new byte[] {1, 2, 3}, in.readNBytes(3));
        Call<Integer> parked = Call.start(kind, "read", in::read).awaitBlocked();
        pair.server().close();
        assertEquals(-1, parked.result());
        for (int i = 0; i < 3; i++) {
            assertEquals(-1, in.read());
            assertEquals(-1, in.read(new byte[10]));
        }
    }

    /** rdma-io, streams: shutdown after the peer's drop. */
    @Test
    void shutdownAfterThePeersDrop() throws Exception {
        SocketPair pair = pair();
        pair.server().close();
        assertEquals(-1, pair.client().getInputStream().read());
        pair.client().shutdownOutput();
        pair.client().shutdownInput();
        assertTrue(pair.client().isOutputShutdown() && pair.client().isInputShutdown());
        pair.client().close();
    }

    /** rdma-io, streams: write and then shutdown after the peer's drop. */
    @Test
    void writeThenShutdownAfterThePeersDrop() throws Exception {
        SocketPair pair = pair();
        pair.server().close();
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            for (int i = 0; i < 1000; i++) {
                pair.client().getOutputStream().write(new byte[100_000]);
            }
        });
        assertBroken(write.failure(SocketException.class));
        Call.run(ThreadKind.VIRTUAL, "shutdown", () -> pair.client().shutdownOutput()).result();
        assertTrue(pair.client().isOutputShutdown());
        Call.run(ThreadKind.VIRTUAL, "close", () -> pair.client().close()).result();
        pair(); // the next connection is not harmed
    }

    private static void assertBroken(SocketException e) {
        assertTrue(e.getMessage().contains("reset") || e.getMessage().equals("Broken pipe"), e::getMessage);
    }

    /** rdma-io, transports: dropped with work in flight, in both directions. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void droppingWithWorkInFlightHarmsNobody(boolean reset) throws Exception {
        SocketPair neighbour = pair();
        for (int round = 0; round < 4; round++) {
            SocketPair pair = pair();
            Socket dropped = round % 2 == 0 ? pair.client() : pair.server();
            Socket other = dropped == pair.client() ? pair.server() : pair.client();
            Call<Void> own = writing(dropped);
            Call<Void> others = writing(other);
            if (reset) {
                dropped.setSoLinger(true, 0);
            }
            dropped.close();
            assertEquals("Socket closed", own.failure(SocketException.class).getMessage());
            assertBroken(others.failure(SocketException.class));
            other.close();
        }
        for (Socket end : List.of(neighbour.client(), neighbour.server())) {
            end.getOutputStream().write(7);
        }
        assertEquals(7, neighbour.client().getInputStream().read());
        assertEquals(7, neighbour.server().getInputStream().read());
    }

    /** A writer that waits for room. */
    private static Call<Void> writing(Socket socket) throws Exception {
        return Call.run(ThreadKind.VIRTUAL, "write", () -> socket.getOutputStream().write(new byte[TOO_MUCH]))
                .awaitBlocked();
    }
}
