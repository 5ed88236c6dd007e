package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.VerbsException;

/** What every queue pair has, for its queues; any thread. */
abstract class QueueOwner implements QueuePair {
    final SharedMemoryProtectionDomain domain;
    final QueuePairConfig config;
    final int number;
    /** Advice for readers without a lock; written under this monitor, as is the next. */
    volatile QueuePairState state;
    volatile boolean closed;

    /** A queue pair for which room is reserved. */
    QueueOwner(SharedMemoryProtectionDomain domain, QueuePairConfig config, int number, QueuePairState state) {
        this.domain = domain;
        this.config = config;
        this.number = number;
        this.state = state;
    }

    /** Goes on where a message found no receive in a shared queue; no lock is held. */
    abstract void receivesArrived();

    /** Where sends complete. */
    final SharedMemoryCompletionQueue sendCompletions() {
        return (SharedMemoryCompletionQueue) config.sendQueue();
    }

    /** Where receives complete. */
    final SharedMemoryCompletionQueue receiveCompletions() {
        return (SharedMemoryCompletionQueue) config.receiveQueue();
    }

    @Override
    public final int number() {
        return number;
    }

    @Override
    public final QueuePairConfig config() {
        return config;
    }

    @Override
    public final int maxInlineBytes() {
        return Math.min(config.maxInlineBytes(), SharedMemoryDevice.MAX_INLINE_BYTES);
    }

    @Override
    public final QueuePairState state() {
        return state;
    }

    @Override
    public final QueuePairState queryState() throws VerbsException {
        requireOpen("ibv_query_qp");
        return state;
    }

    /** Refuses a call on a closed queue pair. */
    final void requireOpen(String call) throws VerbsException {
        if (closed) {
            throw Refusals.closed(call, "queue pair");
        }
    }

    /** Moves to the last state, and says whether this was open: only the first caller closes the rest. */
    final synchronized boolean beginClose() {
        boolean first = !closed;
        closed = true;
        state = QueuePairState.ERROR;
        return first;
    }
}
