package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;

/** Checks what a queue pair shall be made of, and takes room for it in its completion queues. */
final class Reservation {
    private Reservation() {
    }

    /**
     * Takes room; the queue pair gives it back when it closes.
     *
     * @param call the C function that was asked for
     * @param domain the protection domain
     * @param config sizes and completion queues
     * @param shared where its receives come from if they are not its own, or null
     * @throws VerbsException if something is closed, a size is too large or a completion queue has no room
     */
    static void make(String call, SharedMemoryProtectionDomain domain, QueuePairConfig config,
            SharedMemorySharedReceiveQueue shared) throws VerbsException {
        SharedMemoryCompletionQueue sends = own(domain, config.sendQueue());
        SharedMemoryCompletionQueue receives = own(domain, config.receiveQueue());
        checkOpen(call, !domain.isClosed(), "protection domain");
        checkOpen(call, !sends.isClosed() && !receives.isClosed(), "completion queue");
        checkOpen(call, shared == null || !shared.isClosed(), "shared receive queue");
        SharedMemoryDevice.checkSizes(call, config, shared == null);
        check(call, sends.tryReserve(config.maxSends()), sends, "maxSends=" + config.maxSends());
        boolean done = false;
        try {
            if (shared == null) {
                check(call, receives.tryReserve(config.maxReceives()), receives,
                        "maxReceives=" + config.maxReceives());
            } else {
                check(call, shared.tryReserve(receives), receives, "sharedReceives=" + shared.maxReceives());
            }
            done = true;
        } finally {
            if (!done) {
                sends.unreserve(config.maxSends());
            }
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

    private static void check(String call, boolean fits, SharedMemoryCompletionQueue queue, String what)
            throws VerbsException {
        if (!fits) {
            throw Refusals.noRoom(call, what + ", unreserved=" + queue.unreservedEntries() + ", entries="
                    + queue.entries());
        }
    }
}
