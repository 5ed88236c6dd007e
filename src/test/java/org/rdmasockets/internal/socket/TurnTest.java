package org.rdmasockets.internal.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.SocketOptions;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The turns of a socket, which become a lock when two callers meet. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class TurnTest {
    private static final int CALLERS = 4;
    private static final int TURNS = 20_000;

    private final RdmaSocketImpl socket = new RdmaSocketImpl(false);
    /** Not volatile: the turns have to order what is done in them. */
    private int inside;
    private int done;

    @Test
    void oneCallerAtATimeHasTheTurn() throws Exception {
        List<Callable<Integer>> callers = new ArrayList<>();
        for (int i = 0; i < CALLERS; i++) {
            callers.add(this::takeTurns);
        }
        try (ExecutorService threads = Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
            for (Future<Integer> caller : threads.invokeAll(callers)) {
                assertEquals(0, caller.get(), "how often somebody else was inside");
            }
        }
        assertEquals(CALLERS * TURNS, done);
    }

    private int takeTurns() throws IOException {
        int others = 0;
        for (int i = 0; i < TURNS; i++) {
            socket.beginWrite();
            others += inside++;
            done++;
            inside--;
            socket.endWrite();
        }
        return others;
    }

    @Test
    void whoWaitsForTheTurnToReadWaitsNoLongerThanItsTimeout() throws Exception {
        socket.create(true);
        socket.setOption(SocketOptions.SO_TIMEOUT, 10);
        socket.beginRead();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            assertThrows(SocketTimeoutException.class, () -> {
                try {
                    threads.submit(socket::beginRead).get();
                } catch (ExecutionException e) {
                    throw e.getCause();
                }
            });
        }
        socket.endRead();
        socket.beginRead();
        socket.endRead();
    }
}
