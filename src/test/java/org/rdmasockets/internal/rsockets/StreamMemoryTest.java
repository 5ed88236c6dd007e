package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.verbs.MemoryRegion;

/** When a connection asks for memory and when it gives memory back, to the byte; and peers that lie about it. */
class StreamMemoryTest {
    private static final int SMALL = 1000;
    private static final int LARGE = 65536;
    /** The first large chunk, which ends where the stream is a multiple of it. */
    private static final int FIRST = LARGE - 2 * SMALL;
    private static final int OFFER = 0xE0000008;
    private static final int MOVED_ON = 0xE0000009;

    private final Arena arena = Arena.ofShared();
    private ScriptedConnection c;
    private StreamMemory memory;

    @BeforeEach
    void start() throws SocketException {
        start(true);
    }

    @AfterEach
    void free() {
        arena.close();
    }

    private void start(boolean peerMovesOn) throws SocketException {
        c = new ScriptedConnection(arena, ScriptedConnection.settings(SMALL), 64);
        c.connection.start(ScriptedConnection.peer(384, 2, false, peerMovesOn));
        memory = c.connection.memory();
        c.posted();
        c.complete();
    }

    /** So much arrives at once. */
    private void arrive(int bytes) {
        c.arrive(bytes, bytes);
        assertNull(c.connection.failure(), () -> c.connection.failure().detail());
    }

    private void readAll() throws SocketException {
        while (c.connection.available() > 0) {
            c.read(new byte[LARGE]);
        }
    }

    /** Gives the two regions that are wanted. */
    private void supply() {
        assertEquals(LARGE, memory.wantedChunkBytes());
        assertTrue(memory.supplyChunk(region(), LARGE, false));
        assertTrue(memory.supplyChunk(region(), LARGE, true));
        assertFalse(memory.isDue());
        c.connection.sendControls();
    }

    private SimulatedRegion region() {
        SimulatedRegion region = SimulatedRegion.remote(arena, LARGE);
        c.queuePair.add(region);
        return region;
    }

    /** The lengths of the chunks that were announced since the last call. */
    private List<Integer> announced() {
        List<Integer> lengths = c.takePosted().stream().map(FakeQueuePair.Send::payload)
                .filter(payload -> payload.length == RemoteTargetTable.ENTRY_BYTES)
                .map(payload -> ByteBuffer.wrap(payload).order(ByteOrder.nativeOrder()).getInt(12))
                .toList();
        c.complete();
        return lengths;
    }

    /** The peer fills both small chunks, large ones come, and the peer has room in both. */
    private void grow() throws SocketException {
        arrive(SMALL);
        arrive(SMALL);
        supply();
        readAll();
        assertEquals(List.of(FIRST, LARGE), announced());
        assertEquals(2 * LARGE, memory.bytes());
        assertTrue(c.connection.isLarge());
    }

    @Test
    void nothingIsWantedWhileTheReaderGivesRoomInTime() throws SocketException {
        for (int i = 0; i < 100; i++) {
            arrive(SMALL / 4);
            readAll();
            c.posted();
            c.complete();
        }
        assertFalse(memory.isDue());
        assertEquals(0, memory.bytes());
        assertFalse(c.connection.isLarge());
    }

    @Test
    void largeChunksAreWantedWhenLessThanHalfASmallOneIsLeft() {
        arrive(SMALL);
        arrive(SMALL / 2);
        assertFalse(memory.isDue(), "half of the second is left");
        arrive(1);
        assertEquals(LARGE, memory.wantedChunkBytes());
    }

    @Test
    void largeChunksAreLentAlsoIfNobodyReads() {
        arrive(SMALL);
        arrive(SMALL);
        assertEquals(List.of(), announced());
        supply();
        assertEquals(List.of(FIRST, LARGE), announced());
        arrive(FIRST);
        arrive(LARGE);
        assertEquals(2 * LARGE, c.connection.available());
        assertEquals(List.of(), announced());
    }

