package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Direct data placement as C does it: maps, and writes into them. */
class MemoryMapperTest {
    private static final int MAP_0 = 0xC000_0000;
    private static final int MAP_1 = 0xC000_0001;

    private final Arena arena = Arena.ofShared();

    @AfterEach
    void free() {
        arena.close();
    }

    private static ConnectData peer(boolean bigEndian, boolean movesOn, int maps) {
        return new ConnectData(bigEndian, movesOn, 384, ScriptedConnection.PEER_TABLE,
                ScriptedConnection.PEER_TABLE_KEY, 2, ScriptedConnection.PEER_RING, ScriptedConnection.PEER_RING_KEY,
                ScriptedConnection.PEER_HALF, maps, FlowKind.CREDIT_RING, 0);
    }

    private ScriptedConnection connected(StreamSettings settings, ConnectData peer) throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, settings, settings.immediateData() ? 0 : 4);
        c.connection.start(peer);
        c.takePosted();
        c.complete();
        return c;
    }

    private ScriptedConnection withMaps(int ours) throws SocketException {
        return connected(ScriptedConnection.infiniBand().withMaps(ours), peer(false, false, 1));
    }

    private SimulatedRegion local(ScriptedConnection c, int bytes) {
        SimulatedRegion region = SimulatedRegion.local(arena, bytes);
        c.queuePair.add(region);
        return region;
    }

    /** The peer maps something. */
    private static void map(ScriptedConnection c, int index, long offset, long address, int length) {
        MemorySegment memory = c.remoteRegion.segment().asSlice(32 + 24L * index, 24);
        memory.set(ValueLayout.JAVA_LONG, 0, offset);
        memory.set(ValueLayout.JAVA_LONG, 8, address);
        memory.set(ValueLayout.JAVA_INT, 16, 0x55 + index);
        memory.set(ValueLayout.JAVA_INT, 20, length);
        c.arrive(MAP_0 + index, 24);
    }

    @ParameterizedTest
    @CsvSource({"0, 0, 00", "1, 1, 01", "128, 128, 80", "129, 128, 80", "255, 128, 80", "256, 256, 81",
        "700, 512, 82", "32512, 32512, ff", "99999, 32512, ff", "-1, 0, 00"})
    void theNumberOfMapsTravelsInOneByte(int wanted, int possible, String hex) throws SocketException {
        assertEquals(possible, StreamSettings.possibleMaps(wanted));
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.infiniBand().withMaps(wanted), 0);
        byte[] data = c.connection.localData().encode();
        assertEquals(hex, HexFormat.of().formatHex(data, 7, 8));
        assertEquals(possible, ConnectData.decode(data).maps());
        data[1] &= ~2;
        assertEquals(0, ConnectData.decode(data).maps(), "the flag says that the field means nothing");
    }

    @Test
    void mapsLieBetweenTheTableAndTheRing() {
        RegionLayout none = RegionLayout.of(ScriptedConnection.infiniBand());
        assertEquals(64, none.ringOffset());
        assertEquals(48, none.offerOffset());
        RegionLayout three = RegionLayout.of(ScriptedConnection.infiniBand().withMaps(3));
        assertEquals(128, three.ringOffset());
        assertEquals(112, three.offerOffset());
        assertEquals(none.remoteBytes() + 64, three.remoteBytes());
    }

    @ParameterizedTest
    @CsvSource({"false", "true"})
    void aMapIsToldAsInC(boolean bigEndian) throws SocketException {
        ScriptedConnection c = connected(ScriptedConnection.infiniBand(), peer(bigEndian, false, 2));
        MemoryMapper mapping = MemoryMapper.of(c.connection);
        SimulatedRegion region = SimulatedRegion.remote(arena, 4096);
        assertEquals(0, mapping.reserve(0, 4000));
        assertTrue(mapping.announce(0, region));
        FakeQueuePair.Send send = c.takePosted().getFirst();
        assertEquals(MAP_0, send.immediate);
        assertEquals(ScriptedConnection.PEER_TABLE + 32, send.remoteAddress);
        assertEquals(ScriptedConnection.PEER_TABLE_KEY, send.remoteKey);
        assertArrayEquals(ByteBuffer.allocate(24).order(bigEndian ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN)
                .putLong(0).putLong(region.address()).putInt(region.remoteKey()).putInt(4000).array(), send.payload());
        assertEquals(1, mapping.reserve(1L << 40, 96));
        mapping.announce(1, region);
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 24 @10038/77 c0000001"), c.posted());
    }

    @Test
    void iwarpTellsItAfterTheWrite() throws SocketException {
        ScriptedConnection c = connected(ScriptedConnection.iwarp(), peer(false, false, 1));
        MemoryMapper mapping = MemoryMapper.of(c.connection);
        mapping.reserve(7, 10);
        mapping.announce(0, SimulatedRegion.remote(arena, 10));
        assertEquals(List.of("WRITE 24 @10020/77", "SEND 4 000000c0"), c.posted());
    }

    @Test
    void entriesRunOutAndComeBack() throws SocketException {
        ScriptedConnection c = withMaps(0);
        MemoryMapper mapping = MemoryMapper.of(c.connection);
        mapping.reserve(100, 50);
        assertTrue(assertThrows(SocketException.class, () -> mapping.reserve(0, 1)).getMessage()
                .contains("RDMA_IOMAPSIZE"));
        mapping.announce(0, SimulatedRegion.remote(arena, 50));
        c.posted();
        mapping.release(0);
        FakeQueuePair.Send send = c.takePosted().getFirst();
        assertEquals(MAP_0, send.immediate);
        assertEquals(0, ByteBuffer.wrap(send.payload()).getInt(20), "an entry without a length");
        assertEquals(0, mapping.reserve(0, 1));
        ScriptedConnection none = connected(ScriptedConnection.infiniBand(), peer(false, true, 0));
        assertThrows(SocketException.class, () -> MemoryMapper.of(none.connection).reserve(0, 1));
    }

    @Test
    void offsetsAreChecked() throws SocketException {
        MemoryMapper mapping = MemoryMapper.of(connected(ScriptedConnection.infiniBand(), peer(false, true,
                8)).connection);
        mapping.reserve(100, 50);
        assertThrows(IllegalArgumentException.class, () -> mapping.reserve(149, 10));
        assertThrows(IllegalArgumentException.class, () -> mapping.reserve(50, 51));
        assertThrows(IllegalArgumentException.class, () -> mapping.reserve(120, 1));
        assertThrows(IllegalArgumentException.class, () -> mapping.reserve(-1, 1));
        assertThrows(IllegalArgumentException.class, () -> mapping.reserve(Long.MAX_VALUE, 1));
        mapping.reserve(150, 50);
        mapping.reserve(50, 50);
    }

    /** C gives no credit back; over InfiniBand it can do without, over iWARP we lose it as C does. */
    @Test
    void onlyWhoGivesItBackIsChargedACredit() throws SocketException {
        assertEquals(376, messagesAfterMaps(ScriptedConnection.infiniBand(), false));
        assertEquals(371, messagesAfterMaps(ScriptedConnection.infiniBand(), true));
        assertEquals(283, messagesAfterMaps(ScriptedConnection.iwarp(), false));
    }

    private int messagesAfterMaps(StreamSettings settings, boolean java) throws SocketException {
        ScriptedConnection c = connected(settings.withQueues(1000, 400), peer(false, java, 5));
        MemoryMapper mapping = MemoryMapper.of(c.connection);
        for (int i = 0; i < 5; i++) {
            mapping.reserve(i, 1);
            assertTrue(mapping.announce(i, SimulatedRegion.remote(arena, 1)));
        }
        int taken = 0;
        while (c.connection.writable()) {
            taken += c.write(1);
        }
        return taken;
    }

    @Test
    void amongJavaPeersAMapCountsAsAMessage() throws SocketException {
        ScriptedConnection c = connected(ScriptedConnection.infiniBand().withQueues(64, 32).withMaps(1),
                peer(false, true, 1));
        for (int i = 0; i < 8; i++) {
            assertTrue(c.posted().isEmpty());
            map(c, 0, 0, 0x5000, 10);
        }
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 0 @0/0 80000018"), c.posted());
    }

    @Test
    void writesGoWhereTheOffsetIsWithoutAMessage() throws SocketException {
        ScriptedConnection c = withMaps(2);
        map(c, 1, 1000, 0x5000, 10_000);
        SimulatedRegion own = local(c, 5010);
        own.segment().fill((byte) 3);
        assertEquals(5000, c.connection.directSender().place(1040, own, 10, 5000));
        FakeQueuePair.Send send = c.takePosted().getFirst();
        assertEquals(0x5000 + 40, send.remoteAddress);
        assertEquals(0x56, send.remoteKey);
        assertEquals(5000, send.payload().length);
        assertFalse(send.needsReceive());
        assertTrue(send.signalled);
        assertFalse(c.connection.directSender().isSent());
        c.complete();
        assertTrue(c.connection.directSender().isSent());
        assertEquals(384 - 8, messages(c), "no credit was used");
    }

    private static int messages(ScriptedConnection c) throws SocketException {
        int taken = 0;
        while (c.connection.writable() || !c.takePosted().isEmpty()) {
            taken += c.connection.writable() ? c.write(1) : 0;
            c.takePosted();
            c.complete();
        }
        return taken;
    }

    @Test
    void aRangeMayHaveSeveralMaps() throws SocketException {
        ScriptedConnection c = withMaps(3);
        map(c, 0, 100, 0x9000, 50);
        map(c, 2, 50, 0x5000, 50);
        assertEquals(100, c.connection.directSender().place(50, local(c, 100), 0, 100));
        assertEquals(List.of("WRITE 50 @5000/57", "WRITE 50 @9000/55"), c.posted());
    }

    @Test
    void whatIsNotMappedIsRefusedAndNothingIsWritten() throws SocketException {
        ScriptedConnection c = withMaps(2);
        DirectSender sender = c.connection.directSender();
        SimulatedRegion own = local(c, 100);
        assertThrows(SocketException.class, () -> sender.place(0, own, 0, 1));
        map(c, 0, 10, 0x5000, 50);
        for (long at : new long[] {0, 9, 11, 60, Long.MAX_VALUE}) {
            assertThrows(SocketException.class, () -> sender.place(at, own, 0, 50));
        }
        map(c, 0, 10, 0, 0);
        assertThrows(SocketException.class, () -> sender.place(10, own, 0, 1));
        assertTrue(c.posted().isEmpty());
        assertEquals(1, c.write(1), "the connection goes on");
        ScriptedConnection none = withMaps(0);
        assertThrows(SocketException.class, () -> none.connection.directSender().place(0, own, 0, 1));
    }

    @Test
    void placingWaitsForSlotsAndForNothingElse() throws SocketException {
        StreamSettings settings = new StreamSettings(true, true, true, false, 16, 400, 131072, 131072, 131072, 65536,
                10, 1, FlowKind.CREDIT_RING, 4096);
        ScriptedConnection c = connected(settings, new ConnectData(false, false, 1, ScriptedConnection.PEER_TABLE,
                ScriptedConnection.PEER_TABLE_KEY, 2, ScriptedConnection.PEER_RING, ScriptedConnection.PEER_RING_KEY,
                1, 0, FlowKind.CREDIT_RING, 0));
        map(c, 0, 0, 0x5000, 1000);
        DirectSender sender = c.connection.directSender();
        SimulatedRegion own = local(c, 200);
        assertEquals(1, c.write(2), "the peer has room for one byte");
        assertEquals(110, sender.place(0, own, 0, 200));
        assertFalse(c.connection.writable());
        c.takePosted();
        c.complete();
        assertTrue(c.connection.writable());
        assertEquals(90, sender.place(110, own, 110, 90));
        c.takePosted();
        c.complete();
        assertTrue(sender.isSent());
        assertFalse(c.connection.writable());
    }

    @Test
    void whatIsUnmappedWhileItIsWrittenBreaksTheConnection() throws SocketException {
        StreamSettings settings = new StreamSettings(true, true, true, false, 16, 400, 131072, 131072, 131072, 65536,
                10, 1, FlowKind.CREDIT_RING, 4096);
        ScriptedConnection c = connected(settings, peer(false, true, 0));
        map(c, 0, 0, 0x5000, 1000);
        DirectSender sender = c.connection.directSender();
        SimulatedRegion own = local(c, 200);
        assertEquals(120, sender.place(0, own, 0, 200));
        map(c, 0, 0, 0, 0);
        c.takePosted();
        c.complete();
        assertTrue(c.connection.writable());
        assertThrows(SocketException.class, () -> sender.place(120, own, 120, 80));
        assertNotNull(c.connection.failure());
    }

    @ParameterizedTest
    @CsvSource({"2, 0, 4096, 10", // no such entry
        "65535, 0, 4096, 10", "536870911, 0, 4096, 10", "0, -1, 4096, 10", // negative offsets
        "0, 9223372036854775800, 4096, 10", // offsets that overflow
        "0, 0, 4096, -1", "0, 0, -5, 10"}) // memory that runs over the end of the address space
    void mapsThatMakeNoSenseEndTheConnection(int index, long offset, long address, int length) throws SocketException {
        ScriptedConnection c = withMaps(2);
        map(c, Math.min(index, 1), offset, address, length);
        if (index > 1) {
            c.arrive(MAP_0 | index, 24);
        }
        assertTrue(c.connection.failure().violation(), () -> c.connection.failure().detail());
    }

    @ParameterizedTest
    @CsvSource({"-9223372036854775808, 0", "-1, 4096", "9223372036854775807, -1"})
    void anEntryWithoutLengthIsNothingWhateverElseItSays(long offset, long address) throws SocketException {
        ScriptedConnection c = withMaps(2);
        map(c, 0, offset, address, 0);
        assertNull(c.connection.failure());
        SimulatedRegion own = local(c, 100);
        for (long at : new long[] {0, 1, 1 << 20, Long.MAX_VALUE}) {
            assertThrows(SocketException.class, () -> c.connection.directSender().place(at, own, 0, 100));
        }
        map(c, 1, 0, 0x5000, 100);
        assertEquals(100, c.connection.directSender().place(0, own, 0, 100));
    }

    @Test
    void mapsWhereThereAreNoneEndTheConnection() throws SocketException {
        ScriptedConnection c = withMaps(0);
        c.arrive(MAP_0, 24);
        assertTrue(c.connection.failure().violation());
    }

    /** Entry 1 is whole when its message has come; what the peer writes there later counts with the next message. */
    @Test
    void anEntryIsCopiedOnce() throws SocketException {
        ScriptedConnection c = withMaps(2);
        map(c, 1, 0, 0x5000, 100);
        c.remoteRegion.segment().set(ValueLayout.JAVA_LONG, 32 + 24 + 8, 0xBAD000);
        assertEquals(100, c.connection.directSender().place(0, local(c, 100), 0, 100));
        assertEquals(List.of("WRITE 100 @5000/56"), c.posted());
        c.arrive(MAP_1, 24);
        assertNull(c.connection.failure());
        c.complete();
        assertTrue(c.connection.directSender().isSent());
        c.connection.directSender().place(0, local(c, 100), 0, 100);
        assertEquals(List.of("WRITE 100 @bad000/56"), c.posted());
    }
}
