package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.verbs.CompletionOpcode;

/**
 * A peer that breaks the protocol gets its connection closed with the reason, and nothing else happens: no other
 * exception, no access outside the regions (the memory here ends where they end), no further post.
 */
class HostilePeerTest {
    private static final int UPDATE = 0x80000000;

    private final Arena arena = Arena.ofShared();
    private ScriptedConnection c;

    @BeforeEach
    void start() throws SocketException {
        c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
    }

    @AfterEach
    void free() {
        arena.close();
    }

    private void assertViolation(String text) {
        SocketException e = assertThrows(SocketException.class, () -> c.read(new byte[1]));
        assertTrue(e.getMessage().contains("violated by the peer") && e.getMessage().contains(text), e.getMessage());
        assertTrue(c.connection.failure().violation());
        assertEquals(e.getMessage(), assertThrows(SocketException.class, () -> c.write(1)).getMessage());
        assertEquals(0, c.connection.available());
        assertTrue(c.connection.readable() && c.connection.writable() && c.connection.drained());
        int receives = c.queuePair.receives.size();
        c.posted();
        c.connection.disconnect();
        c.data((byte) 1);
        assertTrue(c.posted().isEmpty());
        assertEquals(receives - 1, c.queuePair.receives.size());
    }

    @Test
    void dataBeyondTheHalf() {
        c.arrive(65537, 65537);
        assertViolation("65537 bytes where it had room for 65536");
    }

    @Test
    void dataAcrossTheBorderOfTheHalves() {
        c.arrive(65000, 65000);
        c.arrive(1000, 1000);
        assertViolation("1000 bytes where it had room for 536");
    }

    @Test
    void dataBeyondWhatWasLent() {
        c.arrive(65536, 65536);
        c.arrive(65536, 65536);
        c.arrive(1, 1);
        assertViolation("1 bytes where it had room for 0");
    }

    @Test
    void largestLength() {
        c.arrive((1 << 29) - 1, 0);
        assertViolation("room for 65536");
    }

    @Test
    void nothingIsReadAfterAViolation() {
        c.data((byte) 1, (byte) 2);
        c.arrive(65536, 65536);
        assertViolation("room for 65534");
    }