    @Test
    void whatArrivedInAllChunksIsReadInOrder() throws SocketException {
        byte[] sent = new byte[SMALL];
        StreamPeer.fill(sent, 0, SMALL, 3, 0);
        c.data(sent);
        arrive(SMALL);
        supply();
        arrive(10);
        byte[] got = new byte[2 * SMALL + 10];
        assertEquals(got.length, c.read(got));
        StreamPeer.verify(got, SMALL, 3, 0);
        assertEquals(0, got[2 * SMALL + 9]);
    }

    /** A peer that writes whole buffers, each cut by the ends of the chunks that it was lent, and is read at once. */
    private final class Writer {
        private final Deque<Integer> chunks = new ArrayDeque<>(List.of(FIRST, LARGE));
        private int room = chunks.remove();
        private int announced;

        /** Writes so much: how many messages that took. */
        int write(int bytes) throws SocketException {
            int messages = 0;
            for (int left = bytes; left > 0; messages++) {
                int part = Math.min(left, room);
                arrive(part);
                readAll();
                List<Integer> more = announced();
                announced += more.size();
                chunks.addAll(more);
                left -= part;
                room -= part;
                room = room == 0 ? chunks.remove() : room;
            }
            return messages;
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {LARGE, LARGE / 2, LARGE / 16})
    void chunksSoonEndWhereWritesDo(int bytes) throws SocketException {
        grow();
        Writer writer = new Writer();
        for (int written = 0; written < 10 * LARGE; written += bytes) {
            writer.write(bytes);
        }
        for (int i = 0; i < 100; i++) {
            assertEquals(1, writer.write(bytes), "messages of write " + i);
        }
        // A header of a few bytes in between, and they move once more.
        writer.write(24);
        for (int written = 0; written < 10 * LARGE; written += bytes) {
            writer.write(bytes);
        }
        for (int i = 0; i < 100; i++) {
            assertEquals(1, writer.write(bytes), "messages of write " + i + " after the header");
        }
    }

    @Test
    void chunksStayWhereTheyAreWhileWritesDiffer() throws SocketException {
        grow();
        Writer writer = new Writer();
        int written = 0;
        for (int i = 0; i < 200; i++) {
            writer.write(LARGE - 100 + i);
            written += LARGE - 100 + i;
        }
        assertEquals((written - FIRST) / LARGE, writer.announced - 1, "chunks for " + written + " bytes");
    }

    @Test
    void chunksMoveOnlySoOftenWhereTheyCannotBeRight() throws SocketException {
        grow();
        Writer writer = new Writer();
        for (int i = 0; i < 500; i++) {
            writer.write(24);
            writer.write(LARGE - 24);
        }
        int needed = (500 * LARGE - FIRST) / LARGE;
        assertTrue(writer.announced <= needed + 10, () -> writer.announced + " chunks for " + needed);
    }

    @Test
    void smallChunksRestWhileLargeOnesAreThere() throws SocketException {
        grow();
        for (int i = 0; i < 5; i++) {
            arrive(i == 0 ? FIRST : LARGE);
            readAll();
            assertEquals(List.of(LARGE), announced());
        }
        assertFalse(memory.isDue());
    }

    @Test
    void refusalIsRememberedUntilAPause() throws SocketException {
        arrive(SMALL);
        arrive(SMALL);
        memory.refuse();
        readAll();
        assertEquals(List.of(SMALL, SMALL), announced());
        arrive(SMALL);
        arrive(SMALL);
        assertFalse(memory.isDue());
        assertEquals(Integer.MAX_VALUE, memory.patienceBytes());
        readAll();
        announced();
        c.connection.shrink();
        arrive(SMALL);
        arrive(SMALL);
        assertEquals(LARGE, memory.wantedChunkBytes());
    }

    @Test
    void withAPeerLikeCTwoLargeChunksStayUntilTheyAreUsedUp() throws SocketException {
        start(false);
        grow();
        c.connection.shrink();
        assertEquals(List.of(), c.posted(), "C would not understand an offer");
        assertFalse(memory.isDue());
        assertEquals(2 * LARGE, memory.bytes());
        arrive(FIRST);
        assertFalse(memory.isDue(), "arrived, but not read");
        readAll();
        assertEquals(List.of(SMALL), announced());
        takeBack(1);
        arrive(LARGE);
        readAll();
        takeBack(1);
        assertEquals(0, memory.bytes());
    }

