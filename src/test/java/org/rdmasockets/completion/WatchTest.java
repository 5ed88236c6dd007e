package org.rdmasockets.completion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.completion.Fixture.Waiting;

/** Waiting beside the poller's thread, which is kept busy, so that nobody else can do what the waiter should do. */
class WatchTest {
    /** Without the valve, which leaves waking to the poller's thread at times. */
    private static final PollerSettings SETTINGS =
            Settings.withValve(PollerSettings.defaults().withSpinBudgetNanos(0), false)
                    .withWatchMillis((int) TimeUnit.HOURS.toMillis(1));

    private static final int BRIEF_MILLIS = 10;

    private final TestClient client = new TestClient();
    private final TestClient other = new TestClient();
    private final CountDownLatch release = new CountDownLatch(1);

    /** A poller whose thread is busy until the test releases it. */
    private Fixture busy(Faults faults) {
        Fixture f = new Fixture(SETTINGS, faults);
        CountDownLatch begun = new CountDownLatch(1);
        f.poller.execute(() -> {
            begun.countDown();
            Fixture.await("the end of the test", release);
        });
        Fixture.await("the poller's thread", begun);
        return f;
    }

    private static Faults watching() {
        return new Adversary.Watching(1_000);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aWaiterTakesItsCompletionItself(boolean virtual) throws Exception {
        try (Fixture f = busy(watching())) {
            CompletionInbox inbox = f.open(client);
            Waiting waiting = Fixture.startWaiting(virtual, inbox, Role.READER);
            Fixture.receive(inbox, 1);
            assertEquals(Wait.READY, waiting.result());
            release.countDown();
        }
    }

    @Test
    void whoWatchesWakesOthersAndWatchesOn() throws Exception {
        try (Fixture f = busy(watching())) {
            CompletionInbox watched = f.open(client);
            CompletionInbox parked = f.open(other);
            Waiting watcher = Fixture.startWaiting(true, watched, Role.READER);
            Waiting sleeper = Fixture.startWaiting(true, parked, Role.READER);
            Fixture.receive(parked, 1);
            assertEquals(Wait.READY, sleeper.result());
            assertFalse(watcher.end().isDone());
            release.countDown(); // it may have found the place taken by who was woken, and parked
            Fixture.receive(watched, 1);
            assertEquals(Wait.READY, watcher.result());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void closeAndTokensEndAWatch(boolean close) throws Exception {
        try (Fixture f = busy(watching())) {
            CompletionInbox inbox = f.open(client);
            Waiting waiting = Fixture.startWaiting(true, inbox, Role.READER);
            if (close) {
                inbox.close();
            } else {
                inbox.offerToken("a token");
            }
            assertEquals(close ? Wait.CLOSED : Wait.READY, waiting.result());
            release.countDown();
        }
    }

    @Test
    void whoWaitsForSomethingElseIsBesideOnceThatWasBriefAndIsWokenThere() throws Exception {
        try (Fixture f = busy(Faults.NONE)) {
            AtomicBoolean over = new AtomicBoolean();
            assertFalse(f.poller.awaitBeside(System.nanoTime(), Long.MAX_VALUE, over::get), "nothing is known yet");
            f.poller.waited(1);
            CompletableFuture<Boolean> beside = new CompletableFuture<>();
            Thread thread = Thread.ofPlatform().daemon().start(() -> {
                boolean was = true;
                while (was && !over.get()) {
                    was = f.poller.awaitBeside(System.nanoTime(), Long.MAX_VALUE, over::get);
                }
                beside.complete(was);
            });
            Fixture.eventually("it sleeps", () -> thread.getState() == Thread.State.TIMED_WAITING);
            over.set(true);
            f.poller.wake(thread);
            assertTrue(beside.get(Fixture.SECONDS_TO_WAIT, TimeUnit.SECONDS));
            assertTrue(f.poller.awaitBeside(System.nanoTime(), Long.MAX_VALUE, over::get), "it does not sleep at all");
            f.poller.waited(TimeUnit.SECONDS.toNanos(1));
            assertFalse(f.poller.awaitBeside(System.nanoTime(), Long.MAX_VALUE, () -> false), "that was long");
            release.countDown();
        }
    }

    /** After a while a waiter gives the place up and parks; the poller's thread sees to it again. */
    @Test
    void aWatchEndsAndTheWaitGoesOn() throws Exception {
        try (Fixture f = new Fixture(SETTINGS.withWatchMillis(BRIEF_MILLIS), watching())) {
            CompletionInbox inbox = f.open(client);
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(50);
            assertEquals(Wait.TIMED_OUT, Fixture.startWaiting(true, inbox, Role.READER, deadline).result());
            Waiting waiting = Fixture.startWaiting(true, inbox, Role.READER);
            TimeUnit.MILLISECONDS.sleep(2 * BRIEF_MILLIS);
            Fixture.receive(inbox, 1);
            assertEquals(Wait.READY, waiting.result());
        }
    }

    /** A waiter that took the event leaves the queue unarmed; what nobody waits for is taken in all the same. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void thePollerLooksAfterAQueueThatIsLeftUnarmed(boolean whole) throws Exception {
        Faults faults = new Adversary.Watching(1_000) {
            @Override
            boolean looksAfterUnarmed() {
                return whole;
            }
        };
        CountDownLatch told = new CountDownLatch(1);
        try (Fixture f = busy(faults)) {
            CompletionInbox inbox = f.open(client);
            CompletionInbox idle = f.open(other);
            idle.onOrphan(told::countDown);
            Waiting waiting = Fixture.startWaiting(true, inbox, Role.READER);
            Fixture.receive(inbox, 1);
            assertEquals(Wait.READY, waiting.result());
            Fixture.receive(idle, 1);
            if (whole) {
                release.countDown();
                Fixture.await("somebody takes it in", told);
            } else {
                assertFalse(inbox.shard().toString().contains("armed=true"), "and nobody would know of it");
                release.countDown();
            }
        }
    }
}
