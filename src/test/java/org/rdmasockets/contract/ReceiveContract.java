package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.ReceivedBytes;

/** RDMA sockets lend what they have received. */
abstract class ReceiveContract extends RdmaContract {
    private static final int MUCH = 2_000_000;
    /** More than the buffers of both ends hold. */
    private static final int TOO_MUCH = 1 << 25;

    private static byte[] copy(ReceivedBytes received) {
        return received.segment().toArray(ValueLayout.JAVA_BYTE);
    }

    private static byte[] receive(RdmaSocket from, int length) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        while (all.size() < length) {
            try (ReceivedBytes received = from.receive()) {
                assertTrue(received.segment().isReadOnly() && received.segment().byteSize() > 0);
                all.writeBytes(copy(received));
            }
        }
        return all.toByteArray();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 100, 65_537, MUCH})
    void bytesAreThoseThatWereWritten(int length) throws Exception {
        Ends ends = ends();
        byte[] sent = bytes(length);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            ends.client().getOutputStream().write(sent);
            ends.client().shutdownOutput();
        });
        assertArrayEquals(sent, receive(ends.server(), length));
        write.result();
        assertNull(ends.server().receive());
        assertEquals(-1, ends.server().getInputStream().read());
    }

    @Test
    void allWaysToReadTakeTurns() throws Exception {
        Ends ends = ends();
        byte[] sent = bytes(MUCH);
        Call<Void> write = Call.run(ThreadKind.PLATFORM, "write", () -> {
            ends.client().getOutputStream().write(sent);
            ends.client().close();
        });
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] some = new byte[3000];
        Random random = new Random(3);
        boolean more = true;
        while (more) {
            if (random.nextBoolean()) {
                int count = ends.server().getInputStream().read(some);
                all.write(some, 0, Math.max(0, count));
                more = count >= 0;
            } else {
                try (ReceivedBytes received = ends.server().receive()) {
                    more = received != null;
                    if (more) {
                        all.writeBytes(copy(received));
                    }
                }
            }
        }
        assertArrayEquals(sent, all.toByteArray());
        write.result();
    }

    @Test
    void lentBytesStayAsTheyAreWhateverComes() throws Exception {
        Ends ends = ends();
        byte[] first = bytes(10);
        ends.client().getOutputStream().write(first);
        ReceivedBytes received = ends.server().receive();
        byte[] more = bytes(TOO_MUCH);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> ends.client().getOutputStream().write(more))
                .awaitBlocked();
        assertArrayEquals(first, copy(received));
        received.close();
        assertArrayEquals(more, ends.server().getInputStream().readNBytes(TOO_MUCH));
        write.result();
    }

    @Test
    void oneViewAtATimeAndNoReadMeanwhile() throws Exception {
        Ends ends = ends();
        ends.client().getOutputStream().write(new byte[] {1, 2});
        Await.until("2 bytes are there", () -> ends.server().getInputStream().available() == 2);
        ReceivedBytes received = ends.server().receive();
        ends.client().getOutputStream().write(3);
        assertThrows(IllegalStateException.class, () -> ends.server().receive());
        assertThrows(IllegalStateException.class, () -> ends.server().getInputStream().read());
        assertThrows(IllegalStateException.class, () -> ends.server().read(ByteBuffer.allocate(1)));
        Call.start(ThreadKind.PLATFORM, "read", () -> ends.server().getInputStream().read())
                .failure(IllegalStateException.class);
        assertArrayEquals(new byte[] {1, 2}, copy(received));
        received.close();
        received.close();
        assertEquals(3, ends.server().getInputStream().read());
    }

    @Test
    void bytesThatWereClosedCannotBeReadByMistake() throws Exception {
        Ends ends = ends();
        ends.client().getOutputStream().write(9);
        ReceivedBytes received = ends.server().receive();
        MemorySegment segment = received.segment();
        ByteBuffer buffer = segment.asByteBuffer();
        assertEquals(9, buffer.get(0));
        assertThrows(IllegalArgumentException.class, () -> segment.fill((byte) 1));
        Call.run(ThreadKind.VIRTUAL, "look", () -> segment.get(ValueLayout.JAVA_BYTE, 0))
                .failure(WrongThreadException.class);
        Call.run(ThreadKind.PLATFORM, "close", received::close).failure(WrongThreadException.class);
        received.close();
        assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
        assertThrows(IllegalStateException.class, () -> buffer.get(0));
    }

    @Test
    void lentBytesOutliveTheSocket() throws Exception {
        for (int round = 0; round < 10; round++) {
            Ends ends = ends();
            byte[] sent = bytes(4000);
            ends.client().getOutputStream().write(sent);
            Await.until("it is there", () -> ends.server().getInputStream().available() == sent.length);
            ReceivedBytes received = ends.server().receive();
            ends.client().close();
            ends.server().setSoLinger(true, 0);
            ends.server().close();
            // Others would take the memory now.
            Ends others = ends();
            others.client().getOutputStream().write(new byte[20_000]);
            assertEquals(20_000, others.server().getInputStream().readNBytes(20_000).length);
            assertArrayEquals(sent, copy(received));
            assertThrows(ClosedChannelException.class, () -> ends.server().receive());
            received.close();
        }
    }

    @Test
    void shutdownOfTheInputLeavesLentBytesAlone() throws Exception {
        Ends ends = ends();
        ends.client().getOutputStream().write(new byte[] {1, 2, 3});
        Await.until("3 bytes are there", () -> ends.server().getInputStream().available() == 3);
        ReceivedBytes received = ends.server().receive();
        ends.server().shutdownInput();
        assertArrayEquals(new byte[] {1, 2, 3}, copy(received));
        received.close();
        assertNull(ends.server().receive());
        ends.server().getOutputStream().write(4);
        assertEquals(4, ends.client().getInputStream().read());
    }

    @Test
    void bytesThatAreNotClosedAreTheProblemOfTheirReader() throws Exception {
        Ends ends = ends();
        ends.client().getOutputStream().write(1);
        ends.server().receive();
        ends.server().close();
        assertEquals(-1, ends.client().getInputStream().read());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void timeoutsLeaveTheSocketUsable(ThreadKind kind) throws Exception {
        Ends ends = ends();
        ends.server().setSoTimeout(100);
        Call.start(kind, "receive", () -> ends.server().receive()).failure(SocketTimeoutException.class);
        ends.client().getOutputStream().write(7);
        ends.server().setSoTimeout(30_000);
        assertArrayEquals(new byte[] {7}, receive(ends.server(), 1));
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeEndsTheWait(ThreadKind kind) throws Exception {
        Ends ends = ends();
        Call<ReceivedBytes> receive = Call.start(kind, "receive", () -> ends.server().receive()).awaitBlocked();
        ends.server().close();
        receive.failure(AsynchronousCloseException.class);
    }

    @Test
    void stateIsToldAsByChannels() throws Exception {
        assertThrows(NotYetConnectedException.class, () -> ((RdmaSocket) socket()).receive());
        Ends ends = ends();
        Call<ReceivedBytes> receive = Call.start(ThreadKind.VIRTUAL, "receive", () -> ends.server().receive())
                .awaitBlocked();
        receive.interrupt();
        receive.failure(ClosedByInterruptException.class);
        assertTrue(ends.server().isClosed());
        Ends reset = ends();
        reset.server().setSoLinger(true, 0);
        reset.server().close();
        assertEquals("Connection reset",
                assertThrows(SocketException.class, () -> reset.client().receive()).getMessage());
    }
}
