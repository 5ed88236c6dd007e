package org.rdmasockets.provider.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.WorkCompletions;

/** The ring of completions, which grows. */
class SharedMemoryCompletionQueueTest {
    private static final int ENTRIES = 1000;

    private final SharedMemoryDevice device = new SharedMemoryFabric(false).device();
    private final SharedMemoryCompletionQueue queue = new SharedMemoryCompletionQueue(device, ENTRIES, null);

    @Test
    void completionsComeInOrderHoweverItGrows() {
        for (int seed = 0; seed < 50; seed++) {
            Random random = new Random(seed);
            QueueRoom room = new QueueRoom(7, ENTRIES);
            Queue<Long> expected = new ArrayDeque<>();
            WorkCompletions batch = queue.newBatch(1 + random.nextInt(40));
            long next = seed * 1_000_000L;
            for (int step = 0; step < 500; step++) {
                for (int i = random.nextInt(60); i > 0 && room.take(); i--) {
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
