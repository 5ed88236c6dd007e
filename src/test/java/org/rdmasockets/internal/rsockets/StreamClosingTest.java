package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.net.SocketException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** How a connection ends: half closes in all orders, disconnects, failures, and what comes late. */
class StreamClosingTest {
    private static final String SENT_SHUTDOWN = "WRITE_WITH_IMMEDIATE 0 @0/0 e0000002";
    private static final String SENT_DISCONNECT = "WRITE_WITH_IMMEDIATE 0 @0/0 e0000000";
    private static final String SENT_UNREAD = "WRITE_WITH_IMMEDIATE 0 @0/0 e000000e";
    private static final int UNREAD = 0xE000000E;

    private final Arena arena = Arena.ofShared();
    private final byte[] buffer = new byte[100];
    private ScriptedConnection c;

    @BeforeEach
    void start() throws SocketException {
        c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
    }

    @AfterEach
    void free() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }

    private void assertEnd() throws SocketException {
        assertTrue(c.connection.readable());
        assertEquals(-1, c.read(buffer));
        assertEquals(-1, c.read(buffer));
    }

    private void assertReadFails(String message) {
        for (int i = 0; i < 2; i++) {
            assertTrue(c.connection.readable());
            assertEquals(message, assertThrows(SocketException.class, () -> c.read(buffer)).getMessage());
        }
    }

    private void assertWriteFails(String message) {
        assertTrue(c.connection.writable());
        assertEquals(message, assertThrows(SocketException.class, () -> c.write(1)).getMessage());
    }

    @Test
    void shutOutputTellsShutdownOnceAndReadingGoesOn() throws SocketException {
        c.write(3);
        c.connection.shutdownOutput();
        c.connection.shutdownOutput();
        List<String> posted = c.posted();
        assertEquals(SENT_SHUTDOWN, posted.get(1));
        assertEquals(2, posted.size());
        assertWriteFails("Broken pipe");
        c.data((byte) 1);
        assertEquals(1, c.read(buffer));
        assertEquals(0, c.read(buffer));
        assertFalse(c.connection.drained());
        c.complete();
        assertTrue(c.connection.drained());
    }

    @Test
    void closeTellsDisconnect() {
        c.connection.disconnect();
        c.connection.disconnect();
        assertEquals(List.of(SENT_DISCONNECT), c.posted());
        assertFalse(c.connection.drained());
        c.complete();
        assertTrue(c.connection.drained());
    }

    @Test
    void closeAfterShutOutputTellsDisconnect() {
        c.connection.shutdownOutput();
        c.connection.disconnect();
        assertEquals(List.of(SENT_SHUTDOWN, SENT_DISCONNECT), c.posted());
    }

    @Test
    void shutOutputAfterThePeersTellsDisconnect() throws SocketException {
        c.data((byte) 1);
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        assertFalse(c.connection.peerDisconnected());
        assertEquals(1, c.read(buffer));
        assertEnd();
        assertEquals(4, c.write(4));
        c.connection.shutdownOutput();
        assertEquals(SENT_DISCONNECT, c.posted().get(1));
        c.connection.disconnect();
        assertTrue(c.posted().isEmpty());
    }

    @Test
    void crossingShutdownsNeedNoFurtherMessage() throws SocketException {
        c.write(5);
        c.connection.shutdownOutput();
        c.posted();
        c.data((byte) 1, (byte) 2);
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        assertFalse(c.connection.drained(), "5 bytes are outstanding");
        assertEquals(2, c.read(buffer));
        assertEnd();
        c.complete();
        c.connection.disconnect();
        assertTrue(c.posted().isEmpty());
        assertTrue(c.connection.drained());
        c.connection.onDisconnected();
        assertEquals(null, c.connection.failure());
    }

    /** There a message that has completed need not have arrived, and only a peer that was told goes. */
    @Test
    void overIwarpACloseIsToldAlsoAfterCrossingShutdowns() throws SocketException {
        c = ScriptedConnection.started(arena, ScriptedConnection.iwarp());
        c.connection.shutdownOutput();
        c.posted();
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        c.complete();
        c.connection.shutdownInput();
        assertTrue(c.posted().isEmpty(), "it may yet be closed");
        c.connection.disconnect();
        c.connection.disconnect();
        assertEquals(iwarpDisconnect(), c.posted());
        assertFalse(c.connection.drained());
        c.complete();
        assertTrue(c.connection.drained());
        c.connection.onDisconnected();
        assertEquals(null, c.connection.failure());
    }

    private List<String> iwarpDisconnect() throws SocketException {
        ScriptedConnection other = ScriptedConnection.started(arena, ScriptedConnection.iwarp());
        other.connection.disconnect();
        return other.posted();
    }

    @Test
    void overIwarpAPeerThatGoesIsToldNothing() throws SocketException {
        c = ScriptedConnection.started(arena, ScriptedConnection.iwarp());
        c.connection.shutdownOutput();
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        c.posted();
        c.connection.disconnect();
        assertTrue(c.posted().isEmpty());
    }

    /** A request that is posted then may never complete. */
    @Test
    void overIwarpAPeerThatHasGoneIsToldNothing() throws SocketException {
        c = ScriptedConnection.started(arena, ScriptedConnection.iwarp());
        c.connection.shutdownOutput();
        c.posted();
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        c.complete();
        c.connection.onDisconnected();
        c.connection.disconnect();
        assertTrue(c.posted().isEmpty());
        assertTrue(c.connection.drained());
        assertEquals(null, c.connection.failure());
    }

    @Test
    void lastMessageThatFailsIsAFailure() throws SocketException {
        c.connection.shutdownOutput();
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        c.posted();
        c.complete(WorkCompletionStatus.RETRY_EXCEEDED.ordinal());
        assertTrue(c.connection.failure().detail().contains("control message"), c.connection.failure().detail());
        assertEnd();
    }

    @Test
    void shutInputTellsNothingUnlessTheOutputIsShut() {
        c.connection.shutdownInput();
        assertTrue(c.posted().isEmpty());
        c.connection.shutdownOutput();
        assertEquals(List.of(SENT_DISCONNECT), c.posted());
    }

    @Test
    void shutInputAfterOutputTellsDisconnect() {
        c.connection.shutdownOutput();
        c.connection.shutdownInput();
        assertEquals(List.of(SENT_SHUTDOWN, SENT_DISCONNECT), c.posted());
    }

    @Test
    void shutInputThrowsDataAwayAndThePeerGoesOn() throws SocketException {
        c.data(new byte[40_000]);
        c.connection.shutdownInput();
        assertEnd();
        c.data(new byte[25_536]);
        assertEquals(1, c.posted().size(), "the half is lent again");
        c.complete();
        for (int half = 0; half < 5; half++) {
            c.data(new byte[65_536]);
            assertEquals(1, c.posted().size());
            c.complete();
        }
        assertEnd();
        assertEquals(3, c.write(3));
    }

    @Test
    void disconnectLeavesDataReadableAndEndsWriting() throws SocketException {
        c.write(7);
        c.posted();
        c.data((byte) 9);
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        assertTrue(c.connection.peerDisconnected());
        assertTrue(c.connection.drained(), "nothing will ever complete");
        assertEquals(131_072, c.write(131_072), "the first write goes nowhere");
        assertTrue(c.posted().isEmpty());
        assertWriteFails("Broken pipe");
        assertEquals(1, c.connection.available());
        assertEquals(1, c.read(buffer));
        assertEquals(9, buffer[0]);
        assertEnd();
        c.complete(WorkCompletionStatus.FLUSHED.ordinal());
        c.receiveFails(WorkCompletionStatus.FLUSHED.ordinal());
        c.connection.onDisconnected();
        c.connection.disconnect();
        c.connection.keepalive();
        assertEnd();
        assertTrue(c.posted().isEmpty(), "a disconnect is not answered");
        assertEquals(null, c.connection.failure());
    }

    @Test
    void aSignOfLifeFollowsTheLastWordOverIwarpUntilThePeerIsHeard() throws SocketException {
        c = ScriptedConnection.started(arena, ScriptedConnection.iwarp());
        c.connection.disconnect();
        c.posted();
        c.complete();
        assertTrue(c.connection.drained());
        c.connection.keepalive();
        assertEquals(List.of("WRITE 0 @0/0"), c.posted());
        assertFalse(c.connection.drained(), "it is waited for");
        c.complete();
        assertTrue(c.connection.drained());
        c.arrive(ScriptedConnection.SHUTDOWN, 4);
        c.connection.keepalive();
        assertTrue(c.posted().isEmpty(), "the peer has what was said");
    }

    @Test
    void noSignOfLifeFollowsTheLastWordElsewhere() {
        c.connection.disconnect();
        c.posted();
        c.complete();
        c.connection.keepalive();
        assertTrue(c.posted().isEmpty());
    }

    @Test
    void updatesAfterShutdownCountAndStrayDataDoesNot() throws SocketException {
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        c.arrive(10, 10);
        assertEnd();
        c.entry(1, 0x900000, 0x99, 100);
        c.arrive(0x80000180, 16);
        assertEquals(65536 + 100, c.write(70000));
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        c.arrive(10, 10);
        c.arrive(0x80000001, 16);
        c.arrive(0x20000000, 16);
        assertEnd();
        assertEquals(null, c.connection.failure());
    }

    @Test
    void unknownControlsAreTolerated() throws SocketException {
        for (int control : new int[] {1, 3, 77, (1 << 29) - 1}) {
            c.arrive(0xE0000000 | control, 0);
        }
        assertFalse(c.connection.readable());
        assertEquals(1, c.write(1));
    }

    @Test
    void waitingShutdownBecomesDisconnect() throws SocketException {
        c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand().withBuffers(1024, 1024));
        for (int half = 0; half < 4; half++) {
            c.data(new byte[512]);
            c.read(new byte[512]);
        }
        c.posted();
        c.connection.shutdownOutput();
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        c.complete();
        assertEquals(List.of(SENT_DISCONNECT), c.posted());
    }

    @Test
    void vanishedPeerIsAResetAfterWhatArrived() throws SocketException {
        c.data((byte) 4);
        c.connection.onDisconnected();
        assertEquals(1, c.read(buffer));
        assertReadFails("Connection reset");
        assertWriteFails("Connection reset");
        assertTrue(c.connection.drained());
    }

    @Test
    void dataAndDisconnectMayComeAfterTheConnectionManagersWord() throws SocketException {
        c.connection.onDisconnected();
        c.data((byte) 1, (byte) 2);
        c.data((byte) 3);
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        assertEquals(3, c.read(buffer));
        assertEnd();
    }

    @Test
    void endIsNotTurnedIntoAResetByALaterFailure() throws SocketException {
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        c.connection.onDisconnected();
        assertEnd();
        assertWriteFails("Connection reset");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "SUCCESS")
    void everyFailedSendIsAReset(WorkCompletionStatus status) throws SocketException {
        c.data((byte) 4);
        c.write(1);
        c.posted();
        c.complete(status.ordinal());
        assertEquals(1, c.read(buffer));
        assertReadFails("Connection reset");
        assertWriteFails("Connection reset");
        assertTrue(c.connection.failure().detail().contains(status + " ("), c.connection.failure().detail());
        assertFalse(c.connection.failure().violation());
        assertTrue(c.connection.failure().exception().getCause().getMessage().contains("write of data"));
    }

    @Test
    void flushedReceiveIsAReset() {
        c.receiveFails(WorkCompletionStatus.FLUSHED.ordinal());
        assertReadFails("Connection reset");
    }

    @Test
    void firstFailureIsTheOneThatIsTold() throws SocketException {
        c.write(1);
        c.write(1);
        c.posted();
        c.connection.fail(StreamFailure.of("Connection timed out", "no answer for 30 s"));
        c.complete(WorkCompletionStatus.FLUSHED.ordinal());
        c.receiveFails(WorkCompletionStatus.FLUSHED.ordinal());
        assertReadFails("Connection timed out");
        assertEquals(0, c.connection.outstandingSends());
    }

    @Test
    void aReasonOfItsOwnReplacesAReset() throws SocketException {
        c.receiveFails(WorkCompletionStatus.FLUSHED.ordinal());
        assertReadFails("Connection reset");
        c.connection.fail(StreamFailure.of("RDMA device rxe0 was removed", "removed"));
        assertReadFails("RDMA device rxe0 was removed");
        c.connection.fail(StreamFailure.of("Connection timed out", "no answer for 30 s"));
        assertReadFails("RDMA device rxe0 was removed");
    }

    @Test
    void refusedPostIsAResetThatNamesTheError() {
        c.queuePair.refuse(Errno.ENOMEM);
        assertEquals("Connection reset", assertThrows(SocketException.class, () -> c.write(1)).getMessage());
        assertEquals("ibv_post_send failed: ENOMEM (12)", c.connection.failure().detail());
        assertEquals(0, c.connection.outstandingSends());
    }

    @Test
    void refusedReceiveIsAResetThatNamesTheError() throws SocketException {
        c.queuePair.refuse(Errno.EINVAL);
        for (int i = 0; i < 8; i++) { // as many as are posted together
            c.data((byte) i);
        }
        assertEquals("ibv_post_recv failed: EINVAL (22)", c.connection.failure().detail());
        assertEquals(8, c.read(buffer));
    }

    @Test
    void aFirstWriteThatNoSendBufferTakesFailsAndSoDoesTheNext() throws SocketException {
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        assertEquals("Broken pipe", assertThrows(SocketException.class, () -> c.write(131_073)).getMessage());
        assertWriteFails("Broken pipe");
    }

    @Test
    void noWriteSucceedsAfterOneThatThePeersDisconnectHasEnded() throws SocketException {
        assertEquals(65_536, c.write(1_000_000), "the chunk");
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        assertEquals("Broken pipe", assertThrows(SocketException.class, () -> c.write(934_464)).getMessage());
        assertWriteFails("Broken pipe");
        assertThrows(SocketException.class, () -> c.connection.probe());
    }

    @Test
    void noWriteSucceedsAfterThePeersDisconnectWithDataUnread() throws SocketException {
        c.write(7);
        c.arrive(UNREAD, 0);
        assertEquals(5, c.write(5), "it has not closed yet");
        c.arrive(ScriptedConnection.DISCONNECT, 0);
        assertWriteFails("Broken pipe");
        assertEnd();
    }

    @Test
    void closeTellsThatDataIsUnread() throws SocketException {
        c.data((byte) 1, (byte) 2);
        assertEquals(1, c.read(new byte[1]));
        c.connection.disconnect();
        c.connection.disconnect();
        assertEquals(List.of(SENT_UNREAD, SENT_DISCONNECT), c.posted());
        c.complete();
        assertTrue(c.connection.drained());
    }

    @Test
    void closeTellsThatDataWasThrownAway() throws SocketException {
        c.connection.shutdownInput();
        c.data((byte) 1);
        c.connection.disconnect();
        assertEquals(List.of(SENT_UNREAD, SENT_DISCONNECT), c.posted());
    }

    @Test
    void aPeerThatWritesNoMoreIsNotToldOfUnreadData() {
        c.data((byte) 1);
        c.arrive(ScriptedConnection.SHUTDOWN, 0);
        c.connection.disconnect();
        assertEquals(List.of(SENT_DISCONNECT), c.posted());
    }

    @Test
    void nothingIsPostedOrTouchedAfterAbort() throws SocketException {
        c.data((byte) 1);
        c.write(1);
        c.posted();
        FakeQueuePair.Receive receive = c.queuePair.receives.peek();
        c.connection.abort();
        assertTrue(c.connection.drained());
        arena.close();
        c.connection.onCompletion(receive.workRequestId(), 0, CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE, 16, true,
                0x80000000);
        c.complete();
        c.complete(WorkCompletionStatus.FLUSHED.ordinal());
        c.connection.disconnect();
        c.connection.keepalive();
        assertEquals(-1, c.read(buffer));
        assertWriteFails("Broken pipe");
        assertTrue(c.posted().isEmpty());
        assertEquals(null, c.connection.failure());
    }

    @Test
    void completionsTwiceOrOutOfOrderDoNoHarm() throws SocketException {
        c.write(1000);
        c.write(2000);
        List<FakeQueuePair.Send> sends = c.takePosted();
        for (int index : new int[] {1, 0, 1, 0}) {
            c.connection.onCompletion(sends.get(index).workRequestId, 0, CompletionOpcode.WRITE, 0, false, 0);
        }
        assertEquals(0, c.connection.outstandingSends());
        assertEquals(1 + 2, c.connection.sendQueue.completed());
        c.queuePair.retireSend(sends.get(1).workRequestId);
        assertEquals(65536 - 3000, c.write(131072), "what is left of the chunk");
    }
}
