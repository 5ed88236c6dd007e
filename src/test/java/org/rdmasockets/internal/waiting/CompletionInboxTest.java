package org.rdmasockets.internal.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.internal.waiting.Fixture.Waiting;
import org.rdmasockets.verbs.CompletionOpcode;

/** One inbox: what wakes whom, what ends a wait, what is dropped. */
class CompletionInboxTest {
    /** More than a wait that parks makes, and fewer than one that polls for a millisecond. */
    private static final int MANY_POLLS = 20;

    private final TestClient client = new TestClient();

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void receiveWakesTheReader(boolean virtual) throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            Waiting reader = Fixture.startWaiting(virtual, inbox, Role.READER);
            Fixture.receive(inbox, 7);
            assertEquals(WaitResult.READY, reader.result());
            assertEquals(List.of(7L), client.applied(inbox));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void receiveThatBringsCreditReachesTheWriterThroughTheReader(boolean virtual) throws Exception {
        try (Fixture f = Fixture.parking()) {
            client.readerNeeds = 2;
            CompletionInbox inbox = f.open(client);
            Waiting reader = Fixture.startWaiting(virtual, inbox, Role.READER);
            Waiting writer = Fixture.startWaiting(virtual, inbox, Role.WRITER);
            Fixture.receive(inbox, 1);
            assertEquals(WaitResult.READY, writer.result());
            assertFalse(reader.end().isDone(), "the reader needs two");
            Fixture.receive(inbox, 2);
            assertEquals(WaitResult.READY, reader.result());
        }
    }

    @Test
    void sendWakesTheReaderOnlyIfItOwesCredit() throws Exception {
        try (Fixture f = Fixture.parking()) {
            client.creditOwed = true;
            CompletionInbox inbox = f.open(client);
            Waiting reader = Fixture.startWaiting(true, inbox, Role.READER);
            Fixture.send(inbox, 3);
            assertEquals(WaitResult.READY, reader.result());
        }
    }

