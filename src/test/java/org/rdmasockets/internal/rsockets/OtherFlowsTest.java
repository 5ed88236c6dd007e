package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The data on the wire when messages carry a stream, or a ring whose position is read; and peers that lie. */
class OtherFlowsTest {
    private static final long RING = 0x200000;
    private static final int CREDITS = 16;
    private static final int BLOCKED_BY_BYTES = 0xE000000A;
    private static final int WAKE = 0xE000000C;
    private static final int SHUTDOWN = 0xE0000002;
    private static final int DISCONNECT = 0xE0000000;
    private static final int UNREAD = 0xE000000E;

    private final Arena arena = Arena.ofShared();
    private ScriptedConnection c;

    @AfterEach
    void free() {
        arena.close();
    }

    private void start(FlowKind flow, long flowBytes) throws SocketException {
        StreamSettings settings = new StreamSettings(true, true, true, false, 64, 64, 4096, 4096, 4096, 2048, 4096, 0,
                FlowKind.CREDIT_RING, 4096).withFlow(flow, 100);
        c = new ScriptedConnection(arena, settings, 0);
        c.connection.start(new ConnectData(false, true, CREDITS, 0x100000, 0x77, 2, RING, 0x88, 1024, 0, flow,
                flowBytes));
        assertEquals(flow, c.connection.flow());
    }

    private void position(long released, long taken, long releasedAgain, long takenAgain) {
        long[] all = {released, taken, releasedAgain, takenAgain};
        for (int i = 0; i < all.length; i++) {
            c.remoteRegion.segment().set(ValueLayout.JAVA_LONG, c.ringStart - 128 + 8L * i, all[i]);
        }
    }

    private void assertViolation(String said) {
        String message = assertThrows(SocketException.class, () -> c.read(new byte[1])).getMessage();
        assertTrue(message.startsWith("rsockets protocol violated") && message.contains(said), message);
    }

    @Test
    void messagesAreSentWithTheLimitOfTheOtherWay() throws SocketException {
        start(FlowKind.SEND_RECEIVE, 40);
        assertEquals(100, c.write(100));
        List<FakeQueuePair.Send> sends = c.takePosted();
        assertEquals(List.of(40, 40, 20), sends.stream().map(send -> send.payload().length).toList());
        // 40 receives of 100 bytes fill 4096, and no message has come.
        assertEquals(List.of(40, 40, 40), sends.stream().map(send -> send.immediate).toList());
        assertTrue(sends.stream().noneMatch(FakeQueuePair.Send::isWrite));
    }

    @Test
    void aMessageLongerThanItsReceiveIsNoMessage() throws SocketException {
        start(FlowKind.SEND_RECEIVE, 40);
        c.arrive(40, 101);
        assertViolation("1 to 100 fit");
    }

    @Test
    void anEmptyMessageOfDataIsNoMessage() throws SocketException {
        start(FlowKind.SEND_RECEIVE, 40);
        c.arrive(40, 0);
        assertViolation("0 bytes");
    }

    @Test
    void creditsComeWhenMessagesWereRead() throws SocketException {
        start(FlowKind.SEND_RECEIVE, 40);
        for (int i = 0; i < 30; i++) {
            c.arrive(CREDITS, 1);
        }
        assertEquals(List.of(), c.takePosted());
        assertEquals(19, c.read(new byte[19]));
        assertEquals(List.of(), c.takePosted());
        assertEquals(1, c.read(new byte[1]));
        assertEquals(List.of(ImmediateData.update(60)), c.takePosted().stream().map(send -> send.immediate).toList());
    }

    @Test
    void theWriterReadsThePositionAndThenSaysThatItWaits() throws SocketException {
        start(FlowKind.READ_RING, 100);
        assertEquals(100, c.write(150));
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 100 @200000/88 00000064", "READ"), brief());
        position(0, 0, 0, 0);
        c.complete();
        assertEquals(List.of("e000000a"), brief());
        c.arrive(WAKE, 0);
        assertEquals(List.of("READ"), brief());
        position(30, 1, 30, 1);
        c.complete();
        assertTrue(c.connection.writable());
        assertEquals(30, c.write(50));
        assertEquals("WRITE_WITH_IMMEDIATE 30 @200000/88 0000001e", brief().getFirst());
    }

    /** The requests since the last call: of reads only the kind, of words the word. */
    private List<String> brief() {
        return c.posted().stream().map(line -> line.startsWith("READ") ? "READ"
                : line.contains(" 0 @") ? line.substring(line.lastIndexOf(' ') + 1) : line).toList();
    }

    /** A peer that is changing it may lose its processor, so it is not read again before the peer says so. */
    @Test
    void aPositionThatWasHalfChangedIsNotUsed() throws SocketException {
        start(FlowKind.READ_RING, 100);
        c.write(150);
        brief();
        long[][] halves = {{30, 1, 20, 1}, {30, 0, 30, 1}, {101, 1, 30, 1}};
        for (long[] half : halves) {
            position(half[0], half[1], half[2], half[3]);
            c.complete();
            assertEquals(List.of("e000000a"), brief());
            c.complete();
            assertEquals(List.of(), brief());
            assertEquals(0, c.write(1));
            c.arrive(WAKE, 0);
            assertEquals(List.of("READ"), brief());
        }
        position(30, 1, 30, 1);
        c.complete();
        assertEquals(1, c.write(1));
    }

