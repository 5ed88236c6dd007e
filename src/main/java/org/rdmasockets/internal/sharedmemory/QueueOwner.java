package org.rdmasockets.internal.sharedmemory;

import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.VerbsException;

/** The common part of queue pairs, for their queues; any thread. */
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

    /**
     * Takes room; the queue pair gives it back when it closes. Receives come from {@code shared} if they are not its
     * own, else null. Throws if something is closed, a size is too large or a completion queue has no room.
     */
    static void reserve(String call, SharedMemoryProtectionDomain domain, QueuePairConfig config,
            SharedMemorySharedReceiveQueue shared) throws VerbsException {
        SharedMemoryCompletionQueue sends = own(domain, config.sendQueue());
        SharedMemoryCompletionQueue receives = own(domain, config.receiveQueue());
        SharedMemoryErrors.requireOpen(!domain.isClosed(), call, "protection domain");
        SharedMemoryErrors.requireOpen(!sends.closed && !receives.closed, call, "completion queue");
        SharedMemoryErrors.requireOpen(shared == null || !shared.closed, call, "shared receive queue");
        SharedMemoryDevice.checkSizes(call, config, shared == null);
        if (!sends.tryReserve(config.maxSends())) {
            throw noRoom(call, sends, "maxSends=" + config.maxSends());
        }
        try {
            if (!(shared == null ? receives.tryReserve(config.maxReceives()) : shared.tryReserve(receives))) {
                throw noRoom(call, receives, shared == null ? "maxReceives=" + config.maxReceives()
                        : "sharedReceives=" + shared.maxReceives());
            }
        } catch (Throwable e) {
            sends.unreserve(config.maxSends());
            throw e;
        }
    }

    /** Gives back what {@link #reserve} took for a queue pair that was not made. */
    static void unreserve(QueuePairConfig config, SharedMemorySharedReceiveQueue shared) {
        ((SharedMemoryCompletionQueue) config.sendQueue()).unreserve(config.maxSends());
        SharedMemoryCompletionQueue receives = (SharedMemoryCompletionQueue) config.receiveQueue();
        if (shared == null) {
            receives.unreserve(config.maxReceives());
        } else {
            shared.retire(receives);
        }
    }

    /** Gives the room in the completion queues back, once it was used. */
    final void retire(SharedMemorySharedReceiveQueue shared) {
        sendCompletions().retire(config.maxSends());
        if (shared == null) {
            receiveCompletions().retire(config.maxReceives());
        } else {
            shared.retire(receiveCompletions());
        }
    }

    private static SharedMemoryCompletionQueue own(SharedMemoryProtectionDomain domain, Object queue) {
        if (!(queue instanceof SharedMemoryCompletionQueue own) || own.device() != domain.device()) {
            throw new IllegalArgumentException("the completion queue belongs to another device");
        }
        return own;
    }

    private static VerbsException noRoom(String call, SharedMemoryCompletionQueue queue, String what) {
        return new VerbsException(call, Errno.ENOSPC.number(),
                what + ", unreserved=" + queue.unreservedEntries() + ", entries=" + queue.entries(),
                "the completion queue has no room for this queue pair's completions: use another one");
    }

    /** Goes on where a message found no receive in a shared queue; no lock is held. A datagram is lost instead. */
    void receivesArrived() {}

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
        SharedMemoryErrors.requireOpen(!closed, call, "queue pair");
    }

    /** Moves to the last state, and says whether this was open: only the first caller closes the rest. */
    final synchronized boolean beginClose() {
        boolean first = !closed;
        closed = true;
        state = QueuePairState.ERROR;
        return first;
    }
}
