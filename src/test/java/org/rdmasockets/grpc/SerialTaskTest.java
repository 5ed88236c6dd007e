package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
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
}
