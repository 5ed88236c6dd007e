package org.rdmasockets.provider.ibverbs;

import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** The domain of a queue pair, its completion queues and its room there. For one thread at a time. */
final class QueuePairParents {
    final IbverbsProtectionDomain domain;
    final IbverbsCompletionQueue sendQueue;
    final IbverbsCompletionQueue receiveQueue;
    /** Where its receives come from, or null if they are its own. */
    final IbverbsSharedReceiveQueue sharedReceives;
    private final int sends;
    private final int receives;
    /** How many of the steps of {@link #acquire} were taken. */
    private int steps;

    /** Nothing is held yet. */
    QueuePairParents(IbverbsProtectionDomain domain, QueuePairDemand demand) {
        this.domain = domain;
        this.sendQueue = own(domain, demand.config().sendQueue());
        this.receiveQueue = own(domain, demand.config().receiveQueue());
        this.sharedReceives = demand.sharedReceives();
        this.sends = demand.config().maxSends();
        this.receives = demand.ownReceives();
    }

    private static IbverbsCompletionQueue own(IbverbsProtectionDomain domain, Object queue) {
        if (!(queue instanceof IbverbsCompletionQueue own) || own.device() != domain.device()) {
            throw new IllegalArgumentException("the completion queue belongs to another device");
        }
        return own;
    }

    /** Holds all, or throws: then {@link #release} gives back what was held by then. */
    void acquire(ControlCall call) throws VerbsException {
        domain.retain(call);
        steps++;
        sendQueue.retain(call);
        steps++;
        receiveQueue.retain(call);
        steps++;
        check(call, sendQueue.tryReserve(sends), sendQueue, "maxSends=" + sends);
        steps++;
        if (sharedReceives == null) {
            check(call, receiveQueue.tryReserve(receives), receiveQueue, "maxReceives=" + receives);
            steps++;
            return;
        }
        sharedReceives.retain(call);
        steps++;
        check(call, sharedReceives.tryReserve(receiveQueue), receiveQueue,
                "sharedReceives=" + sharedReceives.maxReceives());
        steps++;
    }

    private static void check(ControlCall call, boolean fits, IbverbsCompletionQueue queue, String what)
            throws VerbsException {
        if (!fits) {
            throw new VerbsException(call.name, Errno.ENOSPC.number(), what + ", unreserved="
                    + queue.unreservedEntries() + ", entries=" + queue.entries(),
                    "the completion queue has no room for this queue pair's completions: use another one");
        }
    }

    /** Gives back what is held; completions of a queue pair that was used may still be in the queues. */
    void release(boolean used) {
        if (steps >= 6) {
            sharedReceives.giveBack(receiveQueue, used);
        }
        if (steps >= 5 && sharedReceives != null) {
            sharedReceives.release();
        } else if (steps >= 5) {
            giveBack(receiveQueue, receives, used);
        }
        if (steps >= 4) {
            giveBack(sendQueue, sends, used);
        }
        if (steps >= 3) {
            receiveQueue.release();
        }
        if (steps >= 2) {
            sendQueue.release();
        }
        if (steps >= 1) {
            domain.release();
        }
        steps = 0;
    }

    private static void giveBack(IbverbsCompletionQueue queue, int count, boolean used) {
        if (used) {
            queue.retire(count);
        } else {
            queue.unreserve(count);
        }
    }
}
