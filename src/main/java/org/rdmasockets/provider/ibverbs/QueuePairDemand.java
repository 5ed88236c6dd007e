package org.rdmasockets.provider.ibverbs;

import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.SharedReceiveQueue;

/** A queue pair that is asked for; its receives are its own if {@code sharedReceives} is null. */
record QueuePairDemand(QueuePairType type, QueuePairConfig config, IbverbsSharedReceiveQueue sharedReceives) {
    /** A connected queue pair with receives of its own. */
    static QueuePairDemand of(QueuePairConfig config) {
        return new QueuePairDemand(QueuePairType.RELIABLE_CONNECTION, config, null);
    }

    /** A queue pair for datagrams. */
    static QueuePairDemand ofDatagrams(QueuePairConfig config) {
        return new QueuePairDemand(QueuePairType.UNRELIABLE_DATAGRAM, config, null);
    }

    /** A connected queue pair with shared receives, which must belong to the same device. */
    static QueuePairDemand of(QueuePairConfig config, ProtectionDomain domain, SharedReceiveQueue receives) {
        if (!(receives instanceof IbverbsSharedReceiveQueue own) || own.domain().device() != domain.device()) {
            throw new IllegalArgumentException("the shared receive queue belongs to another device");
        }
        return new QueuePairDemand(QueuePairType.RELIABLE_CONNECTION, config, own);
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
