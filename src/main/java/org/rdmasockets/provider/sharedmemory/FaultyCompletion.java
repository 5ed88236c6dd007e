package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.CompletionOpcode;

/**
 * A completion in the hands of {@link Faults}.
 *
 * @param queue where it belongs
 * @param room whose room it occupies
 * @param id {@code wr_id}
 * @param opcode what kind of request ended
 * @param received what a receive has beside, or null
 * @param status how the request ended
 */
record FaultyCompletion(SharedMemoryCompletionQueue queue, QueueRoom room, long id, CompletionOpcode opcode,
        Received received, int status) {
    /** What the completion of a receive has beside. */
    record Received(int length, boolean hasImmediate, int immediate) {
    }

    /** Reports it after all. */
    void deliver() {
        queue.add(this);
    }

    /** Reports it with another status. */
    void deliver(int other) {
        queue.add(new FaultyCompletion(queue, room, id, opcode, received, other));
    }
}
