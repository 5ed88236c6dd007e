package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.SendRequest;

/** The bytes that a connection puts on the wire, where possible as C was seen to do it. */
class StreamConnectionTest {
    private static final int[] RAMP_OF_C = {2048, 4096, 8192, 16384, 32768, 2048};

    private final Arena arena = Arena.ofShared();

    @AfterEach
    void free() {
        arena.close();
    }

    private String ring(ScriptedConnection c, int offset) {
        return Long.toHexString(c.remoteRegion.address() + c.ringStart + offset);
    }

    private static String hex(byte[] bytes, int from, int to) {
        return HexFormat.of().formatHex(bytes, from, to);
    }

    @Test
    void privateDataIsAsInC() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.infiniBand(), 0);
        byte[] data = c.connection.localData().encode();
        assertEquals(40, data.length);
        assertEquals("0106018000000000", hex(data, 0, 8));
        assertEquals(String.format("%016x", c.remoteRegion.address()), hex(data, 8, 16));
        assertEquals(String.format("%08x", c.remoteRegion.remoteKey()), hex(data, 16, 20));
        assertEquals("00000002", hex(data, 20, 24));
        assertEquals(String.format("%016x", c.remoteRegion.address() + c.ringStart), hex(data, 24, 32));
        assertEquals(String.format("%08x", c.remoteRegion.remoteKey()), hex(data, 32, 36));
        assertEquals("00010000", hex(data, 36, 40));
    }

    @Test
    void secondHalfIsAnnouncedAtOnceInEntryOne() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.infiniBand(), 0);
        c.connection.start(ScriptedConnection.peer(384, 2, false));
        FakeQueuePair.Send send = c.takePosted().getFirst();
        assertEquals(0x80000180, send.immediate);
        assertEquals(ScriptedConnection.PEER_TABLE + 16, send.remoteAddress);
        assertEquals(ScriptedConnection.PEER_TABLE_KEY, send.remoteKey);
        assertArrayEquals(entry(c, 65536, false), send.payload());
    }

    private static byte[] entry(ScriptedConnection c, int ringOffset, boolean bigEndian) {
        return ByteBuffer.allocate(16)
                .order(bigEndian ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN)
                .putLong(c.remoteRegion.address() + c.ringStart + ringOffset)
                .putInt(c.remoteRegion.remoteKey()).putInt(65536).array();
    }

    @Test
    void entriesForBigEndianPeersAreSwapped() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.infiniBand(), 0);
        c.connection.start(ScriptedConnection.peer(384, 2, true));
        assertArrayEquals(entry(c, 65536, true), c.takePosted().getFirst().payload());
    }

    @Test
    void iwarpRefusesPeersOfOtherByteOrder() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.iwarp(), 4);
        SocketException e = assertThrows(SocketException.class,
                () -> c.connection.start(ScriptedConnection.peer(384, 2, true)));
        assertTrue(e.getMessage().contains("byte order"), e.getMessage());
        assertTrue(c.posted().isEmpty());
    }

    @Test
    void halvesAreLentAgainAsInTheTraceOfC() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        String[] limits = {"80000186", "8000018c", "80000192"};
        for (int half = 0; half < 3; half++) {
            for (int length : RAMP_OF_C) {
                assertTrue(c.posted().isEmpty());
                c.data(new byte[length]);
                assertEquals(length, c.read(new byte[length + 1]));
            }
            FakeQueuePair.Send send = c.takePosted().getFirst();
            assertEquals(limits[half], Integer.toHexString(send.immediate));
            assertEquals(ScriptedConnection.PEER_TABLE + 16 * (half % 2), send.remoteAddress);
            assertArrayEquals(entry(c, half % 2 * 65536, false), send.payload());
            c.complete();
        }
    }

    @Test
    void announcementsTakeTurnsThroughAllEntriesOfThePeer() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.infiniBand(), 0);
        c.connection.start(ScriptedConnection.peer(384, 4, false));
        StringBuilder indexes = new StringBuilder();
        for (int half = 0; half < 6; half++) {
            FakeQueuePair.Send send = c.takePosted().getFirst();
            indexes.append((send.remoteAddress - ScriptedConnection.PEER_TABLE) / 16);
            c.complete();
            c.data(new byte[65536]);
            c.read(new byte[65536]);
        }
        assertEquals("123012", indexes.toString());
    }

    @Test
    void halfTheCreditsAreRenewedWithoutAChunk() throws SocketException {
        StreamSettings settings = ScriptedConnection.infiniBand().withQueues(64, 32);
        ScriptedConnection c = ScriptedConnection.started(arena, settings);
        for (int i = 0; i < 8; i++) {
            assertTrue(c.posted().isEmpty());
            c.data((byte) i);
        }
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 0 @0/0 80000018"), c.posted());
    }

    @Test
    void dataGoesToTheChunkWithItsLength() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        assertEquals(10, c.write(10));
        assertEquals(5, c.write(5));
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 10 @200000/88 0000000a",
                "WRITE_WITH_IMMEDIATE 5 @20000a/88 00000005"), c.posted());
    }

    @Test
    void iwarpSendsTheMessageAfterTheWrite() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.iwarp());
        c.write(10);
        c.connection.shutdownOutput();
        assertEquals(List.of("WRITE 10 @200000/88", "SEND 4 0a000000", "SEND 4 020000e0"), c.posted());
    }

    @Test
    void iwarpAnnouncesWithTwoRequests() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.iwarp(), 0);
        c.connection.start(ScriptedConnection.peer(384, 2, false));
        assertEquals(List.of("WRITE 16 @10010/77", "SEND 4 80010080"), c.posted());
    }

    @Test
    void writesStopAtTheEndOfAChunkAndGoOnInTheNext() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        c.entry(1, 0x900000, 0x99, 100);
        c.arrive(0x80000180, 16);
        assertEquals(65536 + 100, c.write(70000));
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 65536 @200000/88 00010000",
                "WRITE_WITH_IMMEDIATE 100 @900000/99 00000064"), c.posted());
        c.complete();
        assertFalse(c.connection.writable());
        c.entry(0, 0xA00000, 0x9A, 65536);
        c.arrive(0x80000180, 16);
        assertEquals(3, c.write(3));
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 3 @a00000/9a 00000003"), c.posted());
    }

    @Test
    void entryIsTakenOnlyWhenAMessageSaysSo() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        c.entry(1, 0x900000, 0x99, 100);
        c.arrive(0x80000180, 0);
        assertEquals(65536, c.write(70000));
    }

    @Test
    void largeWritesAreSplit() throws SocketException {
        StreamSettings settings = new StreamSettings(true, true, true, false, 64, 400, 131072, 131072, 131072, 65536,
                1000, 0, FlowKind.CREDIT_RING, 4096);
        ScriptedConnection c = ScriptedConnection.started(arena, settings);
        assertEquals(2500, c.write(2500));
        assertEquals(List.of(1000, 1000, 500), c.takePosted().stream().map(s -> s.payload().length).toList());
    }

    @Test
    void smallWritesAreInlineAndKeepNoRoom() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.infiniBand().withBuffers(4096, 4096),
                64);
        c.connection.start(ScriptedConnection.peer(384, 2, false));
        assertEquals(64, c.write(64));
        assertEquals(4096, c.write(5000));
        List<FakeQueuePair.Send> sends = c.takePosted();
        assertTrue(sends.get(0).inline, "16 bytes of an entry fit");
        assertTrue(sends.get(1).inline);
        assertFalse(sends.get(2).inline);
        assertEquals(1, sends.get(2).elements);
    }

    @Test
    void writesWrapAroundTheRingWithTwoElements() throws SocketException {
        StreamSettings settings = ScriptedConnection.infiniBand().withBuffers(4096, 4096);
        ScriptedConnection c = ScriptedConnection.started(arena, settings);
        c.write(3000);
        c.posted();
        c.complete();
        byte[] bytes = new byte[2000];
        StreamPeer.fill(bytes, 0, 2000, 5, 0);
        assertEquals(2000, c.connection.write(bytes, 0, 2000));
        FakeQueuePair.Send send = c.takePosted().getFirst();
        assertEquals(2, send.elements);
        assertArrayEquals(bytes, send.payload());
    }

    @Test
    void readsWrapAroundTheRing() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena,
                ScriptedConnection.infiniBand().withBuffers(4096, 4096));
        for (int length : new int[] {2048, 1000}) {
            c.data(new byte[length]);
            assertEquals(length, c.read(new byte[4096]));
        }
        byte[] sent = new byte[2048];
        StreamPeer.fill(sent, 0, sent.length, 7, 0);
        c.data(Arrays.copyOf(sent, 1048));
        c.data(Arrays.copyOfRange(sent, 1048, 2048));
        assertEquals(2048, c.connection.available());
        byte[] got = new byte[2048];
        assertEquals(2048, c.read(got));
        assertArrayEquals(sent, got);
        assertEquals(0, c.read(got));
    }

    @Test
    void dataLeavesFourSlotsForControlMessages() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand().withQueues(16, 400));
        assertEquals(12, messages(c));
        c.connection.disconnect();
        assertEquals(13, c.connection.outstandingSends());
    }

    @Test
    void controlMessagesWaitForASlot() throws SocketException {
        StreamSettings settings = ScriptedConnection.infiniBand().withBuffers(1024, 1024);
        ScriptedConnection c = ScriptedConnection.started(arena, settings);
        for (int half = 0; half < 4; half++) {
            c.data(new byte[512]);
            c.read(new byte[512]);
        }
        assertEquals(4, c.posted().size());
        assertFalse(c.connection.creditOwed());
        c.data(new byte[512]);
        c.read(new byte[512]);
        c.connection.shutdownOutput();
        assertTrue(c.connection.creditOwed());
        assertTrue(c.posted().isEmpty());
        assertFalse(c.connection.drained());
        c.complete();
        assertFalse(c.connection.creditOwed());
        assertEquals(2, c.takePosted().size());
        c.complete();
        assertTrue(c.connection.drained());
        assertEquals(7, c.connection.sendQueue.completed());
    }

    @Test
    void keepaliveWritesNothingAndOnlyOnce() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        c.connection.keepalive();
        c.connection.keepalive();
        assertEquals(List.of("WRITE 0 @0/0"), c.posted());
        c.complete();
        c.connection.keepalive();
        assertEquals(SendRequest.Opcode.WRITE, c.takePosted().getFirst().opcode);
    }

    @Test
    void aFewCreditsStayUnused() throws SocketException {
        assertEquals(376, messagesWithout(ScriptedConnection.infiniBand(), 384));
        assertEquals(14, messagesWithout(ScriptedConnection.infiniBand(), 16));
        assertEquals(288, messagesWithout(ScriptedConnection.iwarp(), 384));
        assertEquals(8, messagesWithout(ScriptedConnection.iwarp(), 16));
        assertEquals(1, messagesWithout(ScriptedConnection.iwarp(), 1));
    }

    private int messagesWithout(StreamSettings settings, int credits) throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, settings.withQueues(1000, 400), 4);
        c.connection.start(ScriptedConnection.peer(credits, 2, false));
        return messages(c);
    }

    /** Writes as many messages of one byte as can be. */
    private static int messages(ScriptedConnection c) throws SocketException {
        int taken = 0;
        while (c.connection.writable()) {
            taken += c.write(1);
        }
        return taken;
    }

    @Test
    void zeroBytesOfDataAreNotAnEnd() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        c.arrive(0, 0);
        assertFalse(c.connection.readable());
        assertEquals(0, c.read(new byte[1]));
        c.data((byte) 1);
        assertEquals(1, c.read(new byte[1]));
    }

    @Test
    void whatCameBeforeTheStartCounts() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.infiniBand().withQueues(1000, 32), 0);
        c.entry(1, 0x900000, 0x99, 100);
        c.arrive(0x80000000 | 32, 16);
        for (int i = 0; i < 8; i++) {
            c.data((byte) i);
        }
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        assertTrue(c.posted().isEmpty());
        assertFalse(c.connection.writable());
        c.connection.start(ScriptedConnection.peer(16, 2, false));
        assertEquals(30, messages(c), "32 credits, 2 of them in reserve");
        assertEquals(8, c.read(new byte[9]));
        assertEquals(-1, c.read(new byte[9]));
    }

    @Test
    void updatesBeforeTheStartComeOnceAtMost() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.infiniBand(), 0);
        c.arrive(0x80000000 | 384, 0);
        c.arrive(0x80000000 | 384, 0);
        assertTrue(c.connection.failure().violation());
    }

    @Test
    void refusesRegionsThatAreTooSmallAndAForeignBase() {
        StreamSettings settings = ScriptedConnection.infiniBand();
        SimulatedRegion send = SimulatedRegion.local(arena, settings.sendRegionBytes());
        SimulatedRegion remote = SimulatedRegion.remote(arena, settings.remoteRegionBytes());
        FakeQueuePair queuePair = new FakeQueuePair(settings, 0, send, remote);
        assertThrows(IllegalArgumentException.class,
                () -> new StreamConnection(queuePair, send, remote, ScriptedConnection.settings(65536 + 64), 0));
        assertThrows(IllegalArgumentException.class, () -> new StreamConnection(queuePair, send, remote, settings, 1));
    }

    @Test
    void theAcceptingEndOverIwarpSpeaksOnlyAfterItHasHeardThePeer() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.iwarp(), 4);
        c.connection.startAccepted(ScriptedConnection.peer(384, 2, false));
        assertEquals(0, c.connection.write(new byte[10], 0, 10), "written before the peer was heard");
        assertEquals(List.of(), c.posted());
        assertTrue(c.connection.isListening());
        c.arrive(ImmediateData.update(384), 0);
        assertFalse(c.connection.isListening());
        assertFalse(c.posted().isEmpty(), "the second chunk is announced once the peer was heard");
        assertEquals(10, c.connection.write(new byte[10], 0, 10));
    }

    @Test
    void theAcceptingEndOverIwarpSpeaksWhenItIsToldTo() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.iwarp(), 4);
        c.connection.startAccepted(ScriptedConnection.peer(384, 2, false));
        c.connection.disconnect();
        assertFalse(c.connection.drained(), "DISCONNECT is still to be sent");
        c.connection.speak();
        assertFalse(c.posted().isEmpty());
        c.complete();
        assertTrue(c.connection.drained());
    }

    @Test
    void theAcceptingEndOverInfiniBandSpeaksAtOnce() throws SocketException {
        ScriptedConnection c = new ScriptedConnection(arena, ScriptedConnection.infiniBand(), 0);
        c.connection.startAccepted(ScriptedConnection.peer(384, 2, false));
        assertFalse(c.connection.isListening());
        assertFalse(c.posted().isEmpty());
    }
}
