package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;

/** Accept hands out a waiting entry even to an interrupted thread; a deadline, an interrupt and the close end it. */
class AcceptQueueTest {
    private final AcceptQueue<Connection> queue = new AcceptQueue<>(connection -> connection.close(0));

    @Test
    void anInterruptedVirtualThreadGetsWhatIsThere() throws Exception {
        IOException waiting = new IOException("something waits");
        queue.addFailure(waiting, () -> { });
        assertSame(waiting, failureOfInterrupted());
    }

    @Test
    void anInterruptedVirtualThreadDoesNotWait() throws Exception {
        assertEquals(InterruptedIOException.class, failureOfInterrupted().getClass());
    }

    /** The exception that accept throws in a virtual thread that was interrupted before. */
    private IOException failureOfInterrupted() throws Exception {
        FutureTask<IOException> accept = new FutureTask<>(() -> {
            Thread.currentThread().interrupt();
            IOException e = assertThrows(IOException.class, () -> queue.accept(Long.MAX_VALUE));
            assertTrue(Thread.interrupted(), "the status stays set");
            return e;
        });
        Thread.startVirtualThread(accept);
        return accept.get(40, TimeUnit.SECONDS);
    }

    /** That would need memory, without which a virtual thread never runs again, and the server accepts no more. */
    @Test
    void aWaitWithoutEndSetsNoTimer() throws Exception {
        FutureTask<IOException> accept = new FutureTask<>(
                () -> assertThrows(SocketException.class, () -> queue.accept(Long.MAX_VALUE)));
        Thread acceptor = Thread.startVirtualThread(accept);
        Await.until("it waits", () -> acceptor.getState().name().endsWith("WAITING"));
        assertEquals(Thread.State.WAITING, acceptor.getState());
        queue.close();
        accept.get(40, TimeUnit.SECONDS);
    }

    @Test
    void deadlinesAndTheEndHaveTheirTexts() {
        assertEquals("Accept timed out",
                assertThrows(SocketTimeoutException.class, () -> queue.accept(System.nanoTime())).getMessage());
        boolean[] taken = {false};
        queue.addFailure(new IOException(), () -> taken[0] = true);
        queue.close();
        for (int i = 0; i < 2; i++) {
            assertEquals("Socket closed",
                    assertThrows(SocketException.class, () -> queue.accept(Long.MAX_VALUE)).getMessage());
        }
        assertTrue(taken[0]);
        assertFalse(Thread.interrupted());
    }
}
