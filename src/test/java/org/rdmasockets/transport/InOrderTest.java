package org.rdmasockets.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tasks run one after the other, in order, whatever the executor below does. */
class InOrderTest {
    @Test
    void tasksKeepTheirOrderOnManyThreads() throws InterruptedException {
        int count = 10_000;
        List<Integer> ran = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch done = new CountDownLatch(count);
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            InOrder inOrder = new InOrder(threads);
            for (int i = 0; i < count; i++) {
                int number = i;
                inOrder.execute(() -> {
                    ran.add(number);
                    done.countDown();
                });
            }
            assertTrue(done.await(60, TimeUnit.SECONDS), () -> done.getCount() + " tasks did not run");
        }
        assertEquals(IntStream.range(0, count).boxed().toList(), ran);
    }

    @Test
    void aTaskThatFailsDoesNotKeepTheNextFromRunning() {
        ArrayDeque<Runnable> submitted = new ArrayDeque<>();
        InOrder inOrder = new InOrder(submitted::add);
        List<String> ran = new ArrayList<>();
        inOrder.execute(() -> {
            throw new IllegalStateException("failed on purpose");
        });
        inOrder.execute(() -> ran.add("next"));
        assertEquals(1, submitted.size(), "one at a time");
        try {
            submitted.remove().run();
        } catch (IllegalStateException e) {
            ran.add(e.getMessage());
        }
        submitted.remove().run();
        assertEquals(List.of("failed on purpose", "next"), ran);
        assertTrue(submitted.isEmpty());
    }
}
