package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The body runs whatever the application's executor does. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SerialTaskTest {
    @Test
    void anExecutorThatThrowsKeepsNobodyFromTheNews() throws Exception {
        for (Throwable thrown : new Throwable[] {new RejectedExecutionException(), new IllegalStateException(),
            new OutOfMemoryError("no thread, says the test")}) {
            CountDownLatch twice = new CountDownLatch(2);
            SerialTask task = new SerialTask(body -> {
                if (thrown instanceof Error error) {
                    throw error;
                }
                throw (RuntimeException) thrown;
            }, twice::countDown, null);
            task.schedule();
            task.schedule();
            while (twice.getCount() == 2) {
                Thread.onSpinWait();
            }
            task.schedule();
            assertTrue(twice.await(40, TimeUnit.SECONDS), () -> "the body has not run after " + thrown);
        }
    }

    /** Nothing of the application runs on the executor that it has left. */
    @Test
    void aBodyWhoseNextExecutorRefusesRunsNoMoreAlthoughThereIsNoMemoryToSaySo() {
        AtomicInteger runs = new AtomicInteger();
        AtomicInteger told = new AtomicInteger();
        SerialTask[] task = new SerialTask[1];
        task[0] = new SerialTask(Runnable::run, () -> {
            runs.incrementAndGet();
            task[0].moveTo(work -> {
                throw new RejectedExecutionException();
            });
        }, e -> {
            if (told.incrementAndGet() < 3) {
                throw new OutOfMemoryError("for a moment, says the test");
            }
        });
        task[0].schedule();
        assertEquals(3, told.get());
        assertEquals(1, runs.get());
    }

    /** The executor has taken the work: no other thread comes. */
    @Test
    void aBodyThatFindsNoMemoryRunsAgainAndOneThatFailsWithTheNextNews() {
        AtomicInteger runs = new AtomicInteger();
        SerialTask lacks = new SerialTask(Runnable::run, () -> {
            if (runs.incrementAndGet() < 3) {
                throw new OutOfMemoryError("for a moment, says the test");
            }
        }, null);
        lacks.schedule();
        assertEquals(3, runs.get());
        SerialTask fails = new SerialTask(Runnable::run, () -> {
            throw new IllegalStateException("run " + runs.incrementAndGet());
        }, null);
        Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> runs.addAndGet(10));
        fails.schedule();
        fails.schedule();
        assertEquals(25, runs.get(), "twice, and both were reported");
    }
}
