package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.RdmaSocketOptions;

/**
 * Deep pipelines and full buffers: what rdma-io tries with each of its transports, and where these collapsed or stood
 * still.
 */
abstract class PipelineContract extends SocketContract {
    private static final int IN_FLIGHT = 512;
    private static final int MESSAGE = 64;
    private static final int SMALL_BUFFER = 16_384;
    /** Far more than small buffers of both ends hold. */
    private static final int FAR_TOO_MUCH = 4_000_000;

    /** Connected sockets that hold little at a time, in both directions. */
    private SocketPair smallPair() throws IOException {
        ServerSocket listener = serverSocket();
        listener.setReceiveBufferSize(SMALL_BUFFER);
        listener.bind(new InetSocketAddress(fixture().address(), 0));
        Socket client = socket();
        client.setReceiveBufferSize(SMALL_BUFFER);
        client.setSendBufferSize(SMALL_BUFFER);
        client.connect(addressOf(listener));
        Socket server = acceptFrom(listener);
        server.setSendBufferSize(SMALL_BUFFER);
        return new SocketPair(client, server);
    }

    /** rdma-io, transports: a pipeline of 512 requests, where theirs fell to a five hundredth of its rate. */
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void fiveHundredAndTwelveInFlight(ThreadKind kind) throws Exception {
        exchangePipelined(kind, pair());
    }

    /** rdma-io, transports: a deep pipeline does not overflow the send queue. */
    @Test
    void fiveHundredAndTwelveInFlightOverTheSmallestQueues() throws Exception {
        ServerSocket listener = serverSocket();
        Socket client = socket();
        if (client.supportedOptions().contains(RdmaSocketOptions.RDMA_SQSIZE)) {
            listener.setOption(RdmaSocketOptions.RDMA_SQSIZE, 16);
            client.setOption(RdmaSocketOptions.RDMA_SQSIZE, 16);
            client.setOption(RdmaSocketOptions.RDMA_RQSIZE, 32);
        }
        listener.bind(new InetSocketAddress(fixture().address(), 0));
        client.connect(addressOf(listener));
        exchangePipelined(ThreadKind.VIRTUAL, new SocketPair(client, acceptFrom(listener)));
    }

    /** Sends requests, up to 512 of them unanswered; the writer is blocked before any reader starts. */
    private static void exchangePipelined(ThreadKind kind, SocketPair pair) throws Exception {
        int requests = 8 * IN_FLIGHT;
        Semaphore window = new Semaphore(IN_FLIGHT);
        Call<Void> write = Call.run(kind, "requests", () -> {
            for (int i = 0; i < requests; i++) {
                window.acquire();
                pair.client().getOutputStream().write(message(i));
            }
            pair.client().shutdownOutput();
        }).awaitBlocked();
        Call<Long> echo = Call.start(kind, "echo",
                () -> pair.server().getInputStream().transferTo(pair.server().getOutputStream()));
        DataInputStream in = new DataInputStream(pair.client().getInputStream());
        byte[] answer = new byte[MESSAGE];
        for (int i = 0; i < requests; i++) {
            in.readFully(answer);
            assertArrayEquals(message(i), answer, "answer " + i);
            window.release();
        }
        write.result();
        assertEquals((long) requests * MESSAGE, echo.result());
        pair.server().close();
        assertEquals(-1, in.read());
    }

    private static byte[] message(int number) {
        return ByteBuffer.allocate(MESSAGE).putInt(number).putInt(MESSAGE - Integer.BYTES, ~number).array();
    }

    /** rdma-io, streams: both sides writing at once; here both writers block before either end reads. */
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void bothWritersAreBlockedBeforeAnybodyReads(ThreadKind kind) throws Exception {
        blockBothWriters(kind, FAR_TOO_MUCH, FAR_TOO_MUCH);
    }

    /** Likewise, where there is room for bytes and none for messages. */
    @Test
    void bothWritersOfSmallMessagesAreBlockedBeforeAnybodyReads() throws Exception {
        blockBothWriters(ThreadKind.VIRTUAL, FAR_TOO_MUCH / 16, MESSAGE);
    }