    @Test
    void sendRunsTheBacklogTaskIfCreditIsOwedAndNobodyWaits() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            CountDownLatch ran = new CountDownLatch(1);
            client.backlog = ran::countDown;
            client.creditOwed = true;
            assertEquals(List.of(), client.applied(inbox));
            Fixture.send(inbox, 3);
            Fixture.await("the backlog task", ran);
            assertEquals(List.of(3L), client.applied(inbox));
        }
    }

    @Test
    void failedRequestWakesBoth() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            Waiting reader = Fixture.startWaiting(true, inbox, Role.READER);
            Waiting writer = Fixture.startWaiting(false, inbox, Role.WRITER);
            Fixture.queueOf(inbox).complete(new SimulatedCompletion(inbox.workRequestIdBase(), 5,
                    CompletionOpcode.UNKNOWN, 0));
            assertEquals(WaitResult.READY, reader.result());
            assertEquals(WaitResult.READY, writer.result());
        }
    }

    @Test
    void exitWakesAWaiterThatBecameReadyMeanwhile() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            Waiting writer = Fixture.startWaiting(true, inbox, Role.WRITER);
            inbox.enter();
            client.writerNeeds = 0;
            inbox.exit();
            assertEquals(WaitResult.READY, writer.result());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void deadlineEndsAWait(boolean virtual) throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(30);
            Waiting reader = Fixture.startWaiting(virtual, inbox, Role.READER, deadline);
            assertEquals(WaitResult.TIMED_OUT, reader.result());
            assertTrue(System.nanoTime() - deadline >= 0, "too early");
        }
    }

    @Test
    void passedDeadlineStillTakesWhatIsThere() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            assertEquals(WaitResult.TIMED_OUT, inbox.await(Role.READER, System.nanoTime() - 1));
            inbox.offerToken("here");
            assertEquals(WaitResult.READY, inbox.await(Role.READER, System.nanoTime() - 1));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void closeEndsBothWaitsAndLaterOnes(boolean virtual) throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            Waiting reader = Fixture.startWaiting(virtual, inbox, Role.READER);
            Waiting writer = Fixture.startWaiting(!virtual, inbox, Role.WRITER);
            inbox.close();
            assertEquals(WaitResult.CLOSED, reader.result());
            assertEquals(WaitResult.CLOSED, writer.result());
            assertEquals(WaitResult.CLOSED, inbox.await(Role.READER, Long.MAX_VALUE));
            Fixture.send(inbox, 1);
            Fixture.eventually("a lingering close still gets completions", () -> client.applied(inbox).size() == 1);
        }
    }

    @Test
    void interruptEndsTheWaitOfAVirtualThread() throws Exception {
        try (Fixture f = Fixture.parking()) {
            Waiting reader = Fixture.startWaiting(true, f.open(client), Role.READER);
            reader.thread().interrupt();
            assertEquals(WaitResult.INTERRUPTED, reader.result());
            assertTrue(reader.interruptStatus(), "the status must stay set");
        }
    }

    @Test
    void interruptOfAPlatformThreadIsKeptForLater() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            Waiting reader = Fixture.startWaiting(false, inbox, Role.READER);
            reader.thread().interrupt();
            Fixture.eventually("the status is cleared while waiting", () -> !reader.thread().isInterrupted());
            assertFalse(reader.end().isDone(), "the wait goes on");
            Fixture.receive(inbox, 1);
            assertEquals(WaitResult.READY, reader.result());
            assertTrue(reader.interruptStatus(), "the status must be restored");
        }
    }

    @Test
    void findsEachInboxByAllItsRequests() throws Exception {
        try (Fixture f = Fixture.parking()) {
            List<TestClient> clients = IntStream.range(0, 100).mapToObj(i -> new TestClient()).toList();
            List<CompletionInbox> inboxes = new ArrayList<>();
            for (TestClient each : clients) {
                inboxes.add(f.poller.openInbox(f.device, ConnectionRole.ACTIVE, each, 2));
            }
            for (long stranger : new long[] {0, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
                Fixture.queueOf(inboxes.getFirst()).complete(SimulatedCompletion.receive(stranger, 0));
            }
            for (CompletionInbox inbox : inboxes) {
                Fixture.receive(inbox, 0);
                Fixture.receive(inbox, 0xFF_FFFF);
            }
            inboxes.getFirst().drain();
            for (int i = 0; i < inboxes.size(); i++) {
                assertSame(inboxes.getFirst().shard(), inboxes.get(i).shard());
                assertEquals(List.of(0L, 0xFF_FFFFL), clients.get(i).applied(inboxes.get(i)));
            }
        }
    }

    @Test
    void completionsOfAnEarlierUserOfTheIndexGoNowhere() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox first = f.open(client);
            long gone = first.workRequestIdBase();
            Fixture.receive(first, 1);
            first.retire();
            assertEquals(0, Fixture.queueOf(first).waiting(), "retire drains the queue");
            TestClient next = new TestClient();
            CompletionInbox second = f.open(next);
            assertEquals(gone >>> 40, second.workRequestIdBase() >>> 40, "the index is used again");
            assertNotEquals(gone, second.workRequestIdBase(), "by another generation");
            Fixture.queueOf(second).complete(SimulatedCompletion.receive(gone | 9, 0));
            Fixture.receive(second, 2);
            second.await(Role.READER, Long.MAX_VALUE);
            assertEquals(List.of(2L), next.applied(second));
        }
    }

    @Test
    void tokenComesAfterWhatTheQueueHeld() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            IntStream.range(0, 40).forEach(i -> Fixture.receive(inbox, i));
            inbox.drainThenOffer("disconnected");
            List<Object> applied = client.applied(inbox);
            assertEquals(41, applied.size());
            assertEquals("disconnected", applied.getLast());
            assertEquals(0L, applied.getFirst());
        }
    }

    @Test
    void tellsAllOnceUntilAThreadTakesIn() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            AtomicInteger runs = new AtomicInteger();
            client.backlog = runs::incrementAndGet;
            inbox.offerToken("before");
            inbox.tellAll();
            assertEquals(1, runs.get(), "for what was there");
            inbox.offerToken("one");
            inbox.offerToken("two");
            assertEquals(1, runs.get(), "coalesced");
            assertEquals(List.of("before", "one", "two"), client.applied(inbox));
            assertEquals(2, runs.get(), "another thread may have taken it in");
            client.applied(inbox);
            assertEquals(2, runs.get(), "which ends when nothing comes");
        }
    }

    @Test
    void tellsOfAllThatAWaiterTakesIn() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            AtomicInteger runs = new AtomicInteger();
            client.backlog = runs::incrementAndGet;
            Waiting reader = Fixture.startWaiting(true, inbox, Role.READER);
            inbox.tellAll();
            assertEquals(0, runs.get());
            Fixture.receive(inbox, 1);
            assertEquals(WaitResult.READY, reader.result());
            assertEquals(1, runs.get());
        }
    }

    @Test
    void moreCompletionsThanAnnouncedAreTakenInToo() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            for (int i = 0; i < 300; i++) {
                Fixture.receive(inbox, i);
                inbox.shard().drain();
            }
            assertEquals(LongStream.range(0, 300).boxed().toList(), client.applied(inbox));
        }
    }

    @Test
    void aWaitPollsForItselfAsLongAsItMay() throws Exception {
        PollerSettings settings = Settings.withProcessors(PollerSettings.defaults(), 3);
        try (Fixture f = new Fixture(settings)) {
            CompletionInbox inbox = f.open(client);
            inbox.spinBudgetNanos(1_000_000);
            for (int i = 0; i < MANY_POLLS; i++) {
                assertTrue(pollsOfAWait(inbox) <= MANY_POLLS, "a wait for the peer's first word parks");
            }
            client.readerNeeds = 2;
            Fixture.receive(inbox, 1);
            inbox.drain();
            assertEquals(List.of(1L), client.applied(inbox));
            // A wait during which the processor is taken away polls less, so one of many has to show it.
            Fixture.eventually("a wait that may poll for itself does", () -> pollsOfAWait(inbox) > MANY_POLLS);
            inbox.spinBudgetNanos(0);
            for (int i = 0; i < MANY_POLLS; i++) {
                assertTrue(pollsOfAWait(inbox) <= MANY_POLLS, "a wait that may not poll for itself parks");
            }
        }
    }

    private static int pollsOfAWait(CompletionInbox inbox) {
        int before = Fixture.queueOf(inbox).polls();
        assertEquals(WaitResult.TIMED_OUT, inbox.await(Role.READER,
                System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(4)));
        return Fixture.queueOf(inbox).polls() - before;
    }

    @Test
    void takingInAllocatesNothing() throws Exception {
        PollerSettings settings = Settings.withProcessors(PollerSettings.defaults(), 3);
        try (Fixture f = new Fixture(settings)) {
            AtomicInteger ready = new AtomicInteger();
            CompletionInbox inbox = f.open(new CompletionClient() {
                private boolean arrived;

                @Override
                public void apply(Completion completion) {
                    arrived = true;
                }

                @Override
                public boolean ready(Role role) {
                    boolean was = arrived;
                    arrived = false;
                    return was;
                }

                @Override
                public boolean beforeExit() {
                    return false;
                }
            });
            SimulatedCompletion receive = SimulatedCompletion.receive(inbox.workRequestIdBase(), 1);
            var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            int rounds = 20_000;
            long allocated = Long.MAX_VALUE;
            // The first rounds pay for the compiler and for parks; one round that pays for nothing is the proof.
            for (int i = 0; i < 10 && allocated > rounds; i++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int j = 0; j < rounds; j++) {
                    Fixture.queueOf(inbox).complete(receive);
                    ready.addAndGet(inbox.await(Role.READER, Long.MAX_VALUE) == WaitResult.READY ? 1 : 0);
                }
                allocated = threads.getCurrentThreadAllocatedBytes() - before;
            }
            assertTrue(allocated <= rounds, allocated + " bytes for " + rounds + " waits");
            assertTrue(ready.get() >= rounds);
        }
    }
}
