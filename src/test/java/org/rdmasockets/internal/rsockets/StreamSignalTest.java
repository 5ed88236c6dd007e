package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.net.SocketException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** The requests that complete visibly, and the receives that are posted together. */
class StreamSignalTest {
    private final Arena arena = Arena.ofShared();

    @AfterEach
    void free() {
        arena.close();
    }

    private ScriptedConnection infiniBand() throws SocketException {
        return ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
    }

    private static List<Boolean> signals(ScriptedConnection c) {
        return c.takePosted().stream().map(s -> s.signalled).toList();
    }

    private static int write(ScriptedConnection c, int bytes, int times) throws SocketException {
        int taken = 0;
        for (int i = 0; i < times; i++) {
            taken += c.write(bytes);
        }
        return taken;
    }

    @Test
    void dataIsSignalledOnceInAQuarterOfTheSlots() throws SocketException {
        ScriptedConnection c = infiniBand();
        assertEquals(60, write(c, 1, 60), "all slots for data");
        List<Boolean> signals = signals(c);
        for (int i = 0; i < signals.size(); i++) {
            assertEquals(i % 15 == 14, signals.get(i), "message " + i);
        }
    }

    @Test
    void dataIsSignalledOnceInAQuarterOfTheSendRing() throws SocketException {
        ScriptedConnection c = infiniBand();
        write(c, 16_000, 4);
        assertEquals(List.of(false, false, true, false), signals(c));
    }

    @Test
    void oneCompletionFreesEverythingBeforeIt() throws SocketException {
        ScriptedConnection c = infiniBand();
        assertEquals(60, write(c, 1, 60));
        c.takePosted();
        assertFalse(c.connection.writable(), "no slot is left");
        c.complete();
        assertEquals(0, c.connection.outstandingSends());
        assertEquals(60, write(c, 1, 60));
    }

    @Test
    void controlMessagesAndEverythingOverIwarpAreSignalled() throws SocketException {
        ScriptedConnection c = infiniBand();
        c.write(1);
        c.connection.shutdownOutput();
        assertEquals(List.of(false, true), signals(c));
        c.complete();
        assertTrue(c.connection.drained());
        ScriptedConnection iwarp = ScriptedConnection.started(arena, ScriptedConnection.iwarp());
        write(iwarp, 1, 3);
        assertFalse(signals(iwarp).contains(false));
    }

    @Test
    void theLastWritesAreConfirmedOnce() throws SocketException {
        ScriptedConnection c = infiniBand();
        assertFalse(c.connection.confirm(), "nothing was written");
        write(c, 1, 3);
        assertEquals(3, c.takePosted().size());
        c.complete();
        assertEquals(3, c.connection.outstandingSends());
        assertTrue(c.connection.confirm());
        assertFalse(c.connection.confirm(), "asked already");
        assertEquals(List.of("WRITE 0 @0/0"), c.posted());
        c.complete();
        assertEquals(0, c.connection.outstandingSends());
        assertFalse(c.connection.confirm(), "known already");
    }

    @Test
    void aFailedRequestIsShownWithoutASignal() throws SocketException {
        ScriptedConnection c = infiniBand();
        write(c, 1, 3);
        c.takePosted();
        c.complete(WorkCompletionStatus.RETRY_EXCEEDED.ordinal());
        assertTrue(c.connection.failure() != null);
        assertEquals(0, c.connection.outstandingSends());
        assertFalse(c.connection.confirm(), "nothing is left to ask for");
    }

    @Test
    void receivesArePostedEightAtATime() throws SocketException {
        ScriptedConnection c = infiniBand();
        int posted = c.queuePair.receives.size();
        for (int i = 1; i <= 16; i++) {
            c.data((byte) i);
            assertEquals(posted - i % 8, c.queuePair.receives.size(), "after message " + i);
        }
    }

    /** The queue pair of this test throws when credits are given for receives that are not posted. */
    @Test
    void receivesArePostedBeforeCreditsAreGiven() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand().withQueues(64, 42));
        int posted = c.queuePair.receives.size();
        for (int i = 0; i < 13; i++) {
            c.data((byte) i);
        }
        assertEquals(1, c.takePosted().size(), "half of 26 credits were used: an update");
        assertEquals(posted, c.queuePair.receives.size());
    }

    @Test
    void shallowQueuesKeepFewReceivesBack() throws SocketException {
        ScriptedConnection c = ScriptedConnection.started(arena, ScriptedConnection.infiniBand().withQueues(64, 16));
        int posted = c.queuePair.receives.size();
        for (int i = 0; i < 3; i++) {
            c.data((byte) i);
        }
        assertEquals(posted - 3, c.queuePair.receives.size());
        c.data((byte) 3);
        assertEquals(posted, c.queuePair.receives.size());
    }
}