    /** Both ends write so much in so large pieces, and read when both are stuck. */
    private void blockBothWriters(ThreadKind kind, int length, int piece) throws Exception {
        SocketPair pair = smallPair();
        byte[] there = bytes(length, 1);
        byte[] back = bytes(length, 2);
        Call<Void> write = Call.run(kind, "client writes", () -> writeInPieces(pair.client(), there, piece));
        Call<Void> writeBack = Call.run(kind, "server writes", () -> writeInPieces(pair.server(), back, piece));
        write.awaitBlocked();
        writeBack.awaitBlocked();
        Call<byte[]> read = Call.start(kind, "server reads", () -> pair.server().getInputStream().readNBytes(length));
        Call<byte[]> readBack = Call.start(kind, "client reads",
                () -> pair.client().getInputStream().readNBytes(length));
        assertArrayEquals(there, read.result());
        assertArrayEquals(back, readBack.result());
        write.result();
        writeBack.result();
    }

    private static void writeInPieces(Socket socket, byte[] bytes, int piece) throws IOException {
        for (int at = 0; at < bytes.length; at += piece) {
            socket.getOutputStream().write(bytes, at, Math.min(piece, bytes.length - at));
        }
    }

    /** rdma-io, transports: back-pressure, and recovery from it. */
    @Test
    void aWriterRecoversFromBackPressureAgainAndAgain() throws Exception {
        SocketPair pair = smallPair();
        byte[] sent = bytes(FAR_TOO_MUCH / 4, 3);
        for (int round = 0; round < 4; round++) {
            Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> pair.client().getOutputStream().write(sent))
                    .awaitBlocked();
            assertArrayEquals(sent, pair.server().getInputStream().readNBytes(sent.length), "round " + round);
            write.result();
        }
    }

    /** rdma-io, transports: ring wrap-around; the sizes share no factor with any buffer. */
    @Test
    void oddSizesWrapAroundTheRing() throws Exception {
        SocketPair pair = smallPair();
        int[] sizes = {1, 8191, 7, 4093, 13, 16_381, 1021, 3, 65_537, 127, 5, 509};
        int rounds = 30;
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            for (int i = 0; i < rounds * sizes.length; i++) {
                pair.client().getOutputStream().write(bytes(sizes[i % sizes.length], i));
            }
        });
        InputStream in = pair.server().getInputStream();
        for (int i = 0; i < rounds * sizes.length; i++) {
            int size = sizes[i % sizes.length];
            assertArrayEquals(bytes(size, i), in.readNBytes(size), "write " + i + " of " + size + " bytes");
        }
        write.result();
    }

    /** rdma-io, transports: several connections at once, each of them with full buffers. */
    @Test
    void severalConnectionsTransferAtOnce() throws Exception {
        List<Call<Void>> calls = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            SocketPair pair = pair();
            byte[] sent = bytes(500_003, i);
            calls.add(Call.run(ThreadKind.VIRTUAL, "echo " + i, () -> {
                pair.server().getInputStream().transferTo(pair.server().getOutputStream());
                pair.server().close();
            }));
            calls.add(Call.run(ThreadKind.VIRTUAL, "write " + i, () -> {
                pair.client().getOutputStream().write(sent);
                pair.client().shutdownOutput();
            }));
            calls.add(Call.run(ThreadKind.VIRTUAL, "read " + i,
                    () -> assertArrayEquals(sent, pair.client().getInputStream().readAllBytes())));
        }
        for (Call<Void> call : calls) {
            call.result();
        }
    }

    /** rdma-io, streams: tokio's copy. */
    @Test
    void streamsAreCopiedWhole() throws Exception {
        SocketPair pair = pair();
        byte[] sent = bytes(1_000_003, 9);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "copy", () -> {
            assertEquals(sent.length, new ByteArrayInputStream(sent).transferTo(pair.client().getOutputStream()));
            pair.client().close();
        });
        assertArrayEquals(sent, pair.server().getInputStream().readAllBytes());
        write.result();
    }

    private static byte[] bytes(int length, int seed) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }
}
