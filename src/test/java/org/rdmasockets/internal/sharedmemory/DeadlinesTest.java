package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.verbs.EventSource;

/** Deadlines while one poller, which nothing else wakes, waits without limit. */
class DeadlinesTest {
    private final SharedMemoryFabric fabric = new SharedMemoryFabric(true);
    private SharedMemoryEventPoller poller;
    private Thread sleeper;
    private volatile Throwable failure;
    private volatile boolean ended;

    /** Waits for a time, and counts who looks, and who looks too early. */
    private final class Waiting implements Deadlines.Expiring {
        final AtomicInteger looks = new AtomicInteger();
        final AtomicInteger early = new AtomicInteger();
        final CountDownLatch over = new CountDownLatch(1);
        private final long end;
        private volatile int errors;

        Waiting(long millis, int errors) {
            end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
            this.errors = errors;
            fabric.deadlines.add(this, end);
        }

        @Override
        public void lookAtDeadline() {
            looks.incrementAndGet();
            if (System.nanoTime() - end < 0) {
                early.incrementAndGet();
            } else if (errors > 0) {
                errors--;
                throw new OutOfMemoryError("as a test has it");
            } else {
                over.countDown();
            }
        }

        @Override
        public long deadline() {
            return over.getCount() == 0 ? Deadlines.NEVER : end;
        }

        void await() throws InterruptedException {
            assertTrue(over.await(30, TimeUnit.SECONDS), "the poller sleeps on after a deadline");
        }
    }

    @BeforeEach
    void sleep() throws Exception {
        poller = new SharedMemoryEventPoller(fabric);
        sleeper = Thread.ofPlatform().daemon().start(() -> {
            try {
                while (!ended) {
                    poller.await(-1, DeadlinesTest::noSource);
                }
            } catch (Throwable e) {
                failure = e;
            }
        });
        awaitSleep();
    }

    private static void noSource(EventSource source) {
        throw new AssertionError("nothing can be ready, but " + source);
    }

    private void awaitSleep() throws Exception {
        Await.until("the poller to sleep", () -> Arrays.stream(sleeper.getStackTrace())
                .anyMatch(frame -> frame.getClassName().endsWith(".EpollWait")));
    }

    @AfterEach
    void end() throws InterruptedException {
        ended = true;
        poller.wakeup();
        sleeper.join(30_000);
        poller.close();
        assertEquals(null, failure);
        assertTrue(!sleeper.isAlive(), "the poller does not end");
    }

    @Test
    void aDeadlineWakesAPollerThatSleepsWithoutLimit() throws Exception {
        new Waiting(20, 0).await();
    }

    @Test
    void aNearerDeadlineWakesAPollerThatSleepsUntilALaterOne() throws Exception {
        Waiting later = new Waiting(60_000, 0);
        new Waiting(20, 0).await();
        assertEquals(later.looks.get(), later.early.get());
        assertEquals(1, later.over.getCount());
    }

    @Test
    void aPollerSleepsUntilTheDeadline() throws Exception {
        Waiting waiting = new Waiting(100, 0);
        waiting.await();
        assertEquals(1, waiting.looks.get(), "looks at one deadline");
    }

    @Test
    void anErrorAtALookIsTriedAgain() throws Exception {
        Waiting waiting = new Waiting(5, 3);
        Waiting other = new Waiting(5, 0);
        waiting.await();
        other.await();
    }

    @Test
    void aDeadlineThatIsAddedAtEveryLookIsNotLost() throws Exception {
        for (int i = 0; i < 200; i++) {
            Waiting one = new Waiting(1, 0);
            Waiting two = new Waiting(2, 0);
            one.await();
            two.await();
        }
    }
}
