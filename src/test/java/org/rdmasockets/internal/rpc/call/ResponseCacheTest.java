package org.rdmasockets.internal.rpc.call;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.rpc.call.ResponseCache.Finding;
import org.rdmasockets.internal.rpc.call.ResponseCache.Verdict;

/** A server's memory of calls is bounded in bytes and in time; it does not run a forgotten call again. */
class ResponseCacheTest {
    private static final byte[] PING = {1};
    private static final int ANSWER = 1000;
    /** So many have more answers than the memory takes, but are not too many themselves. */
    private static final int CLIENTS = 100;
    /** The weight of a call beside its answer, and of a client beside its calls. */
    private static final int BESIDE = 256;
    private static final int WEIGHT = ANSWER + BESIDE;
    private static final long MAX = 80_000;
    private static final long SHARE = MAX / 8;
    private static final long FOR_EVER = Long.MAX_VALUE;

    private final ResponseCache memory = new ResponseCache(MAX, FOR_EVER);

    private static CallServer server;
    private static ServerConnection lost;
    private static ServerConnection present;

    @BeforeAll
    static void makeConnections() throws IOException {
        server = CallServer.over(EndpointCarrier.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                1 << 20), name -> null, CallServer.Settings.DEFAULT);
        lost = new ServerConnection(server, null);
        present = new ServerConnection(server, null);
    }

    @AfterAll
    static void closeServer() {
        server.close();
    }

    /** Finds a call that may have been sent before. */
    private static Finding find(ResponseCache memory, ResponseCache.Client client, long number, long answered) {
        Frame frame = call(Frame.REPEAT, number);
        frame.answered = answered;
        return memory.find(client, frame, present);
    }

    private static Frame call(int flags, long number) {
        Frame frame = new Frame(Frame.CALL, Frame.NUMBERED | flags, (int) number + 6);
        frame.number = number;
        return frame;
    }

    /** The server comes to read a connection that its client has lost when the repeat has come over the next one. */
    @Test
    void aFrameOfALostConnectionDoesNotTakeTheAnswerFromItsRepeat() {
        ResponseCache.Client client = memory.arrive("a", 0);
        Finding run = memory.find(client, call(Frame.REPEAT, 1), present);
        assertEquals(Verdict.RUN, run.verdict());
        assertEquals(Verdict.KNOWN, memory.find(client, call(0, 1), lost).verdict());
        ResponseCache.Address to = memory.answered(run.entry(), new Frame(Frame.MESSAGE, Frame.LAST, 7));
        assertSame(present, to.connection());
        assertEquals(7, to.callId());
    }

    /** A long request comes behind others that are answered, and whose long answers are forgotten already. */
    @Test
    void aCallThatComesLateRunsUnlessItMayHaveRunBefore() {
        ResponseCache.Client client = memory.arrive("a", 0);
        for (int i = 10; i < 30; i++) {
            run(memory, client, i, 0);
        }
        assertEquals(Verdict.FORGOTTEN, verdict(client, 10), "the floor is above the late ones");
        assertEquals(Verdict.FORGOTTEN, memory.find(client, call(0, 1), lost).verdict());
        Finding late = memory.find(client, call(0, 1), present);
        assertEquals(Verdict.RUN, late.verdict());
        Frame answer = new Frame(Frame.MESSAGE, Frame.LAST, 1);
        memory.answered(late.entry(), answer);
        assertSame(answer, find(memory, client, 1, 0).answer());
        assertEquals(Verdict.FORGOTTEN, verdict(client, 2));
    }

    private static Frame run(ResponseCache memory, ResponseCache.Client client, long number, long answered) {
        Finding found = find(memory, client, number, answered);
        assertEquals(Verdict.RUN, found.verdict(), "call " + number);
        Frame answer = new Frame(Frame.MESSAGE, Frame.LAST, (int) number, new byte[ANSWER]);
        memory.answered(found.entry(), answer);
        return answer;
    }

    private Verdict verdict(ResponseCache.Client client, long number) {
        return find(memory, client, number, 0).verdict();
    }

    @Test
    void aRepeatedCallIsKnownWhileItRunsAndHasItsAnswerThen() {
        ResponseCache.Client client = memory.arrive("a", 0);
        Finding first = find(memory, client, 1, 0);
        Finding whileItRuns = find(memory, client, 1, 0);
        assertEquals(Verdict.KNOWN, whileItRuns.verdict());
        assertNull(whileItRuns.answer());
        Frame answer = new Frame(Frame.MESSAGE, Frame.LAST, 1, new byte[ANSWER]);
        memory.answered(first.entry(), answer);
        assertSame(answer, find(memory, client, 1, 0).answer());
    }

    @Test
    void whatItsClientHasIsForgottenAndNotRunAgain() {
        ResponseCache.Client client = memory.arrive("a", 0);
        for (int i = 1; i <= 5; i++) {
            run(memory, client, i, 0);
        }
        assertEquals(BESIDE + 5 * WEIGHT, memory.bytes());
        run(memory, client, 6, 5);
        assertEquals(BESIDE + 2 * WEIGHT, memory.bytes());
        assertEquals(Verdict.FORGOTTEN, verdict(client, 4));
        assertEquals(Verdict.KNOWN, verdict(client, 5));
    }

    @Test
    void aClientHasItsShareOfBytesAndLosesItsOldestAnswers() {
        ResponseCache.Client client = memory.arrive("a", 0);
        Finding runs = find(memory, client, 1, 0);
        int last = 1000;
        for (int i = 2; i <= last; i++) {
            run(memory, client, i, 0);
            assertTrue(memory.bytes() <= SHARE + BESIDE, "after call " + i + ": " + memory.bytes());
        }
        assertTrue(memory.bytes() > SHARE - 2 * WEIGHT, "far less than its share: " + memory.bytes());
        int known = 0;
        for (int i = 2; i <= last; i++) {
            Verdict verdict = verdict(client, i);
            assertTrue(verdict != Verdict.RUN, "call " + i + " would run again");
            known += verdict == Verdict.KNOWN ? 1 : 0;
        }
        assertEquals((SHARE - BESIDE) / WEIGHT, known, "the answers that are remembered");
        assertEquals(Verdict.KNOWN, verdict(client, last));
        assertEquals(Verdict.KNOWN, verdict(client, 1), "a call that runs was forgotten");
        memory.answered(runs.entry(), new Frame(Frame.MESSAGE, Frame.LAST, 1, new byte[0]));
    }

    @Test
    void anAnswerLongerThanTheShareIsNotKept() {
        ResponseCache.Client client = memory.arrive("a", 0);
        Finding found = find(memory, client, 1, 0);
        memory.answered(found.entry(), new Frame(Frame.MESSAGE, Frame.LAST, 1, new byte[(int) SHARE]));
        assertEquals(BESIDE, memory.bytes());
        assertEquals(Verdict.FORGOTTEN, verdict(client, 1));
    }

    @Test
    void aClientThatLetsCallsRunWithoutEndGetsNoRoomAndOthersDo() {
        ResponseCache.Client greedy = memory.arrive("greedy", 0);
        ResponseCache.Client other = memory.arrive("other", 0);
        long number = 0;
        while (memory.hasRoom(greedy)) {
            assertEquals(Verdict.RUN, find(memory, greedy, ++number, 0).verdict());
        }
        assertTrue(memory.bytes() <= SHARE + 3 * BESIDE, "before it was refused: " + memory.bytes());
        assertTrue(memory.hasRoom(other));
    }

    @Test
    void clientsWithoutAConnectionAreForgottenWhenBytesRunOutTheLongestGoneFirst() {
        for (int i = 0; i < 1000; i++) {
            ResponseCache.Client client = memory.arrive("client " + i, 0);
            run(memory, client, 1, 0);
            memory.leave(client);
            assertTrue(memory.bytes() <= MAX + BESIDE + WEIGHT, "after client " + i + ": " + memory.bytes());
        }
        ResponseCache.Client newest = memory.arrive("client 999", 1);
        assertEquals(Verdict.KNOWN, verdict(newest, 1));
        ResponseCache.Client oldest = memory.arrive("client 0", 1);
        assertEquals(Verdict.FORGOTTEN, verdict(oldest, 1), "what may have run would run again");
        assertEquals(Verdict.RUN, verdict(oldest, 2));
    }

    @Test
    void clientsThatHaveAConnectionAreNotForgotten() {
        ResponseCache.Client client = memory.arrive("here", 0);
        run(memory, client, 1, 0);
        for (int i = 0; i < 1000; i++) {
            ResponseCache.Client other = memory.arrive("client " + i, 0);
            run(memory, other, 1, 0);
            memory.leave(other);
        }
        assertEquals(Verdict.KNOWN, verdict(client, 1));
        ResponseCache.Client twice = memory.arrive("here", 1);
        assertSame(client, twice);
    }

    @Test
    void clientsWithoutAConnectionAreForgottenWhenTheirTimeIsOver() {
        ResponseCache brief = new ResponseCache(MAX, 0);
        ResponseCache.Client client = brief.arrive("a", 0);
        run(brief, client, 1, 0);
        Finding runs = find(brief, client, 2, 0);
        assertSame(client, brief.arrive("a", 2), "forgotten while it had a connection");
        brief.leave(client);
        brief.leave(client);
        brief.arrive("b", 0);
        assertEquals(BESIDE, brief.bytes(), "something of the first client is left");
        assertEquals(Verdict.FORGOTTEN, find(brief, brief.arrive("a", 2), 1, 0).verdict());
        brief.answered(runs.entry(), new Frame(Frame.MESSAGE, Frame.LAST, 2, new byte[ANSWER]));
        assertEquals(2 * BESIDE, brief.bytes(), "the end of a call of a client that was forgotten is counted");
    }

    /** As many as it takes until calls are refused, each with a connection and an answer that it does not need. */
    private static int idleClients(ResponseCache memory) {
        for (int i = 0; i < CLIENTS; i++) {
            ResponseCache.Client client = memory.arrive("idle " + i, 0);
            if (!memory.hasRoom(client)) {
                return i;
            }
            for (int n = 1; n <= 5; n++) {
                run(memory, client, n, 0);
            }
        }
        return CLIENTS;
    }

    @Test
    void clientsThatAreSilentKeepAnswersForTheirTimeAndNoLongerIfBytesRunOut() {
        ResponseCache brief = new ResponseCache(MAX, 0);
        ResponseCache.Client first = brief.arrive("first", 0);
        Finding runs = find(brief, first, 1, 0);
        run(brief, first, 2, 0);
        assertEquals(CLIENTS, idleClients(brief), "clients are refused for answers whose time is over");
        assertEquals(Verdict.KNOWN, find(brief, first, 1, 0).verdict(), "a call that runs was forgotten");
        assertEquals(Verdict.FORGOTTEN, find(brief, first, 2, 0).verdict());
        assertEquals(Verdict.RUN, find(brief, first, 3, 0).verdict());
        brief.answered(runs.entry(), new Frame(Frame.MESSAGE, Frame.LAST, 1, PING));

        ResponseCache.Client here = memory.arrive("first", 0);
        run(memory, here, 1, 0);
        assertTrue(idleClients(memory) < CLIENTS, "nothing is refused, so something was forgotten");
        assertEquals(Verdict.KNOWN, verdict(here, 1), "forgotten within its time");
    }

    @Test
    void whatItsClientSaysItHasIsForgotten() {
        ResponseCache.Client client = memory.arrive("a", 0);
        Finding runs = find(memory, client, 1, 0);
        run(memory, client, 2, 0);
        run(memory, client, 3, 0);
        memory.answered(client, 3);
        assertEquals(2L * BESIDE + WEIGHT, memory.bytes());
        assertEquals(Verdict.KNOWN, verdict(client, 1));
        assertEquals(Verdict.FORGOTTEN, verdict(client, 2));
        memory.answered(client, -5);
        assertEquals(Verdict.KNOWN, verdict(client, 3));
        memory.answered(runs.entry(), new Frame(Frame.MESSAGE, Frame.LAST, 1, PING));
        memory.answered(client, Long.MAX_VALUE);
        assertEquals(BESIDE, memory.bytes());
    }

    @Test
    void aClientIsRememberedWithinItsTime() {
        ResponseCache.Client client = memory.arrive("a", 0);
        run(memory, client, 1, 0);
        memory.leave(client);
        memory.arrive("b", 0);
        assertSame(client, memory.arrive("a", 1));
        assertEquals(Verdict.KNOWN, verdict(client, 1));
    }

    /** It comes again by another number; by this one it may still be on its way over a connection that is lost. */
    @Test
    void aCallThatWasRefusedDoesNotRunWhenItIsRepeated() {
        ResponseCache.Client client = memory.arrive("a", 0);
        memory.answered(find(memory, client, 1, 0).entry(), new Frame(Frame.MESSAGE, Frame.NOT_BEGUN, 1));
        assertEquals(Verdict.KNOWN, verdict(client, 1));
    }
}
