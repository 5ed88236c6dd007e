package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tasks run one after the other, in order, whichever threads bring them. */
class SerialExecutorTest {
    @Test
    void tasksOfManyThreadsKeepTheirOrder() throws InterruptedException {
        int count = 10_000;
        List<Integer> brought = new ArrayList<>();
        List<Integer> ran = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch done = new CountDownLatch(count);
        VerbsListener.SerialExecutor inOrder = new VerbsListener.SerialExecutor();
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            for (int i = 0; i < count; i++) {
                threads.execute(() -> {
                    inOrder.execute(() -> { }); // of another, which this may have to run
                    inOrder.execute(() -> {
                        ran.add(ran.size());
                        done.countDown();
                    });
                });
            }
            assertTrue(done.await(60, TimeUnit.SECONDS), () -> done.getCount() + " tasks did not run");
        }
        IntStream.range(0, count).forEach(brought::add);
        assertEquals(brought, ran, "no two at once");
    }

    @Test
    void whatATaskBringsRunsAfterIt() {
        List<String> ran = new ArrayList<>();
        VerbsListener.SerialExecutor inOrder = new VerbsListener.SerialExecutor();
        inOrder.execute(() -> {
            for (String name : List.of("second", "third")) {
                inOrder.execute(() -> ran.add(name));
            }
            ran.add("first");
        });
        assertEquals(List.of("first", "second", "third"), ran);
    }

    @Test
    void aTaskThatFailsDoesNotKeepTheNextFromRunning() {
        List<String> ran = new ArrayList<>();
        VerbsListener.SerialExecutor inOrder = new VerbsListener.SerialExecutor();
        inOrder.execute(() -> {
            inOrder.execute(() -> ran.add("next"));
            throw new IllegalStateException("failed on purpose");
        });
        inOrder.execute(() -> ran.add("last"));
        assertEquals(List.of("next", "last"), ran);
    }
}