    @Test
    void whatWasNotSentCannotHaveBeenRead() throws SocketException {
        start(FlowKind.READ_RING, 100);
        c.write(150);
        brief();
        position(101, 1, 101, 1);
        c.complete();
        assertViolation("said it had read 101 of 100 bytes");
    }

    @Test
    void whoWaitsIsWokenWhenAQuarterIsFree() throws SocketException {
        start(FlowKind.READ_RING, 100);
        for (int i = 0; i < 4; i++) {
            c.arrive(1024, 1024);
        }
        c.arrive(BLOCKED_BY_BYTES, 0);
        assertEquals(1023, c.read(new byte[1023]));
        assertEquals(List.of(), brief());
        assertEquals(1, c.read(new byte[1]));
        assertEquals(List.of("e000000c"), brief());
        c.arrive(1024, 1024);
        c.arrive(BLOCKED_BY_BYTES, 0);
        c.arrive(BLOCKED_BY_BYTES, 0);
        assertViolation("said twice that it waits");
    }

    /** A position that changes all the time is seldom caught whole. */
    @Test
    void thePositionIsStoredInSteps() throws SocketException {
        start(FlowKind.READ_RING, 100);
        c.arrive(1024, 1024);
        for (int read = 1; read <= 1024; read++) {
            assertEquals(1, c.read(new byte[1]));
            assertEquals(read / 256 * 256, storedBytes()); // 16 steps of 4096
        }
        for (int message = 1; message <= 240; message++) { // the messages are steps, too
            c.arrive(1, 1);
            assertEquals(1, c.read(new byte[1]));
        }
        assertTrue(storedBytes() > 1024 + 120, () -> "stored " + storedBytes());
    }

    private long storedBytes() {
        return c.remoteRegion.segment().get(ValueLayout.JAVA_LONG, c.ringStart - 64);
    }

    @Test
    void whoDoesNotWaitCannotBeWoken() throws SocketException {
        start(FlowKind.READ_RING, 100);
        c.arrive(WAKE, 0);
        assertViolation("woke who does not wait");
    }

    @Test
    void moreThanTheRingHoldsIsAViolation() throws SocketException {
        start(FlowKind.READ_RING, 100);
        c.arrive(4096, 4096);
        c.arrive(1, 1);
        assertViolation("where it had room for 0");
    }

    /** Memory that the owner frees after the abort belongs to another. */
    @Test
    void nothingIsTouchedAfterTheAbort() throws SocketException {
        start(FlowKind.READ_RING, 100);
        c.arrive(10, 10);
        c.connection.abort();
        c.remoteRegion.segment().fill((byte) 7);
        c.connection.disconnect();
        assertEquals(-1, c.read(new byte[1]));
        assertEquals(-1, c.remoteRegion.segment().mismatch(arena.allocate(c.remoteRegion.lengthBytes())
                .fill((byte) 7)));
    }

    @ParameterizedTest
    @EnumSource(value = FlowKind.class, names = {"SEND_RECEIVE", "READ_RING"})
    void closeTellsThatDataIsUnread(FlowKind flow) throws SocketException {
        start(flow, 40);
        c.arrive(flow == FlowKind.SEND_RECEIVE ? CREDITS : 5, 5);
        assertEquals(4, c.read(new byte[4]));
        c.connection.disconnect();
        assertEquals(List.of(UNREAD, DISCONNECT), c.takePosted().stream().map(send -> send.immediate).toList());
    }

    @ParameterizedTest
    @EnumSource(value = FlowKind.class, names = {"SEND_RECEIVE", "READ_RING"})
    void noWriteSucceedsAfterThePeersDisconnectWithDataUnread(FlowKind flow) throws SocketException {
        start(flow, 40);
        c.arrive(UNREAD, 0);
        c.arrive(DISCONNECT, 0);
        assertThrows(SocketException.class, () -> c.write(1));
    }

    @ParameterizedTest
    @EnumSource(value = FlowKind.class, names = {"SEND_RECEIVE", "READ_RING"})
    void noWriteSucceedsAfterOneThatThePeersDisconnectHasEnded(FlowKind flow) throws SocketException {
        start(flow, 40);
        assertTrue(c.write(10_000) < 10_000);
        c.arrive(DISCONNECT, 0);
        assertThrows(SocketException.class, () -> c.write(9_000));
        assertThrows(SocketException.class, () -> c.write(1));
    }

    @Test
    void theEndOfTheStreamIsTheSame() throws SocketException {
        start(FlowKind.SEND_RECEIVE, 40);
        c.arrive(CREDITS, 5);
        c.arrive(SHUTDOWN, 0);
        assertEquals(5, c.read(new byte[10]));
        assertEquals(-1, c.read(new byte[10]));
    }
}
