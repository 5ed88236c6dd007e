package org.rdmasockets.internal.ibverbs;

import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;

/** The parts that a queue pair is made of, and its room in the completion queues. For one thread at a time. */
final class QueuePairParents {
    final IbverbsProtectionDomain domain;
    final QueuePairType type;
    final QueuePairConfig config;
    final IbverbsCompletionQueue sendQueue;
    final IbverbsCompletionQueue receiveQueue;
    /** Where its receives come from, or null if they are its own. */
    final IbverbsSharedReceiveQueue sharedReceives;
    /** How many of the steps of {@link #acquire} were taken. */
    private int steps;

    /** Nothing is held yet; receives are its own if {@code sharedReceives} is null. */
    QueuePairParents(IbverbsProtectionDomain domain, QueuePairType type, QueuePairConfig config,
            IbverbsSharedReceiveQueue sharedReceives) {
        this.domain = domain;
        this.type = type;
        this.config = config;
        this.sendQueue = own(domain, config.sendQueue());
        this.receiveQueue = own(domain, config.receiveQueue());
        this.sharedReceives = sharedReceives;
        if (sharedReceives != null && sharedReceives.domain().device() != domain.device()) {
            throw foreign("shared receive queue");
        }
    }

    /** A queue of this provider, and not null, which would mean that receives are the queue pair's own. */
    static IbverbsSharedReceiveQueue own(SharedReceiveQueue receives) {
        if (!(receives instanceof IbverbsSharedReceiveQueue own)) {
            throw foreign("shared receive queue");
        }
        return own;
    }

    private static IllegalArgumentException foreign(String what) {
        return new IllegalArgumentException("the " + what + " belongs to another device");
    }

    private static IbverbsCompletionQueue own(IbverbsProtectionDomain domain, CompletionQueue queue) {
        if (!(queue instanceof IbverbsCompletionQueue own) || own.device() != domain.device()) {
            throw foreign("completion queue");
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
        check(call, sendQueue.tryReserve(config.maxSends()), sendQueue, "maxSends=" + config.maxSends());
        steps++;
        if (sharedReceives == null) {
            check(call, receiveQueue.tryReserve(receives()), receiveQueue, "maxReceives=" + receives());
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
            giveBack(receiveQueue, receives(), used);
        }
        if (steps >= 4) {
            giveBack(sendQueue, config.maxSends(), used);
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

    /** How many receives of its own it has. */
    int receives() {
        return sharedReceives == null ? config.maxReceives() : 0;
    }

    /** How many elements a receive of its own can have. */
    int receiveElements() {
        return sharedReceives == null ? config.maxReceiveElements() : 0;
    }

    @Override
    public String toString() {
        return "maxSends=" + config.maxSends() + ", maxReceives=" + receives() + ", maxSendElements="
                + config.maxSendElements() + ", maxReceiveElements=" + receiveElements() + ", maxInlineBytes="
                + config.maxInlineBytes();
    }
}
