package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.net.Socket;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** The sockets of TCP that hold a port, or become a connection. */
class TcpBindingTest {
    private int tries;

    /** A timer needs memory, which lacks just then, and without it a virtual thread never runs again. */
    @Test
    void aCloseThatWaitsForMemorySetsNoTimer() throws Exception {
        Socket socket = new Socket() {
            @Override
            public void close() {
                if (++tries <= 20) {
                    throw new OutOfMemoryError("says the test");
                }
            }
        };
        FutureTask<Integer> close = new FutureTask<>(() -> {
            TcpBinding.close(socket);
            return tries;
        });
        Thread closer = Thread.startVirtualThread(close);
        while (!close.isDone()) {
            assertNotEquals(Thread.State.TIMED_WAITING, closer.getState());
        }
        assertEquals(21, close.get());
    }
}
