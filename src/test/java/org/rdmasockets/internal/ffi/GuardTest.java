package org.rdmasockets.internal.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Freed once, after the last use. */
class GuardTest {
    /** Counts how often it is freed, and sees uses after that. */
    private static final class Counted extends Guard {
        private final AtomicInteger freed = new AtomicInteger();

        @Override
        protected void free() {
            freed.incrementAndGet();
        }
    }

    @Test
    void theLastToLeaveFrees() {
        Counted guard = new Counted();
        assertTrue(guard.enter());
        assertTrue(guard.enter());
        guard.close();
        guard.close();
        assertFalse(guard.enter());
        assertTrue(guard.isClosed());
        guard.leave();
        assertEquals(0, guard.freed.get());
        guard.leave();
        assertEquals(1, guard.freed.get());
        guard.close();
        assertEquals(1, guard.freed.get());
    }

    @Test
    void closingWithoutUsersFreesAtOnce() {
        Counted guard = new Counted();
        guard.close();
        assertEquals(1, guard.freed.get());
    }

    @Test
    void itIsFreedOnceHoweverThreadsMeet() throws InterruptedException {
        for (int round = 0; round < 500; round++) {
            Counted guard = new Counted();
            AtomicInteger usedAfterFree = new AtomicInteger();
            CountDownLatch go = new CountDownLatch(1);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                threads.add(Thread.ofPlatform().daemon().start(() -> {
                    await(go);
                    while (guard.enter()) {
                        usedAfterFree.addAndGet(guard.freed.get());
                        guard.leave();
                    }
                }));
            }
            threads.add(Thread.ofPlatform().daemon().start(() -> {
                await(go);
                guard.close();
            }));
            go.countDown();
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(1, guard.freed.get(), "round " + round);
            assertEquals(0, usedAfterFree.get(), "round " + round);
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