    private void takeBack(int expected) {
        List<MemoryRegion> retired = memory.takeRetired();
        assertEquals(expected, retired.size());
        retired.forEach(region -> c.queuePair.close((SimulatedRegion) region));
    }

    @Test
    void aPeerOfOursGivesBackWhatWasLent() throws SocketException {
        grow();
        arrive(10);
        c.connection.shrink();
        assertEquals(List.of(), c.posted(), "something is unread");
        assertEquals(10, c.read(new byte[LARGE]));
        c.connection.shrink();
        List<FakeQueuePair.Send> sends = c.takePosted();
        assertEquals(1, sends.size());
        assertEquals(OFFER, sends.getFirst().immediate);
        assertEquals(ScriptedConnection.PEER_RING - 16, sends.getFirst().remoteAddress);
        c.complete();
        arrive(20);
        assertFalse(memory.isDue(), "the peer may still write");
        c.arrive(MOVED_ON, 0);
        assertEquals(List.of(), announced(), "what arrived is not read, and two chunks are in use");
        assertFalse(memory.isDue(), "the one is not read, and the other comes after it");
        arrive(SMALL);
        assertEquals(20 + SMALL, c.read(new byte[LARGE]));
        takeBack(2);
        assertEquals(List.of(SMALL, SMALL), announced());
        assertEquals(0, memory.bytes());
        assertFalse(c.connection.isLarge());
    }

    @Test
    void whatIsUnreadDoesNotGrowWithEachPause() throws SocketException {
        start(false);
        grow();
        arrive(FIRST);
        arrive(LARGE - 1);
        c.connection.shrink();
        arrive(1);
        supply();
        assertEquals(2, announced().size());
        // Two chunks of the first generation are full and two of the second take the rest: no third, whatever comes.
        arrive(LARGE);
        arrive(LARGE - 10);
        c.connection.shrink();
        arrive(1);
        assertEquals(0, memory.wantedChunkBytes());
        assertEquals(FIRST + 3 * LARGE - 9, c.connection.available());
    }

    @Test
    void theSendRingGrowsWhenItHoldsAWriterUpAndEmptiesBeforeItGoes() throws SocketException {
        int first = 4096;
        StreamSettings settings = new StreamSettings(true, true, true, false, 64, 400, LARGE, LARGE, first, LARGE / 2,
                1 << 20, 0, FlowKind.CREDIT_RING, 4096);
        c = new ScriptedConnection(arena, settings, 0);
        c.connection.start(ScriptedConnection.peer(384, 2, false, true));
        memory = c.connection.memory();
        c.posted();
        c.complete();
        assertEquals(first, c.write(first));
        assertFalse(memory.isDue(), "all was taken");
        assertEquals(0, c.write(1));
        assertEquals(LARGE, memory.wantedSendBytes());
        SimulatedRegion ring = SimulatedRegion.local(arena, LARGE);
        c.queuePair.add(ring);
        assertTrue(memory.supplySend(ring, LARGE));
        assertEquals(2 * first, c.write(2 * first));
        c.posted();
        c.connection.shrink();
        assertFalse(memory.isDue(), "what was written is in both rings");
        assertTrue(c.connection.confirm(), "the last write was not signalled");
        c.posted();
        c.complete();
        c.connection.shrink();
        takeBack(1);
        assertEquals(0, memory.bytes());
    }

    @Test
    void aSendRingGoesOnlyWhenAllThatIsInItWasSent() throws SocketException {
        SimulatedRegion small = SimulatedRegion.local(arena, 8192);
        SendBuffer buffer = new SendBuffer(small, new StreamSettings(true, true, true, false, 64, 400, LARGE, LARGE,
                4096, LARGE / 2, 1 << 20, 0, FlowKind.CREDIT_RING, 4096));
        buffer.keep(4096);
        buffer.wantMore();
        SimulatedRegion large = SimulatedRegion.local(arena, LARGE);
        buffer.supply(large, LARGE);
        buffer.keep(100);
        buffer.release(4096 + 100);
        buffer.keep(50);
        buffer.shrink();
        assertFalse(buffer.isDue(), "50 bytes are in it");
        buffer.release(20);
        buffer.shrink();
        assertNull(buffer.takeRetired(), "30 bytes are in it");
        buffer.release(30);
        buffer.shrink();
        assertSame(large, buffer.takeRetired());
    }

