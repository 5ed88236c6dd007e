package org.rdmasockets.internal.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.internal.waiting.Fixture.Waiting;
import org.rdmasockets.verbs.VerbsException;

/** The poller's thread, its completion queues, and what happens when they fail. */
class CompletionPollerTest {
    private final TestClient client = new TestClient();

    @Test
    void sleepsForEverUnlessAnInboxWantsTicks() throws Exception {
        PollerSettings settings = PollerSettings.defaults().withTickMillis(2);
        try (Fixture f = new Fixture(settings)) {
            AtomicInteger ticks = new AtomicInteger();
            f.poller.tick(ticks::incrementAndGet);
            Fixture.eventually("sleep without end", () -> f.events.lastTimeoutMillis() == -1);
            assertEquals(0, ticks.get());
            f.poller.tickSoon();
            Fixture.eventually("the tick that is wanted", () -> ticks.get() == 1);
            Fixture.eventually("sleep without end", () -> f.events.lastTimeoutMillis() == -1);
            assertEquals(1, ticks.get());
            CompletionInbox inbox = f.open(client);
            Fixture.eventually("three ticks", () -> ticks.get() >= 3);
            inbox.retire();
            Fixture.eventually("sleep without end", () -> f.events.lastTimeoutMillis() == -1);
        }
    }

    @Test
    void runsTasksOnItsThreadAndSurvivesTheirExceptions() throws Exception {
        try (Fixture f = Fixture.parking()) {
            f.poller.execute(() -> {
                throw new IllegalStateException("a test's task that fails");
            });
            CompletableFuture<Thread> ran = new CompletableFuture<>();
            f.poller.execute(() -> ran.complete(Thread.currentThread()));
            Thread thread = ran.get(Fixture.SECONDS_TO_WAIT, TimeUnit.SECONDS);
            assertEquals("rdma-completions", thread.getName());
            assertTrue(thread.isDaemon());
        }
    }

