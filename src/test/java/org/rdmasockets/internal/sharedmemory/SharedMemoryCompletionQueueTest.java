package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/** The ring of completions, which grows. */
class SharedMemoryCompletionQueueTest {
    private static final int ENTRIES = 1000;

    private final SharedMemoryDevice device = new SharedMemoryFabric(false).device;
    private final SharedMemoryCompletionQueue queue = new SharedMemoryCompletionQueue(device, ENTRIES, null);

    @Test
    void completionsComeInOrderHoweverItGrows() {
        for (int seed = 0; seed < 50; seed++) {
            Random random = new Random(seed);
            QueueRoom room = new QueueRoom(7);
            Queue<Long> expected = new ArrayDeque<>();
            WorkCompletions batch = queue.newBatch(1 + random.nextInt(40));
            long next = seed * 1_000_000L;
            for (int step = 0; step < 500; step++) {
                for (int i = random.nextInt(60); i > 0 && room.take(ENTRIES); i--) {
                    expected.add(next);
                    if (random.nextBoolean()) {
                        queue.complete(room, next, Status.FLUSHED, CompletionOpcode.SEND);
                    } else {
                        queue.received(room, next, CompletionOpcode.RECEIVE, (int) next, true, -(int) next);
                    }
                    next++;
                }
                take(batch, expected);
            }
            while (!expected.isEmpty()) {
                take(batch, expected);
            }
            assertEquals(0, queue.poll(batch));
        }
    }

    @Test
    void theNumbersOfTheDataPathAreThoseOfTheStatuses() {
        assertEquals(List.of(WorkCompletionStatus.SUCCESS, WorkCompletionStatus.LOCAL_LENGTH_ERROR,
                WorkCompletionStatus.LOCAL_PROTECTION_ERROR, WorkCompletionStatus.FLUSHED,
                WorkCompletionStatus.REMOTE_INVALID_REQUEST_ERROR, WorkCompletionStatus.REMOTE_ACCESS_ERROR,
                WorkCompletionStatus.REMOTE_OPERATION_ERROR, WorkCompletionStatus.RETRY_EXCEEDED,
                WorkCompletionStatus.RECEIVER_NOT_READY_RETRY_EXCEEDED),
                IntStream.of(Status.SUCCESS, Status.LOCAL_LENGTH, Status.LOCAL_PROTECTION, Status.FLUSHED,
                        Status.REMOTE_INVALID_REQUEST, Status.REMOTE_ACCESS, Status.REMOTE_OPERATION,
                        Status.RETRY_EXCEEDED, Status.RECEIVER_NOT_READY_RETRY_EXCEEDED)
                        .mapToObj(WorkCompletionStatus::of).toList());
    }

    /** Values that reach into each other's bits if they are put together in a wrong way. */
    @Test
    void allOfACompletionIsKeptAndNothingOfTheOneBefore() {
        SharedMemoryWorkCompletions batch = new SharedMemoryWorkCompletions(2);
        batch.set(0, -1, Long.MIN_VALUE, Status.FLUSHED, CompletionOpcode.UNKNOWN);
        batch.setReceived(0, Integer.MAX_VALUE, true, Integer.MIN_VALUE);
        batch.setSource(0, -2);
        batch.copy(1, batch, 0);
        for (int i = 0; i < 2; i++) {
            assertEquals(-1, batch.queuePairNumber(i));
            assertEquals(Long.MIN_VALUE, batch.workRequestId(i));
            assertEquals(Status.FLUSHED, batch.status(i));
            assertEquals(CompletionOpcode.UNKNOWN, batch.opcode(i));
            assertEquals(Integer.MAX_VALUE, batch.lengthBytes(i));
            assertTrue(batch.hasImmediate(i));
            assertEquals(Integer.MIN_VALUE, batch.immediate(i));
            assertEquals(-2, batch.sourceQueuePairNumber(i));
        }
        batch.set(1, 7, 8, Status.SUCCESS, CompletionOpcode.SEND);
        assertEquals(7, batch.queuePairNumber(1));
        assertEquals(8, batch.workRequestId(1));
        assertEquals(Status.SUCCESS, batch.status(1));
        assertEquals(CompletionOpcode.SEND, batch.opcode(1));
        assertEquals(0, batch.lengthBytes(1));
        assertFalse(batch.hasImmediate(1));
        assertEquals(0, batch.immediate(1));
        assertEquals(0, batch.sourceQueuePairNumber(1));
    }

    @Test
    void aBatchHasRoomForSomethingButNotForMoreThanMemory() {
        assertThrows(IllegalArgumentException.class, () -> new SharedMemoryWorkCompletions(0));
        assertThrows(IllegalArgumentException.class, () -> new SharedMemoryWorkCompletions(1 << 30));
    }

    private void take(WorkCompletions batch, Queue<Long> expected) {
        int taken = queue.poll(batch);
        assertTrue(taken > 0 || expected.isEmpty(), "there are completions");
        for (int i = 0; i < taken; i++) {
            long id = expected.remove();
            assertEquals(id, batch.workRequestId(i));
            boolean receive = batch.opcode(i) == CompletionOpcode.RECEIVE;
            assertEquals(receive ? (int) id : 0, batch.lengthBytes(i));
            assertEquals(receive, batch.hasImmediate(i));
            assertEquals(receive ? -(int) id : 0, batch.immediate(i));
            assertEquals(receive ? Status.SUCCESS : Status.FLUSHED, batch.status(i));
        }
    }
}
