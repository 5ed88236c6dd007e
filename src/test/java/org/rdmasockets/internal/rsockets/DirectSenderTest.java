package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.SocketException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** Data from memory of the application looks the same on the wire, and needs no room in the send ring. */
class DirectSenderTest {
    private final Arena arena = Arena.ofShared();

    @AfterEach
    void free() {
        arena.close();
    }

    private SimulatedRegion own(ScriptedConnection c, int bytes) {
        SimulatedRegion own = SimulatedRegion.local(arena, bytes);
        byte[] content = new byte[bytes];
        StreamPeer.fill(content, 0, bytes, 3, 0);
        own.segment().copyFrom(MemorySegment.ofArray(content));
        c.queuePair.add(own);
        return own;
    }

    @Test
    void theMessageIsThatOfAnyData() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        SimulatedRegion own = own(c, 100);
        assertEquals(90, c.connection.directSender().write(own, 10, 90));
        c.write(5);
        List<FakeQueuePair.Send> sends = c.takePosted();
        byte[] content = new byte[90];
        StreamPeer.fill(content, 0, 90, 3, 10);
        assertArrayEquals(content, sends.get(0).payload());
        assertEquals(0x200000, sends.get(0).remoteAddress);
        assertEquals(0x88, sends.get(0).remoteKey);
        assertEquals(90, sends.get(0).immediate);
        assertEquals(0x20005a, sends.get(1).remoteAddress);
    }

    @Test
    void iwarpSendsTheMessageAfterTheWrite() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.iwarp());
        c.connection.directSender().write(own(c, 4096), 0, 4096);
        assertEquals(List.of("WRITE 4096 @200000/88", "SEND 4 00100000"), c.posted());
        assertFalse(c.connection.directSender().isSent());
        c.complete();
        assertTrue(c.connection.directSender().isSent());
    }

    @Test
    void theWriterWaitsForTheDevice() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        SimulatedRegion own = own(c, 200_000);
        DirectSender direct = c.connection.directSender();
        c.entry(1, 0x900000, 0x99, 10_000);
        c.arrive(0x80000180, 16);
        assertEquals(75_536, direct.write(own, 0, 100_000), "both chunks, and more than the send ring has");
        assertEquals(List.of(false, false), c.takePosted().stream().map(s -> s.signalled).toList());
        assertFalse(c.connection.writable());
        c.entry(0, 0xA00000, 0x9A, 65536);
        c.arrive(0x80000180, 16);
        assertTrue(c.connection.writable());
        assertEquals(24_464, direct.write(own, 75_536, 24_464));
        assertEquals(List.of(true), c.takePosted().stream().map(s -> s.signalled).toList());
        assertFalse(direct.isSent());
        assertFalse(c.connection.writable(), "the device still reads");
        c.complete();
        assertTrue(c.connection.writable());
        assertTrue(direct.isSent());
        assertTrue(c.connection.writable());
    }

    @Test
    void noWriteSucceedsAfterOneThatThePeersDisconnectHasEnded() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        SimulatedRegion own = own(c, 100_000);
        DirectSender direct = c.connection.directSender();
        assertEquals(65_536, direct.write(own, 0, 100_000));
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        assertThrows(SocketException.class, () -> direct.write(own, 65_536, 34_464));
        assertThrows(SocketException.class, () -> c.write(1));
        assertThrows(SocketException.class, () -> direct.write(own, 0, 1));
    }

    @Test
    void theFirstWriteAfterThePeersDisconnectSucceedsIfASendBufferTakesIt() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        SimulatedRegion own = own(c, 131_073);
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        DirectSender direct = c.connection.directSender();
        assertEquals(131_072, direct.write(own, 0, 131_072));
        assertThrows(SocketException.class, () -> direct.write(own, 0, 1));
        ScriptedConnection d = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        SimulatedRegion more = own(d, 131_073);
        d.arrive(ScriptedConnection.DISCONNECT, 0);
        assertThrows(SocketException.class, () -> d.connection.directSender().write(more, 0, 131_073));
    }

    @Test
    void nothingWaitsWhereTheDeviceCopies() throws SocketException {
        ScriptedConnection inline = new ScriptedConnection(arena, ScriptedConnection.infiniBand(), 64);
        inline.connection.start(ScriptedConnection.peer(384, 2, false));
        inline.takePosted();
        SimulatedRegion own = own(inline, 64);
        inline.connection.directSender().write(own, 0, 64);
        assertTrue(inline.connection.directSender().isSent());
        FakeQueuePair.Send send = inline.takePosted().getFirst();
        assertTrue(send.inline);
        assertFalse(send.signalled);
        StreamSettings copies = new StreamSettings(true, true, true, true, 64, 400, 131072, 131072, 131072, 65536,
                1 << 20, 0, FlowKind.CREDIT_RING, 4096);
        ScriptedConnection copying = ScriptedConnection.started(arena, copies);
        copying.connection.directSender().write(own(copying, 5000), 0, 5000);
        assertTrue(copying.connection.directSender().isSent());
    }

    @Test
    void aSmallEndOfALargeWriteWaitsForTheRest() throws SocketException {
        StreamSettings settings = new StreamSettings(true, true, true, false, 64, 400, 131072, 131072, 131072, 65536,
                3000, 0, FlowKind.CREDIT_RING, 4096);
        ScriptedConnection c = new ScriptedConnection(arena, settings, 64);
        c.connection.start(ScriptedConnection.peer(384, 2, false));
        c.takePosted();
        c.complete();
        assertEquals(3010, c.connection.directSender().write(own(c, 3010), 0, 3010));
        assertEquals(List.of(false, true), c.takePosted().stream().map(s -> s.signalled).toList());
        assertFalse(c.connection.directSender().isSent());
        c.complete();
        assertTrue(c.connection.directSender().isSent());
    }

    @Test
    void aFailureEndsTheWait() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        c.connection.directSender().write(own(c, 5000), 0, 5000);
        c.takePosted();
        c.complete(WorkCompletionStatus.RETRY_EXCEEDED.ordinal());
        assertTrue(c.connection.writable());
        assertEquals(StreamFailure.CONNECTION_RESET,
                assertThrows(SocketException.class, c.connection.directSender()::isSent).getMessage());
        assertThrows(SocketException.class, () -> c.connection.directSender().write(own(c, 1), 0, 1));
    }

    @Test
    void whoGivesUpIsToldWhetherTheDeviceStillReads() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        SimulatedRegion own = own(c, 100_000);
        DirectSender direct = c.connection.directSender();
        direct.write(own, 0, 2048);
        assertFalse(direct.giveUp(), "that was copied");
        assertTrue(direct.write(own, 0, 100_000) < 100_000);
        c.connection.shutdownOutput();
        assertThrows(SocketException.class, () -> direct.write(own, 0, 1));
        assertTrue(direct.giveUp(), "a part was posted");
        assertThrows(SocketException.class, () -> direct.write(own, 0, 1));
        assertFalse(direct.giveUp(), "nothing more was");
    }

    @Test
    void whoGivesUpWaitingIsToldWhetherTheDeviceStillReads() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        SimulatedRegion own = own(c, 5000);
        DirectSender direct = c.connection.directSender();
        direct.write(own, 0, 5000);
        assertFalse(direct.isSent());
        assertTrue(direct.giveUp());
        direct.write(own, 0, 5000);
        c.takePosted();
        c.complete();
        assertFalse(direct.giveUp());
    }

    @Test
    void theEndOfThePeerIsToldAfterTheDeviceHasLetGo() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        c.connection.directSender().write(own(c, 5000), 0, 5000);
        c.takePosted();
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        assertFalse(c.connection.directSender().isSent());
        assertFalse(c.connection.writable());
        c.complete(WorkCompletionStatus.FLUSHED.ordinal());
        assertTrue(c.connection.writable());
        assertTrue(c.connection.directSender().isSent());
        assertEquals(1, c.connection.directSender().write(own(c, 1), 0, 1), "the first write goes nowhere");
        assertTrue(c.connection.directSender().isSent());
        assertEquals(StreamFailure.BROKEN_PIPE, assertThrows(SocketException.class,
                () -> c.connection.directSender().write(own(c, 1), 0, 1)).getMessage());
    }

    @Test
    void aLittleIsCopiedSoThatNobodyWaits() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
        SimulatedRegion own = own(c, 2049);
        byte[] content = new byte[2048];
        StreamPeer.fill(content, 0, 2048, 3, 0);
        assertEquals(2048, c.connection.directSender().write(own, 0, 2048));
        assertTrue(c.connection.directSender().isSent());
        own.segment().fill((byte) '?');
        FakeQueuePair.Send send = c.takePosted().getFirst();
        assertArrayEquals(content, send.payload());
        assertFalse(send.signalled);
        c.connection.directSender().write(own, 0, 2049);
        assertFalse(c.connection.directSender().isSent());
    }

    @Test
    void nothingIsCopiedWhereTheSendRingIsFull() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand()
                .withBuffers(4096, 131_072));
        assertEquals(4000, c.write(4000));
        c.posted();
        assertFalse(c.connection.writable());
        assertEquals(1000, c.connection.directSender().write(own(c, 1000), 0, 1000));
        assertFalse(c.connection.directSender().isSent());
        c.takePosted();
        c.complete();
        assertTrue(c.connection.directSender().isSent());
    }
}