    @Test
    void anOfferIsMadeOnceAndOnlyForLargeChunks() throws SocketException {
        c.connection.shrink();
        assertEquals(List.of(), c.posted());
        grow();
        c.connection.shrink();
        c.connection.shrink();
        assertEquals(1, c.posted().size());
    }

    @Test
    void nothingElseIsLentUntilTheOfferIsTaken() throws SocketException {
        grow();
        c.connection.shrink();
        c.posted();
        c.complete();
        arrive(FIRST);
        readAll();
        assertEquals(List.of(), announced());
        c.arrive(MOVED_ON, 0);
        assertEquals(List.of(SMALL), announced());
    }

    @Test
    void ourWriterMovesToTheChunkThatIsOffered() throws SocketException {
        assertEquals(100, c.write(100));
        c.posted();
        offer(0x900000, 0x99, 500);
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 0 @0/0 e0000009"), c.posted());
        c.complete();
        c.entry(1, 0xA00000, 0x9A, 70);
        c.arrive(0x80000180, 16);
        assertEquals(570, c.write(1000));
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 500 @900000/99 000001f4",
                "WRITE_WITH_IMMEDIATE 70 @a00000/9a 00000046"), c.posted());
    }

    /** The peer offers a chunk. */
    private void offer(long address, int key, int length) {
        c.entry(3, address, key, length);
        c.arrive(OFFER, 16);
    }

    @Test
    void theAnswerWaitsForASlotAndDataGoesToTheOldChunkUntilThen() throws SocketException {
        grow();
        for (int i = 0; i < 4; i++) {
            arrive(i == 0 ? FIRST : LARGE);
            readAll();
        }
        c.posted();
        offer(0x900000, 0x99, 500);
        assertTrue(c.connection.creditOwed());
        assertEquals(100, c.write(100));
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 100 @200000/88 00000064"), c.posted());
        c.complete();
        assertEquals("WRITE_WITH_IMMEDIATE 0 @0/0 e0000009", c.posted().getFirst());
        assertEquals(100, c.write(100));
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 100 @900000/99 00000064"), c.posted());
    }

    @Test
    void aPeerThatKnowsNoOffersMeansNothingByTheirNumbers() throws SocketException {
        start(false);
        offer(0x900000, 0x99, 500);
        c.arrive(MOVED_ON, 0);
        assertNull(c.connection.failure());
        assertEquals(List.of(), c.posted());
    }

    @Test
    void movesThatNobodyAskedForAreViolations() {
        c.arrive(MOVED_ON, 0);
        assertViolation("not offered");
    }

    @Test
    void offersWithoutAChunkAreViolations() {
        c.arrive(OFFER, 16);
        assertViolation("not in the table");
    }

    @Test
    void offersBeyondMemoryAreViolations() {
        offer(-100, 1, 101);
        assertViolation("chunk of 101 bytes");
    }

    @Test
    void aSecondOfferBeforeTheAnswerIsAViolation() throws SocketException {
        grow();
        for (int i = 0; i < 4; i++) {
            arrive(i == 0 ? FIRST : LARGE);
            readAll();
        }
        offer(0x900000, 0x99, 500);
        offer(0x900000, 0x99, 500);
        assertViolation("second chunk");
    }

    @Test
    void dataBeyondTheOldChunksIsAViolationUntilThePeerHasMoved() throws SocketException {
        grow();
        c.connection.shrink();
        arrive(FIRST);
        arrive(LARGE);
        c.arrive(1, 1);
        assertViolation("1 bytes where it had room for 0");
    }

    @Test
    void dataBeyondTheOfferedChunkIsAViolation() throws SocketException {
        grow();
        c.connection.shrink();
        c.arrive(MOVED_ON, 0);
        c.arrive(SMALL + 1, SMALL + 1);
        assertViolation(SMALL + 1 + " bytes where it had room for " + SMALL);
    }

    private void assertViolation(String text) {
        assertTrue(c.connection.failure() != null && c.connection.failure().violation(), "no violation");
        assertTrue(c.connection.failure().detail().contains(text), c.connection.failure().detail());
    }
}
