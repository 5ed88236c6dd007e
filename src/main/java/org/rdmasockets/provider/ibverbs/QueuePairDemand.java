package org.rdmasockets.provider.ibverbs;

import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.SharedReceiveQueue;

/**
 * Which queue pair is asked for.
 *
 * @param config sizes and completion queues
 * @param sharedReceives where its receives come from, or null if they are its own
 */
record QueuePairDemand(QueuePairConfig config, IbverbsSharedReceiveQueue sharedReceives) {
    /** A queue pair with receives of its own. */
    static QueuePairDemand of(QueuePairConfig config) {
        return new QueuePairDemand(config, null);
    }

    /**
     * A queue pair with shared receives.
     *
     * @throws IllegalArgumentException if they belong to another device
     */
    static QueuePairDemand of(QueuePairConfig config, ProtectionDomain domain, SharedReceiveQueue receives) {
        if (!(receives instanceof IbverbsSharedReceiveQueue own) || own.domain().device() != domain.device()) {
            throw new IllegalArgumentException("the shared receive queue belongs to another device");
        }
        return new QueuePairDemand(config, own);
    }

    /** How many receives of its own it has. */
    int ownReceives() {
        return sharedReceives == null ? config.maxReceives() : 0;
    }

    /** How many elements a receive of its own can have. */
    int ownReceiveElements() {
        return sharedReceives == null ? config.maxReceiveElements() : 0;
    }

    @Override
    public String toString() {
        return "maxSends=" + config.maxSends() + ", maxReceives=" + ownReceives() + ", maxSendElements="
                + config.maxSendElements() + ", maxReceiveElements=" + ownReceiveElements()
                + ", maxInlineBytes=" + config.maxInlineBytes();
    }
}
