package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.NotYetConnectedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaSocket;

/** RDMA sockets read and write buffers and segments as a channel does that blocks. */
@RunIn({Place.SHARED_MEMORY, Place.TCP, Place.DEVICE})
class BufferContractTest extends RdmaContract {
    /** More than the buffers of both ends hold. */
    private static final int TOO_MUCH = 1 << 25;

    /** Of every kind, with something before and behind. */
    private static List<ByteBuffer> buffers(int length) {
        return List.of(ByteBuffer.allocate(length + 9).position(4).slice().position(2).limit(2 + length),
                ByteBuffer.allocateDirect(length + 9).position(3).limit(3 + length));
    }

    /** As writes of the stream: see {@code CloseContract}. */
    @Test
    void theFirstWriteAfterThePeersCloseSucceeds() throws Exception {
        for (int way = 0; way < 4; way++) {
            Ends ends = ends();
            ends.server().write(ByteBuffer.wrap(bytes(500)));
            ends.server().close();
            ByteBuffer received = ByteBuffer.allocate(501);
            while (ends.client().read(received) >= 0) {
                assertTrue(received.hasRemaining());
            }
            assertEquals(500, received.position());
            ByteBuffer some = way == 0 ? ByteBuffer.allocate(1000) : ByteBuffer.allocateDirect(1000);
            switch (way) {
                case 0, 1 -> assertEquals(1000, ends.client().write(some));
                case 2 -> assertEquals(2000, ends.client().write(new ByteBuffer[] {some, some.duplicate()}, 0, 2));
                default -> assertEquals(1000, ends.client().write(MemorySegment.ofBuffer(some)));
            }
            awaitBroken(() -> ends.client().write(ByteBuffer.allocate(1)));
            assertEquals(-1, ends.client().read(ByteBuffer.allocate(1)));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 100, 65_536, 65_537, 1_000_000})
    void buffersArriveAsTheyWereWritten(int length) throws Exception {
        Ends ends = ends();
        byte[] sent = bytes(length);
        for (ByteBuffer from : buffers(length)) {
            from.duplicate().put(sent);
            for (ByteBuffer to : buffers(length)) {
                for (ByteBuffer source : List.of(from.duplicate(), from.asReadOnlyBuffer())) {
                    Call<Integer> write = Call.start(ThreadKind.VIRTUAL, "write", () -> ends.client().write(source));
                    ByteBuffer target = to.duplicate();
                    while (target.hasRemaining()) {
                        int before = target.position();
                        int count = ends.server().read(target);
                        assertEquals(before + count, target.position());
                    }
                    assertEquals(length, write.result());
                    assertFalse(source.hasRemaining());
                    byte[] received = new byte[length];
                    to.duplicate().get(received);
                    assertArrayEquals(sent, received);
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 65_537, 1_000_000})
    void segmentsArriveAsTheyWereWritten(int length) throws Exception {
        Ends ends = ends();
        byte[] sent = bytes(length);
        try (Arena arena = Arena.ofShared()) {
            for (MemorySegment from : List.of(arena.allocate(length), MemorySegment.ofArray(new byte[length]))) {
                from.copyFrom(MemorySegment.ofArray(sent));
                MemorySegment to = arena.allocate(length);
                Call<Long> write = Call.start(ThreadKind.VIRTUAL, "write",
                        () -> ends.client().write(from.asReadOnly()));
                for (long done = 0; done < length;) {
                    done += ends.server().read(to.asSlice(done));
                }
                assertEquals(length, write.result());
                assertEquals(-1, to.mismatch(from));
            }
        }
    }

    @Test
    void gatheredBuffersStayInOrderAndTogether() throws Exception {
        Ends ends = ends();
        byte[] large = bytes(200_000);
        List<Call<Void>> writers = List.of(ThreadKind.VIRTUAL, ThreadKind.PLATFORM).stream()
                .map(kind -> Call.run(kind, "write", () -> {
                    for (int i = 0; i < 10; i++) {
                        ByteBuffer size = ByteBuffer.allocateDirect(4).putInt(0, large.length);
                        ByteBuffer[] parts = {ByteBuffer.allocate(7), size, ByteBuffer.allocate(0),
                            ByteBuffer.wrap(large), ByteBuffer.wrap(large, 5, 3)};
                        assertEquals(4 + large.length + 3, ends.client().write(parts, 1, 4));
                        assertEquals(7, parts[0].remaining());
                        assertTrue(Arrays.stream(parts, 1, 5).noneMatch(ByteBuffer::hasRemaining));
                    }
                })).toList();
        for (int i = 0; i < 20; i++) {
            byte[] message = ends.server().getInputStream().readNBytes(4 + large.length + 3);
            ByteBuffer read = ByteBuffer.wrap(message);
            assertEquals(large.length, read.getInt());
            assertEquals(ByteBuffer.wrap(large), read.slice(4, large.length));
            assertEquals(ByteBuffer.wrap(large, 5, 3), read.slice(4 + large.length, 3));
        }
        for (Call<Void> writer : writers) {
            writer.result();
        }
        assertEquals(0, ends.client().write(new ByteBuffer[0]));
    }

    @Test
    void aBufferThatComesTwiceIsWrittenOnce() throws IOException {
        Ends ends = ends();
        ByteBuffer buffer = ByteBuffer.wrap(bytes(10));
        assertEquals(10, ends.client().write(new ByteBuffer[] {buffer, buffer}));
        ends.client().shutdownOutput();
        assertEquals(10, ends.server().getInputStream().readAllBytes().length);
    }

    @Test
    void readsGiveWhatIsThereAndTheEnd() throws Exception {
        Ends ends = ends();
        ends.client().getOutputStream().write(new byte[] {1, 2, 3});
        Await.until("3 bytes are there", () -> ends.server().getInputStream().available() == 3);
        ByteBuffer buffer = ByteBuffer.allocateDirect(10);
        assertEquals(0, ends.server().read(ByteBuffer.allocate(0)));
        assertEquals(0, ends.server().read(MemorySegment.NULL));
        assertEquals(3, ends.server().read(buffer));
        assertEquals(3, buffer.position());
        ends.client().close();
        assertEquals(-1, ends.server().read(buffer));
        assertEquals(-1, ends.server().read(ByteBuffer.allocate(1)));
        assertEquals(-1, ends.server().read(MemorySegment.ofArray(new byte[1])));
        assertEquals(3, buffer.position());
        ends.server().shutdownInput();
        assertEquals(-1, ends.server().read(buffer));
    }

    @Test
    void whatCannotTakeBytesIsRefusedBeforeTheyAreRead() throws Exception {
        Ends ends = ends();
        ends.client().getOutputStream().write(9);
        assertThrows(IllegalArgumentException.class,
                () -> ends.server().read(ByteBuffer.allocate(1).asReadOnlyBuffer()));
        assertThrows(IllegalArgumentException.class,
                () -> ends.server().read(MemorySegment.ofArray(new byte[1]).asReadOnly()));
        Arena closed = Arena.ofShared();
        MemorySegment gone = closed.allocate(1);
        closed.close();
        assertThrows(IllegalStateException.class, () -> ends.server().read(gone));
        assertThrows(IllegalStateException.class, () -> ends.server().write(gone));
        try (Arena confined = Arena.ofConfined()) {
            MemorySegment ours = confined.allocate(1);
            Call.start(ThreadKind.PLATFORM, "read", () -> ends.server().read(ours)).failure(WrongThreadException.class);
            Call.start(ThreadKind.PLATFORM, "write", () -> ends.server().write(ours))
                    .failure(WrongThreadException.class);
        }
        assertThrows(NullPointerException.class, () -> ends.client().write(new ByteBuffer[] {null}));
        assertThrows(IndexOutOfBoundsException.class, () -> ends.client().write(new ByteBuffer[1], 1, 1));
        assertEquals(9, ends.server().getInputStream().read());
    }

    @Test
    void stateIsToldAsByChannels() throws IOException {
        RdmaSocket fresh = (RdmaSocket) socket();
        ByteBuffer buffer = ByteBuffer.allocate(1);
        assertTrue(fresh.isOpen());
        assertThrows(NotYetConnectedException.class, () -> fresh.read(buffer));
        assertThrows(NotYetConnectedException.class, () -> fresh.write(buffer));
        Ends ends = ends();
        ends.client().shutdownOutput();
        assertThrows(ClosedChannelException.class, () -> ends.client().write(buffer));
        ends.client().close();
        assertFalse(ends.client().isOpen());
        assertThrows(ClosedChannelException.class, () -> ends.client().read(buffer));
        assertThrows(ClosedChannelException.class, () -> ends.client().write(new ByteBuffer[] {buffer}));
        assertThrows(ClosedChannelException.class, () -> ends.client().read(MemorySegment.ofArray(new byte[1])));
        assertThrows(ClosedChannelException.class, () -> ends.client().write(MemorySegment.ofArray(new byte[1])));
        Ends reset = ends();
        reset.server().setSoLinger(true, 0);
        reset.server().close();
        assertEquals("Connection reset",
                assertThrows(SocketException.class, () -> reset.client().read(buffer)).getMessage());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void timeoutsLeaveTheSocketUsable(ThreadKind kind) throws Exception {
        Ends ends = ends();
        ends.client().setSoTimeout(100);
        for (ByteBuffer buffer : buffers(1)) {
            Call.start(kind, "read", () -> ends.client().read(buffer)).failure(SocketTimeoutException.class);
            assertTrue(ends.client().isOpen() && buffer.hasRemaining());
        }
        ends.server().getOutputStream().write(7);
        ends.client().setSoTimeout(30_000);
        assertEquals(1, ends.client().read(ByteBuffer.allocateDirect(1)));
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void closeWakesReaderAndWriter(ThreadKind kind) throws Exception {
        Ends ends = ends();
        Call<Integer> read = Call.start(kind, "read", () -> ends.client().read(ByteBuffer.allocateDirect(1)))
                .awaitBlocked();
        Call<Integer> write = Call.start(kind, "write", () -> ends.client().write(ByteBuffer.allocateDirect(TOO_MUCH)))
                .awaitBlocked();
        ends.client().close();
        read.failure(AsynchronousCloseException.class);
        write.failure(AsynchronousCloseException.class);
    }

    @Test
    void anInterruptClosesForAVirtualThreadOnly() throws Exception {
        Ends first = ends();
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read",
                () -> first.client().read(ByteBuffer.allocateDirect(1))).awaitBlocked();
        read.interrupt();
        read.failure(ClosedByInterruptException.class);
        assertTrue(read.interruptedAtEnd() && first.client().isClosed());
        Ends second = ends();
        Call<Long> write = Call.start(ThreadKind.PLATFORM, "write",
                () -> second.client().write(MemorySegment.ofArray(new byte[TOO_MUCH]))).awaitBlocked();
        write.interrupt();
        write.awaitBlocked();
        assertEquals(TOO_MUCH, second.server().getInputStream().readNBytes(TOO_MUCH).length);
        assertEquals(TOO_MUCH, write.result());
        assertTrue(write.interruptedAtEnd());
    }

    @Test
    void filesGoThroughIt(@TempDir Path directory) throws Exception {
        Ends ends = ends();
        byte[] content = bytes(3_000_000);
        Path from = Files.write(directory.resolve("from"), content);
        Path to = Files.createFile(directory.resolve("to"));
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "send", () -> {
            try (FileChannel file = FileChannel.open(from)) {
                assertEquals(content.length, file.transferTo(0, content.length, ends.client()));
                ends.client().shutdownOutput();
            }
        });
        try (FileChannel file = FileChannel.open(to, StandardOpenOption.WRITE)) {
            assertEquals(content.length, file.transferFrom(ends.server(), 0, content.length));
        }
        write.result();
        assertArrayEquals(content, Files.readAllBytes(to));
    }
}
