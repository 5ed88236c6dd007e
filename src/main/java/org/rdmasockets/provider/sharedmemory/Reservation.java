package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;

/** Checks what a queue pair shall be made of, and takes room for it in its completion queues. */
final class Reservation {
    private Reservation() {}

    /**
     * Takes room; the queue pair gives it back when it closes. Receives come from {@code shared} if they are not its
     * own, else null. Throws if something is closed, a size is too large or a completion queue has no room.
     */
    static void make(String call, SharedMemoryProtectionDomain domain, QueuePairConfig config,
            SharedMemorySharedReceiveQueue shared) throws VerbsException {
        SharedMemoryCompletionQueue sends = own(domain, config.sendQueue());
        SharedMemoryCompletionQueue receives = own(domain, config.receiveQueue());
        checkOpen(call, !domain.isClosed(), "protection domain");
        checkOpen(call, !sends.closed && !receives.closed, "completion queue");
        checkOpen(call, shared == null || !shared.closed, "shared receive queue");
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

    /** Gives back what {@link #make} took for a queue pair that was not made. */
    static void undo(QueuePairConfig config, SharedMemorySharedReceiveQueue shared) {
        ((SharedMemoryCompletionQueue) config.sendQueue()).unreserve(config.maxSends());
        SharedMemoryCompletionQueue receives = (SharedMemoryCompletionQueue) config.receiveQueue();
        if (shared == null) {
            receives.unreserve(config.maxReceives());
        } else {
            shared.retire(receives);
        }
    }

    private static SharedMemoryCompletionQueue own(SharedMemoryProtectionDomain domain, Object queue) {
        if (!(queue instanceof SharedMemoryCompletionQueue own) || own.device() != domain.device()) {
            throw new IllegalArgumentException("the completion queue belongs to another device");
        }
        return own;
    }

    private static void checkOpen(String call, boolean open, String what) throws VerbsException {
        if (!open) {
            throw Refusals.closed(call, what);
        }
    }

    private static VerbsException noRoom(String call, SharedMemoryCompletionQueue queue, String what) {
        return Refusals.noRoom(call, what + ", unreserved=" + queue.unreservedEntries() + ", entries="
                + queue.entries());
    }
}
