package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.CompletionOpcode;

/** A completion in the hands of {@link Faults}; {@code received} is what a receive has beside, or null. */
record FaultyCompletion(SharedMemoryCompletionQueue queue, QueueRoom room, long id, CompletionOpcode opcode,
        Received received, int status) {
    /** The further facts in the completion of a receive. */
    record Received(int length, boolean hasImmediate, int immediate) {}

    /** Reports it after all. */
    void deliver() {
        queue.add(this);
    }

    /** Reports it with another status. */
    void deliver(int other) {
        queue.add(new FaultyCompletion(queue, room, id, opcode, received, other));
    }
}