    @Test
    void unparksThreadsForOthers() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CountDownLatch unparked = new CountDownLatch(1);
            Thread thread = Thread.ofVirtual().start(() -> {
                LockSupport.park();
                unparked.countDown();
            });
            f.poller.relay(thread);
            assertTrue(unparked.await(Fixture.SECONDS_TO_WAIT, TimeUnit.SECONDS), "relay did not unpark");
        }
    }

    @Test
    void anInboxThatFoundNoMemoryToGrowTakesFurtherOffers() throws Exception {
        for (int spare : new int[] {64, 900, 1_000, 1_100}) {
            String said = ChildJvm.run(List.of(), List.of("-Xmx16m", "-XX:+UseSerialGC"), GrowthMain.class, "" + spare);
            // Other threads of that JVM may find no memory, too, and say so.
            assertTrue(said.lines().anyMatch("offered"::equals), () -> spare + " bytes of the heap were free: " + said);
        }
    }

    @Test
    void drainsOtherSources() throws Exception {
        try (Fixture f = Fixture.parking()) {
            TestSource source = new TestSource();
            CompletableFuture<Thread> drained = new CompletableFuture<>();
            f.poller.addSource(source, () -> {
                source.ready = false;
                drained.complete(Thread.currentThread());
            });
            source.ready = true;
            f.events.signal();
            assertEquals("rdma-completions", drained.get(Fixture.SECONDS_TO_WAIT, TimeUnit.SECONDS).getName());
        }
    }

    /** Ready when the test says so. */
    private static final class TestSource implements SimulatedEvents.Source {
        private volatile boolean ready;

        @Override
        public boolean isReady() {
            return ready;
        }
    }

    @Test
    void failureIsToldOnceToThoseWithoutAnInboxAndRefusesNewOnes() throws Exception {
        try (Fixture f = Fixture.parking()) {
            List<VerbsException> told = new CopyOnWriteArrayList<>();
            Consumer<VerbsException> forgotten = e -> told.add(null);
            f.poller.onFailure(forgotten);
            f.poller.onFailure(e -> {
                throw new IllegalStateException("a test's dependant that fails");
            });
            f.poller.onFailure(told::add);
            f.poller.forget(forgotten);
            f.events.breakDown();
            Fixture.eventually("one is told", () -> !told.isEmpty());
            assertTrue(told.getFirst().getMessage().contains("it has stopped"), told.getFirst().getMessage());
            assertThrows(VerbsException.class, () -> f.poller.onFailure(told::add));
            f.poller.close();
            assertEquals(1, told.size());
        }
    }

    @Test
    void failureReachesEveryInboxOnceAndRefusesNewOnes() throws Exception {
        try (Fixture f = Fixture.parking()) {
            TestClient other = new TestClient();
            CompletionInbox waitedFor = f.open(client);
            CompletionInbox idle = f.open(other);
            Waiting reader = Fixture.startWaiting(true, waitedFor, Role.READER);
            Waiting writer = Fixture.startWaiting(false, waitedFor, Role.WRITER);
            f.events.breakDown();
            assertEquals(WaitResult.READY, reader.result());
            assertEquals(WaitResult.READY, writer.result());
            Fixture.eventually("the idle one learns it too", () -> other.applied(idle).size() == 1);
            assertEquals(1, client.applied(waitedFor).size());
            assertInstanceOf(VerbsException.class, client.applied(waitedFor).getFirst());
            VerbsException refusal = assertThrows(VerbsException.class, () -> f.open(new TestClient()));
            assertTrue(refusal.getMessage().contains("poll failed: EBADF"), refusal.getMessage());
            Fixture.eventually("tasks are refused", () -> refuses(f.poller));
        }
    }

    private static boolean refuses(CompletionPoller poller) {
        try {
            poller.execute(() -> { });
            return false;
        } catch (RejectedExecutionException e) {
            return true;
        }
    }

    @Test
    void failedQueueFailsItsInboxesOnly() throws Exception {
        PollerSettings settings = Settings.withQueueEntries(64, 64);
        try (Fixture f = new Fixture(settings)) {
            TestClient other = new TestClient();
            CompletionInbox broken = f.open(client);
            CompletionInbox sound = f.open(other);
            Waiting reader = Fixture.startWaiting(true, broken, Role.READER);
            Waiting writer = Fixture.startWaiting(true, broken, Role.WRITER);
            Fixture.queueOf(broken).breakDown();
            Fixture.receive(broken, 1);
            assertEquals(WaitResult.READY, reader.result());
            assertEquals(WaitResult.READY, writer.result());
            assertEquals(WaitResult.READY, broken.await(Role.READER, Long.MAX_VALUE));
            Waiting soundReader = Fixture.startWaiting(true, sound, Role.READER);
            Fixture.receive(sound, 2);
            assertEquals(WaitResult.READY, soundReader.result());
            assertEquals(List.of(2L), other.applied(sound));
        }
    }

    @Test
    void anErrorOfOneSourceKeepsNoOtherFromBeingServed() throws Exception {
        try (Fixture f = Fixture.parking()) {
            TestSource bad = new TestSource();
            AtomicInteger thrown = new AtomicInteger();
            f.poller.addSource(bad, () -> {
                bad.ready = thrown.incrementAndGet() < 3;
                throw thrown.get() == 1 ? new OutOfMemoryError("a test's") : new NoClassDefFoundError("a test's");
            });
            bad.ready = true;
            f.events.signal();
            CompletionInbox inbox = f.open(client);
            for (long i = 1; i <= 3; i++) {
                Waiting reader = Fixture.startWaiting(true, inbox, Role.READER);
                Fixture.receive(inbox, (int) i);
                assertEquals(WaitResult.READY, reader.result());
                client.applied(inbox);
            }
            Fixture.eventually("the source is served until it has no more", () -> thrown.get() == 3 && !bad.ready);
        }
    }

    @Test
    void aTickAndATaskThatThrowErrorsCostNothing() throws Exception {
        try (Fixture f = new Fixture(PollerSettings.defaults().withTickMillis(2))) {
            AtomicInteger ticks = new AtomicInteger();
            f.poller.tick(() -> {
                ticks.incrementAndGet();
                throw new StackOverflowError("a test's");
            });
            f.poller.execute(() -> {
                throw new OutOfMemoryError("a test's");
            });
            f.open(client);
            Fixture.eventually("three ticks", () -> ticks.get() >= 3);
        }
    }

    @Test
    void whatTheDeliveryOfOneCompletionThrowsFailsItsInboxOnly() throws Exception {
        try (Fixture f = new Fixture(PollerSettings.defaults())) {
            TestClient other = new TestClient();
            CompletionInbox broken = f.open(client);
            CompletionInbox sound = f.open(other);
            assertSame(broken.shard(), sound.shard());
            Waiting reader = Fixture.startWaiting(true, broken, Role.READER);
            Waiting soundReader = Fixture.startWaiting(true, sound, Role.READER);
            // A device that does not tell what has ended.
            Fixture.queueOf(broken).complete(new SimulatedCompletion(broken.workRequestIdBase(), 0, null, 0));
            Fixture.receive(sound, 2);
            assertEquals(WaitResult.READY, reader.result());
            assertInstanceOf(NullPointerException.class, client.applied(broken).getFirst());
            assertEquals(WaitResult.READY, soundReader.result());
            assertEquals(List.of(2L), other.applied(sound));
        }
    }

    @Test
    void whoPollsAndThrowsLosesNothingOfOthers() throws Exception {
        Thread overflowing = Thread.currentThread();
        try (Fixture f = new Fixture(PollerSettings.defaults())) {
            CompletionInbox own = f.open(client);
            TestClient other = new TestClient();
            CompletionInbox sound = f.open(other);
            Fixture.queueOf(own).beforePolling(() -> {
                if (Thread.currentThread() == overflowing) {
                    throw new StackOverflowError("a test's");
                }
            });
            for (int i = 1; i <= 20; i++) {
                Waiting soundReader = Fixture.startWaiting(i % 2 == 0, sound, Role.READER);
                assertThrows(StackOverflowError.class, () -> {
                    while (true) { // as long as the poller, which looks after the last overflow, polls in its stead
                        assertEquals(WaitResult.READY, own.await(Role.READER, Long.MAX_VALUE));
                    }
                });
                long sent = i;
                Fixture.receive(sound, i);
                assertEquals(WaitResult.READY, soundReader.result());
                Fixture.eventually("completion " + i, () -> other.applied(sound).contains(sent));
                assertEquals((long) i, other.applied(sound).getLast());
            }
            Fixture.queueOf(own).beforePolling(() -> { });
            Fixture.receive(own, 99);
            assertEquals(WaitResult.READY, own.await(Role.READER, Long.MAX_VALUE), "its own connection goes on, too");
        }
    }

    @Test
    void closeFailsWhatIsOpen() throws Exception {
        Fixture f = Fixture.parking();
        CompletionInbox inbox = f.open(client);
        Waiting reader = Fixture.startWaiting(true, inbox, Role.READER);
        f.close();
        assertEquals(WaitResult.READY, reader.result());
        assertInstanceOf(IllegalStateException.class, client.applied(inbox).getFirst());
        assertTrue(f.events.isClosed());
        assertTrue(Fixture.queueOf(inbox).isClosed());
        f.close();
    }

    @Test
    void laterQueuesAreLargerAndEmptyOnesAreDestroyed() throws Exception {
        PollerSettings settings = Settings.withQueueEntries(64, 1_024);
        try (Fixture f = new Fixture(settings)) {
            List<CompletionInbox> inboxes = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                inboxes.add(f.open(new TestClient()));
            }
            assertEquals(List.of(64, 256, 1_024), f.device.queues().stream().map(SimulatedQueue::entries).toList());
            inboxes.forEach(CompletionInbox::retire);
            assertEquals(1, f.device.queues().stream().filter(queue -> !queue.isClosed()).count(), "one is kept");
            f.open(new TestClient());
        }
    }

    @Test
    void saysSoWhenTheDeviceHasNoMore() throws Exception {
        PollerSettings settings = Settings.withQueueEntries(64, 64);
        try (Fixture f = new Fixture(settings, 1, 128)) {
            f.open(client);
            VerbsException none = assertThrows(VerbsException.class, () -> f.open(new TestClient()));
            assertTrue(none.getMessage().contains("ENOMEM") && none.getMessage().contains("completionQueues=1"),
                    none.getMessage());
            VerbsException large = assertThrows(VerbsException.class,
                    () -> shard(f, ConnectionRole.ACTIVE, 129));
            assertTrue(large.getMessage().contains("max=128"), large.getMessage());
            VerbsException full = assertThrows(VerbsException.class,
                    () -> f.poller.openInbox(f.device, ConnectionRole.ACTIVE, client, 65));
            assertTrue(full.getMessage().contains("ENOMEM"), full.getMessage());
        }
    }

    @Test
    void sidesShareAQueueOnlyWhenTheDeviceHasNoMore() throws Exception {
        PollerSettings settings = PollerSettings.defaults();
        try (Fixture f = new Fixture(settings, 2, 4_096)) {
            CompletionShard active = shard(f, ConnectionRole.ACTIVE, 64);
            CompletionShard passive = shard(f, ConnectionRole.PASSIVE, 64);
            assertNotSame(active, passive);
            assertSame(active, shard(f, ConnectionRole.ACTIVE, 64));
            assertSame(passive, shard(f, ConnectionRole.PASSIVE, 64));
        }
        try (Fixture f = new Fixture(settings, 1, 4_096)) {
            assertSame(shard(f, ConnectionRole.ACTIVE, 64), shard(f, ConnectionRole.PASSIVE, 64));
        }
    }

    private static CompletionShard shard(Fixture f, ConnectionRole side, int entries) throws VerbsException {
        return f.poller.shardsOf(f.device).find(side, entries);
    }

    @Test
    void openersThatRaceNeverShareRoom() throws Exception {
        PollerSettings settings = Settings.withQueueEntries(100, 100);
        try (Fixture f = new Fixture(settings);
                ExecutorService openers = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<CompletionInbox>> opened = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                opened.add(openers.submit(() -> {
                    CompletionInbox inbox = f.poller.openInbox(f.device, ConnectionRole.ACTIVE, new TestClient(), 30);
                    inbox.retire();
                    return f.poller.openInbox(f.device, ConnectionRole.ACTIVE, new TestClient(), 30);
                }));
            }
            List<CompletionInbox> inboxes = new ArrayList<>();
            for (Future<CompletionInbox> inbox : opened) {
                inboxes.add(inbox.get(Fixture.SECONDS_TO_WAIT, TimeUnit.SECONDS));
            }
            Map<CompletionShard, Long> perShard = inboxes.stream()
                    .collect(Collectors.groupingBy(CompletionInbox::shard, Collectors.counting()));
            assertTrue(perShard.values().stream().allMatch(count -> count <= 3), perShard::toString);
            assertTrue(perShard.keySet().stream().noneMatch(s -> ((SimulatedQueue) s.queue()).isClosed()),
                    "an inbox lives in a destroyed queue");
        }
    }

    /** While the poller is awake it needs no event: it asks the device, or a peer, for one when nothing more comes. */
    @Test
    void armsAQueueOnceForAllThatComesWhileItIsAwake() throws Exception {
        CompletionInbox[] inbox = new CompletionInbox[1];
        AtomicInteger more = new AtomicInteger();
        Thread[] waking = new Thread[1];
        PollerSettings settings = Settings.withValve(PollerSettings.defaults().withSpinBudgetNanos(0), false);
        try (Fixture f = new Fixture(settings)) {
            f.poller.execute(() -> waking[0] = Thread.currentThread());
            Fixture.eventually("the poller's thread", () -> waking[0] != null);
            inbox[0] = f.open(client);
            TestClient parked = new TestClient();
            CompletionInbox other = f.open(parked);
            Waiting waiting = Fixture.startWaiting(false, other, Role.READER);
            int armsBefore = Fixture.queueOf(other).arms();
            Fixture.queueOf(other).beforePolling(() -> {
                if (Thread.currentThread() == waking[0] && more.getAndDecrement() > 0) {
                    Fixture.receive(inbox[0], 1 + more.get());
                }
            });
            more.set(5);
            Fixture.receive(inbox[0], 9);
            Fixture.eventually("six completions", () -> client.applied(inbox[0]).size() == 6);
            Fixture.eventually("the queue is armed again", () -> Fixture.queueOf(other).arms() > armsBefore);
            assertEquals(armsBefore + 1, Fixture.queueOf(other).arms());
            Fixture.receive(other, 1);
            assertEquals(WaitResult.READY, waiting.result());
        }
    }

    @Test
    void takesOverFromLeadersThatHaveGone() throws Exception {
        try (Fixture f = Fixture.parking()) {
            CompletionInbox inbox = f.open(client);
            CompletionShard shard = inbox.shard();
            Fixture.eventually("the poller leaves the queue to the leader", () -> {
                shard.lead(inbox, 1);
                Fixture.send(inbox, 1);
                shard.lead(inbox, 1);
                client.applied(inbox);
                return shard.toString().contains("armed=false");
            });
            Fixture.send(inbox, 2);
            Fixture.eventually("the poller looks again", () -> client.applied(inbox).contains(2L));
        }
    }
}