    @Test
    void moreMessagesThanCredits() throws SocketException {
        // While no control slot is free, the peer's limit stays where it is.
        for (int i = 0; i < 384 + 4 * 192; i++) {
            c.arrive(1, 1);
            assertEquals(null, c.connection.failure());
        }
        c.arrive(1, 1);
        assertViolation("more than the 1152 messages");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5})
    void unknownOperations(int operation) {
        c.arrive(operation << 29 | 5, 5);
        assertViolation("operation " + operation);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 8, 15, 17, 32, 1 << 20})
    void announcementOfAnotherLength(int length) {
        c.arrive(UPDATE | 384, length);
        assertViolation("with " + length + " bytes");
    }

    @Test
    void announcementWithoutAnEntry() {
        c.arrive(UPDATE | 384, 16);
        assertViolation("not in the table");
    }

    @Test
    void announcementInTheWrongEntry() {
        c.entry(0, 0x900000, 1, 100);
        c.arrive(UPDATE | 384, 16);
        assertViolation("not in the table");
    }

    @Test
    void announcementInAnEntryInUse() {
        c.entry(1, 0x900000, 1, 100);
        c.arrive(UPDATE | 384, 16);
        c.entry(0, 0x900000, 1, 100);
        c.arrive(UPDATE | 384, 16);
        assertViolation("still in use");
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, Integer.MIN_VALUE})
    void announcementOfHugeChunks(int length) {
        c.entry(1, 0x900000, 1, length);
        c.arrive(UPDATE | 384, 16);
        assertViolation("chunk of " + Integer.toUnsignedString(length) + " bytes");
    }

    @Test
    void announcementBeyondTheAddressSpace() {
        c.entry(1, -100, 1, 101);
        c.arrive(UPDATE | 384, 16);
        assertViolation("chunk of 101 bytes");
    }

    @Test
    void entryRewrittenAfterItWasAnnouncedIsNotSeen() throws SocketException {
        c.entry(1, 0x900000, 0x99, 100);
        c.arrive(UPDATE | 384, 16);
        c.entry(1, 0x666, 0x66, 1 << 30);
        c.write(65536);
        c.write(100);
        assertEquals("WRITE_WITH_IMMEDIATE 100 @900000/99 00000064", c.posted().get(1));
    }

    @Test
    void creditsTakenBack() {
        c.arrive(UPDATE | 383, 0);
        assertViolation("took credits back (limit 383 after 384)");
    }

    @Test
    void messageWithoutImmediateData() {
        FakeQueuePair.Receive receive = c.queuePair.receives.remove();
        c.queuePair.retireReceive();
        c.connection.onCompletion(receive.workRequestId(), 0, CompletionOpcode.RECEIVE, 0, false, 0);
        assertViolation("no message");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void iwarpMessageOfAnotherLength(int length) throws SocketException {
        c = ScriptedConnection.started(arena, ScriptedConnection.iwarp());
        FakeQueuePair.Receive receive = c.queuePair.receives.remove();
        c.queuePair.retireReceive();
        c.connection.onCompletion(receive.workRequestId(), 0, CompletionOpcode.RECEIVE, length, false, 0);
        assertViolation(length + " bytes that are no message");
    }

    @Test
    void violationAfterAResetStillHidesTheData() {
        c.data((byte) 1);
        c.connection.onDisconnected();
        c.arrive(65536, 65536);
        assertViolation("room for 65535");
    }

    @ParameterizedTest
    @CsvSource({"true, CREDIT_RING", "false, CREDIT_RING", "true, SEND_RECEIVE", "false, SEND_RECEIVE",
        "true, READ_RING", "false, READ_RING"})
    void randomGarbageNeverDoesAnythingElse(boolean immediateData, FlowKind flow) throws SocketException {
        long first = new Random().nextLong(1L << 40);
        for (long seed = first; seed < first + 1000; seed++) {
            try (Arena own = Arena.ofConfined()) {
                playGarbage(new Random(seed), immediateData, flow, own);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e, e);
            }
        }
    }

    private static void playGarbage(Random random, boolean immediateData, FlowKind flow, Arena arena)
            throws SocketException {
        StreamSettings settings = new StreamSettings(immediateData, immediateData, immediateData, false, 16, 32, 2048,
                2048, 2048, 1024, 1000, random.nextInt(3), FlowKind.CREDIT_RING,
                4096).withFlow(flow, 1 + random.nextInt(300));
        ScriptedConnection c = new ScriptedConnection(arena, settings, 16);
        SimulatedRegion own = SimulatedRegion.local(arena, 3000);
        c.queuePair.add(own);
        c.connection.start(new ConnectData(random.nextBoolean() && immediateData, random.nextBoolean(),
                1 + random.nextInt(65534), 0x10000, 1, 2 + random.nextInt(8), random.nextLong() >>> 1, 1,
                1 + random.nextInt(1 << 30), 0, flow, 1 + random.nextInt(3000)));
        byte[] buffer = new byte[3000];
        for (int step = 0; step < 100 && !c.queuePair.receives.isEmpty(); step++) {
            c.posted();
            if (random.nextInt(4) > 0) {
                c.complete();
            }
            for (int i = random.nextInt(3); i > 0; i--) {
                c.remoteRegion.segment().set(ValueLayout.JAVA_INT, 4L * random.nextInt(16), garbage(random));
                position(c, random, flow);
            }
            c.arrive(garbage(random), random.nextBoolean() ? 16 : random.nextInt(20));
            attempt(() -> c.connection.read(buffer, 0, 1 + random.nextInt(3000)));
            DirectSender direct = c.connection.directSender();
            if (direct.isRead() && !direct.isUnfinished()) {
                attempt(() -> c.connection.write(buffer, 0, 1 + random.nextInt(3000)));
            }
            attempt(() -> direct.place(random.nextInt(2000), own, 0, 1 + random.nextInt(random.nextInt(2999) + 1)));
            attempt(() -> direct.isSent() ? 1 : 0);
        }
    }

    /** Sets the result of a read of the peer's position; mostly both copies are the same. */
    private static void position(ScriptedConnection c, Random random, FlowKind flow) {
        for (int i = 0; i < 4 && flow == FlowKind.READ_RING; i++) {
            c.remoteRegion.segment().set(ValueLayout.JAVA_LONG,
                    c.ringStart - RegionLayout.SINK_BEFORE_RING + 8L * i,
                    random.nextInt(20) == 0 ? random.nextLong() : i % 2 * random.nextInt(3));
        }
    }

    /** Mostly messages that get somewhere. */
    private static int garbage(Random random) {
        return switch (random.nextInt(8)) {
            case 0 -> random.nextInt();
            case 1, 2, 3 -> random.nextInt(1100);
            case 4, 5 -> UPDATE | random.nextInt(200);
            case 6 -> UPDATE | random.nextInt(1 << 17);
            default -> random.nextBoolean() ? 0xE0000001 + random.nextInt(13) : 0xC0000000 | random.nextInt(3);
        };
    }

    /** Reads or writes. */
    private interface Call {
        int run() throws SocketException;
    }

    private static void attempt(Call call) {
        try {
            call.run();
        } catch (SocketException e) {
            assertTrue(e.getMessage().startsWith("rsockets protocol violated") || e.getMessage().equals("Broken pipe")
                    || e.getMessage().startsWith("The peer has "), e.getMessage());
        }
    }
}
