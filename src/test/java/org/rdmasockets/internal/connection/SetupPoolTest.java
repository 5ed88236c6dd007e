package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The set-up pool stays small, unless calls get stuck. */
class SetupPoolTest {
    private static final long PATIENCE_SECONDS = 30;

    private final SetupPool pool = new SetupPool();

    @Test
    void quickTasksShareTwoThreads() throws Exception {
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        CompletableFuture<?>[] all = new CompletableFuture<?>[200];
        for (int i = 0; i < all.length; i++) {
            all[i] = pool.submit(() -> threads.add(Thread.currentThread()));
        }
        CompletableFuture.allOf(all).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertTrue(threads.size() <= 2, () -> "threads: " + threads);
        assertTrue(threads.stream().allMatch(Thread::isDaemon));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 16, 100})
    void callsStuckWithPeersDoNotHoldUpOthers(int count) throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        CompletableFuture<?>[] stuck = new CompletableFuture<?>[count];
        for (int i = 0; i < stuck.length; i++) {
            stuck[i] = pool.submitPeerCall(() -> release.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
        }
        CompletableFuture<String> quick = pool.submit(() -> "done");
        assertEquals("done", afterRelief(quick));
        assertFalse(stuck[0].isDone(), "the stuck tasks should still be stuck");
        release.countDown();
        CompletableFuture.allOf(stuck).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void slowTasksOfOurOwnGetNoMoreThreads() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        CompletableFuture<?>[] slow = new CompletableFuture<?>[2];
        for (int i = 0; i < slow.length; i++) {
            slow[i] = pool.submit(() -> release.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
        }
        CompletableFuture<String> next = pool.submit(() -> "done");
        assertThrows(TimeoutException.class, () -> next.get(2 * SetupPool.STUCK_NANOS, TimeUnit.NANOSECONDS));
        pool.relieve();
        assertThrows(TimeoutException.class, () -> next.get(SetupPool.STUCK_NANOS, TimeUnit.NANOSECONDS));
        release.countDown();
        assertEquals("done", next.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        CompletableFuture.allOf(slow).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** Asks for relief until the task got a thread, as the tick of the engine does. */
    private String afterRelief(CompletableFuture<String> task) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (System.nanoTime() < deadline) {
            pool.relieve();
            try {
                return task.get(50, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                // the next round asks again
            }
        }
        throw new AssertionError("no thread was added for the waiting task");
    }

    @Test
    void exceptionsReachWhoSubmitted() throws Exception {
        CompletableFuture<?> failed = pool.submit(() -> {
            throw new IOException("no");
        });
        ExecutionException e = assertThrows(ExecutionException.class,
                () -> failed.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        assertEquals("no", e.getCause().getMessage());
    }

    @Test
    void aFailingTaskDoesNotEndItsThread() throws Exception {
        pool.execute(() -> {
            throw new IllegalStateException("expected in the log: a task of this test fails");
        });
        assertEquals("alive", pool.submit(() -> "alive").get(PATIENCE_SECONDS, TimeUnit.SECONDS));
    }
}
