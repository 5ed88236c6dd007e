package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.StreamKind;

/** How a stream is carried is agreed on when it is connected, and sizes are each end's own. */
abstract class StreamKindContract extends RdmaContract {
    /** The kind that is proposed. */
    private StreamKind kind() {
        return ((StreamKindFixture) super.fixture()).kind();
    }

    /** Sockets that propose nothing by themselves. */
    @Override
    SocketFixture fixture() {
        return ((StreamKindFixture) super.fixture()).place();
    }

    private Ends ends(RdmaSocket client, int serverBufferBytes, int serverMessageBytes) throws IOException {
        ServerSocket listener = serverSocket();
        listener.setOption(RdmaSocketOptions.STREAM_KIND, kind());
        listener.setReceiveBufferSize(serverBufferBytes);
        listener.setOption(RdmaSocketOptions.MESSAGE_BYTES, serverMessageBytes);
        listener.bind(new InetSocketAddress(fixture().address(), 0));
        client.connect(addressOf(listener));
        RdmaSocket server = (RdmaSocket) acceptFrom(listener);
        listener.close();
        return new Ends(client, server);
    }

    private RdmaSocket proposing() throws IOException {
        RdmaSocket client = (RdmaSocket) socket();
        assertEquals(StreamKind.CREDIT_RING, client.getOption(RdmaSocketOptions.STREAM_KIND));
        client.setOption(RdmaSocketOptions.STREAM_KIND, kind());
        return client;
    }

    @Test
    void bothEndsTellWhatTheyAgreedOn() throws Exception {
        Ends ends = ends(proposing(), 1 << 17, 4096);
        assertEquals(kind(), ends.client().getOption(RdmaSocketOptions.STREAM_KIND));
        assertEquals(kind(), ends.server().getOption(RdmaSocketOptions.STREAM_KIND));
        assertThrows(SocketException.class,
                () -> ends.client().setOption(RdmaSocketOptions.STREAM_KIND, StreamKind.CREDIT_RING));
    }

    @Test
    void unlessTheServerAgreesItIsThatOfRsockets() throws Exception {
        ServerSocket listener = listening();
        RdmaSocket client = proposing();
        client.connect(addressOf(listener));
        RdmaSocket server = (RdmaSocket) acceptFrom(listener);
        assertEquals(StreamKind.CREDIT_RING, client.getOption(RdmaSocketOptions.STREAM_KIND));
        assertEquals(StreamKind.CREDIT_RING, server.getOption(RdmaSocketOptions.STREAM_KIND));
        byte[] sent = bytes(300_000);
        for (Ends ends : new Ends[] {new Ends(client, server), new Ends(server, client)}) {
            Call<byte[]> read = Call.start(ThreadKind.VIRTUAL, "read",
                    () -> ends.server().getInputStream().readNBytes(sent.length));
            ends.client().getOutputStream().write(sent);
            assertArrayEquals(sent, read.result());
        }
    }

    @Test
    void unlessOneIsProposedItIsThatOfRsockets() throws Exception {
        Ends ends = ends((RdmaSocket) socket(), 1 << 17, 4096);
        assertEquals(StreamKind.CREDIT_RING, ends.client().getOption(RdmaSocketOptions.STREAM_KIND));
        assertEquals(StreamKind.CREDIT_RING, ends.server().getOption(RdmaSocketOptions.STREAM_KIND));
    }

    @Test
    void nothingCanBeMapped() throws Exception {
        Ends ends = ends(proposing(), 1 << 17, 4096);
        String said = assertThrows(SocketException.class, () -> ends.client().map(10, 0)).getMessage();
        assertTrue(said.contains("CREDIT_RING"), said);
        ends.client().getOutputStream().write(7);
        assertEquals(7, ends.server().getInputStream().read());
    }

    /** Sizes of buffers and of messages have nothing to do with each other, nor with what is written at once. */
    @ParameterizedTest
    @ValueSource(ints = {64, 1000, 65_536, 300_000})
    void bytesArriveWhateverTheSizes(int messageBytes) throws Exception {
        byte[] sent = bytes(500_000);
        for (int bufferBytes : new int[] {4096, 10_000, 1 << 20}) {
            RdmaSocket client = proposing();
            client.setOption(RdmaSocketOptions.MESSAGE_BYTES, 777);
            client.setOption(StandardSocketOptions.SO_RCVBUF, 5000);
            Ends ends = ends(client, bufferBytes, messageBytes);
            Call<byte[]> read = Call.start(ThreadKind.VIRTUAL, "read",
                    () -> ends.server().getInputStream().readNBytes(sent.length));
            Call<byte[]> back = Call.start(ThreadKind.VIRTUAL, "read the other way",
                    () -> ends.client().getInputStream().readNBytes(sent.length));
            Call<Void> other = Call.run(ThreadKind.VIRTUAL, "write the other way",
                    () -> ends.server().getOutputStream().write(sent));
            for (int at = 0; at < sent.length; at += 7777) {
                ends.client().getOutputStream().write(sent, at, Math.min(7777, sent.length - at));
            }
            assertArrayEquals(sent, read.result());
            assertArrayEquals(sent, back.result());
            other.result();
        }
    }

    /** An unread message holds up later writes, and the end of the stream: all arrives in order and whole. */
    @Test
    void aWriterIsHeldUpByAFullBufferAndGoesOn() throws Exception {
        Ends ends = ends(proposing(), 4096, 64);
        byte[] sent = bytes(1_000_000);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            ends.client().getOutputStream().write(sent);
            ends.client().shutdownOutput();
        });
        write.awaitBlocked();
        assertArrayEquals(sent, ends.server().getInputStream().readAllBytes());
        write.result();
    }
}
