package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** SO_TIMEOUT of reads; those of accept and connect are with these. */
abstract class TimeoutContract extends SocketContract {
    private static final int TIMEOUT_MILLIS = 150;

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void readTimesOutAndTheSocketStaysUsable(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(TIMEOUT_MILLIS);
        for (int i = 0; i < 3; i++) {
            long start = System.nanoTime();
            SocketTimeoutException e = Call.start(kind, "read", () -> pair.client().getInputStream().read())
                    .failure(SocketTimeoutException.class);
            assertEquals("Read timed out", e.getMessage());
            assertTrue(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS - 1));
            assertFalse(pair.client().isClosed());
        }
        pair.server().getOutputStream().write(9);
        pair.client().setSoTimeout(30_000);
        assertEquals(9, pair.client().getInputStream().read());
        pair.client().getOutputStream().write(8);
        assertEquals(8, pair.server().getInputStream().read());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void aTimeoutCountsTheWaitForAnotherReader(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        Call<Integer> patient = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        pair.client().setSoTimeout(TIMEOUT_MILLIS);
        Call.start(kind, "read with timeout", () -> pair.client().getInputStream().read())
                .failure(SocketTimeoutException.class);
        assertFalse(patient.isDone());
        pair.server().getOutputStream().write(7);
        assertEquals(7, patient.result());
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void bytesWithinTheTimeoutAreRead(ThreadKind kind) throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(Integer.MAX_VALUE);
        Call<Integer> read = Call.start(kind, "read", () -> pair.client().getInputStream().read()).awaitBlocked();
        pair.server().getOutputStream().write(5);
        assertEquals(5, read.result());
    }

    @Test
    void theEndOfTheStreamEndsATimedRead() throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(30_000);
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> pair.client().getInputStream().read())
                .awaitBlocked();
        pair.server().close();
        assertEquals(-1, read.result());
    }

    @Test
    void timeoutsOfAnEarlierReadDoNotHarmABlockedWriter() throws Exception {
        SocketPair pair = pair();
        pair.client().setSoTimeout(TIMEOUT_MILLIS);
        byte[] sent = new byte[1 << 25];
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> pair.client().getOutputStream().write(sent))
                .awaitBlocked();
        assertThrows(SocketTimeoutException.class, () -> pair.client().getInputStream().read());
        assertFalse(write.isDone());
        assertEquals(sent.length, pair.server().getInputStream().readNBytes(sent.length).length);
        write.result();
    }

    @Test
    void timeoutsAreKeptAndChecked() throws IOException {
        SocketPair pair = pair();
        assertEquals(0, pair.client().getSoTimeout());
        pair.client().setSoTimeout(1234);
        assertEquals(1234, pair.client().getSoTimeout());
        assertThrows(IllegalArgumentException.class, () -> pair.client().setSoTimeout(-1));
        assertEquals(1234, pair.client().getSoTimeout());
        assertEquals(0, pair.server().getSoTimeout());
    }
}
