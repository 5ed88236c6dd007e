package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaBuffer;
import org.rdmasockets.RdmaSocket;

/** RDMA sockets write from buffers of their own as from any memory. */
abstract class DirectContract extends RdmaContract {
    /** More than the buffers of both ends hold. */
    private static final int TOO_MUCH = 1 << 25;

    private static RdmaBuffer filled(RdmaSocket socket, byte[] bytes) throws IOException {
        RdmaBuffer buffer = socket.allocateBuffer(bytes.length);
        buffer.segment().copyFrom(MemorySegment.ofArray(bytes));
        return buffer;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 64, 65, 2047, 20_000, 65_536, 65_537, 1_000_000})
    void bytesArriveAsTheyWereWrittenAndMayBeChangedThen(int length) throws Exception {
        Ends ends = ends();
        byte[] sent = bytes(length);
        try (RdmaBuffer buffer = filled(ends.client(), sent)) {
            assertEquals(length, buffer.lengthBytes());
            Call<byte[]> read = Call.start(ThreadKind.VIRTUAL, "read",
                    () -> ends.server().getInputStream().readNBytes(3 * length));
            for (int round = 0; round < 3; round++) {
                buffer.segment().copyFrom(MemorySegment.ofArray(sent));
                assertEquals(length, ends.client().write(buffer, 0, length));
                buffer.segment().fill((byte) '?');
            }
            byte[] received = read.result();
            for (int round = 0; round < 3; round++) {
                assertEquals(-1, MemorySegment.ofArray(received).asSlice((long) round * length, length)
                        .mismatch(MemorySegment.ofArray(sent)), "of round " + round);
            }
        }
    }

    @Test
    void partsAndStreamsStayInOrder() throws Exception {
        Ends ends = ends();
        byte[] sent = bytes(300_000);
        Call<byte[]> read = Call.start(ThreadKind.VIRTUAL, "read",
                () -> ends.server().getInputStream().readNBytes(sent.length));
        try (RdmaBuffer buffer = filled(ends.client(), sent)) {
            Random random = new Random(1);
            for (int done = 0; done < sent.length;) {
                int count = Math.min(1 + random.nextInt(random.nextBoolean() ? 100 : 40_000), sent.length - done);
                switch (random.nextInt(3)) {
                    case 0 -> ends.client().getOutputStream().write(sent, done, count);
                    case 1 -> ends.client().write(buffer.segment().asSlice(done, count).asByteBuffer());
                    default -> assertEquals(count, ends.client().write(buffer, done, count));
                }
                done += count;
            }
            assertEquals(0, ends.client().write(buffer, sent.length, 0));
        }
        assertArrayEquals(sent, read.result());
    }

    @Test
    void severalThreadsWriteOneAfterTheOther() throws Exception {
        Ends ends = ends();
        int length = 50_000;
        int rounds = 20;
        Call<Void> ones = writer(ends.client(), ThreadKind.VIRTUAL, (byte) 1, length, rounds);
        Call<Void> twos = writer(ends.client(), ThreadKind.PLATFORM, (byte) 2, length, rounds);
        int sum = 0;
        for (int i = 0; i < 2 * rounds; i++) {
            byte[] message = ends.server().getInputStream().readNBytes(length);
            for (byte b : message) {
                assertEquals(message[0], b, "in message " + i);
            }
            sum += message[0];
        }
        assertEquals(3 * rounds, sum);
        ones.result();
        twos.result();
    }

    private static Call<Void> writer(RdmaSocket socket, ThreadKind kind, byte value, int length, int rounds) {
        return Call.run(kind, "write " + value, () -> {
            for (int i = 0; i < rounds; i++) {
                try (RdmaBuffer buffer = socket.allocateBuffer(length)) {
                    buffer.segment().fill(value);
                    socket.write(buffer, 0, length);
                }
            }
        });
    }

    @Test
    void aBufferThatIsClosedWhileItIsWrittenStaysAsItIs() throws Exception {
        Ends ends = ends();
        byte[] sent = bytes(TOO_MUCH);
        RdmaBuffer buffer = filled(ends.client(), sent);
        long address = buffer.segment().address();
        Call<Integer> write = Call.start(ThreadKind.VIRTUAL, "write",
                () -> ends.client().write(buffer, 0, TOO_MUCH)).awaitBlocked();
        buffer.close();
        try (RdmaBuffer other = ends.client().allocateBuffer(TOO_MUCH)) {
            assertNotEquals(address, other.segment().address());
            other.segment().fill((byte) '?');
            assertArrayEquals(sent, ends.server().getInputStream().readNBytes(TOO_MUCH));
            assertEquals(TOO_MUCH, write.result());
        }
    }

    @Test
    void whatIsWrongIsRefused() throws Exception {
        Ends ends = ends();
        RdmaBuffer buffer = ends.client().allocateBuffer(100);
        assertEquals(100, buffer.segment().byteSize());
        assertThrows(IllegalArgumentException.class, () -> ends.client().allocateBuffer(0));
        assertThrows(IndexOutOfBoundsException.class, () -> ends.client().write(buffer, 1, 100));
        assertThrows(IndexOutOfBoundsException.class, () -> ends.client().write(buffer, -1, 1));
        assertThrows(IllegalArgumentException.class, () -> ends.server().write(buffer, 0, 1));
        buffer.close();
        buffer.close();
        assertThrows(IllegalStateException.class, buffer::segment);
        assertThrows(IllegalStateException.class, () -> ends.client().write(buffer, 0, 1));
        ends.client().getOutputStream().write(7);
        assertEquals(7, ends.server().getInputStream().read());
    }

    @Test
    void stateIsToldAsByChannels() throws Exception {
        assertThrows(NotYetConnectedException.class, () -> ((RdmaSocket) socket()).allocateBuffer(1));
        Ends ends = ends();
        RdmaBuffer buffer = ends.client().allocateBuffer(1);
        ends.client().shutdownOutput();
        assertThrows(ClosedChannelException.class, () -> ends.client().write(buffer, 0, 1));
        ends.client().close();
        assertThrows(ClosedChannelException.class, () -> ends.client().write(buffer, 0, 1));
        assertThrows(ClosedChannelException.class, () -> ends.client().allocateBuffer(1));
        buffer.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
        buffer.close();
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeEndsAWrite(ThreadKind kind) throws Exception {
        Ends ends = ends();
        RdmaBuffer buffer = ends.client().allocateBuffer(TOO_MUCH);
        Call<Integer> write = Call.start(kind, "write", () -> ends.client().write(buffer, 0, TOO_MUCH)).awaitBlocked();
        ends.client().close();
        write.failure(AsynchronousCloseException.class);
        buffer.segment().fill((byte) 1);
        buffer.close();
    }

    @Test
    void aBufferWhoseWriteFailedDoesNotHarmWhatGoesOn() throws Exception {
        Ends ends = ends();
        byte[] sent = bytes(TOO_MUCH);
        RdmaBuffer buffer = filled(ends.client(), sent);
        Call<Integer> write = Call.start(ThreadKind.VIRTUAL, "write",
                () -> ends.client().write(buffer, 0, TOO_MUCH)).awaitBlocked();
        ends.client().shutdownOutput();
        write.failure(SocketException.class);
        buffer.close();
        Call<byte[]> read = Call.start(ThreadKind.VIRTUAL, "read", () -> ends.server().getInputStream().readAllBytes());
        ends.server().getOutputStream().write(bytes(50_000));
        assertArrayEquals(bytes(50_000), ends.client().getInputStream().readNBytes(50_000));
        byte[] received = read.result();
        assertArrayEquals(Arrays.copyOf(sent, received.length), received);
    }

    @Test
    void aBufferThatIsClosedWithItsSocketDoesNotHarmWhatWasWritten() throws Exception {
        Ends ends = ends();
        byte[] sent = bytes(TOO_MUCH);
        RdmaBuffer buffer = filled(ends.client(), sent);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            try (buffer) {
                ends.client().write(buffer, 0, TOO_MUCH);
            }
        }).awaitBlocked();
        ends.client().close();
        write.failure(AsynchronousCloseException.class);
        byte[] received = ends.server().getInputStream().readAllBytes();
        assertArrayEquals(Arrays.copyOf(sent, received.length), received);
    }

    /** As writes of the stream: see {@code CloseContract}. */
    @ParameterizedTest
    @ValueSource(ints = {1, 10_000})
    void theFirstWriteAfterThePeersCloseSucceeds(int length) throws Exception {
        Ends ends = ends();
        ends.server().close();
        assertEquals(-1, ends.client().getInputStream().read());
        try (RdmaBuffer buffer = ends.client().allocateBuffer(length)) {
            assertEquals(length, ends.client().write(buffer, 0, length));
            awaitBroken(() -> ends.client().write(buffer, 0, length));
        }
    }

    @Test
    void theEndOfThePeerEndsAWrite() throws Exception {
        Ends ends = ends();
        RdmaBuffer buffer = ends.client().allocateBuffer(TOO_MUCH);
        Call<Integer> write = Call.start(ThreadKind.VIRTUAL, "write",
                () -> ends.client().write(buffer, 0, TOO_MUCH)).awaitBlocked();
        ends.server().close();
        write.failure(SocketException.class);
        buffer.close();
    }

    @Test
    void anInterruptClosesForAVirtualThreadOnly() throws Exception {
        Ends first = ends();
        RdmaBuffer buffer = first.client().allocateBuffer(TOO_MUCH);
        Call<Integer> write = Call.start(ThreadKind.VIRTUAL, "write",
                () -> first.client().write(buffer, 0, TOO_MUCH)).awaitBlocked();
        write.interrupt();
        write.failure(ClosedByInterruptException.class);
        assertTrue(write.interruptedAtEnd() && first.client().isClosed());
        Ends second = ends();
        RdmaBuffer other = second.client().allocateBuffer(TOO_MUCH);
        Call<Integer> patient = Call.start(ThreadKind.PLATFORM, "write",
                () -> second.client().write(other, 0, TOO_MUCH)).awaitBlocked();
        patient.interrupt();
        patient.awaitBlocked();
        assertEquals(TOO_MUCH, second.server().getInputStream().readNBytes(TOO_MUCH).length);
        assertEquals(TOO_MUCH, patient.result());
        assertTrue(patient.interruptedAtEnd());
    }

    @Test
    void manyBuffersComeAndGo() throws Exception {
        Ends ends = ends();
        Random random = new Random(2);
        for (int i = 0; i < 100; i++) {
            byte[] sent = bytes(1 + random.nextInt(i % 10 == 0 ? 200_000 : 10_000));
            Call<byte[]> read = Call.start(ThreadKind.VIRTUAL, "read",
                    () -> ends.server().getInputStream().readNBytes(sent.length));
            try (RdmaBuffer buffer = filled(ends.client(), sent);
                    RdmaBuffer other = ends.client().allocateBuffer(sent.length)) {
                other.segment().fill((byte) '?');
                ends.client().write(buffer, 0, sent.length);
            }
            assertArrayEquals(sent, read.result());
        }
    }
}
