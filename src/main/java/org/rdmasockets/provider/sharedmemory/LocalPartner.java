package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.ConnectionParameters;

/** A partner in this process. */
final class LocalPartner implements Partner {
    private final SharedMemoryIdentifier identifier;

    /**
     * A partner in this process.
     *
     * @param identifier the other end
     */
    LocalPartner(SharedMemoryIdentifier identifier) {
        this.identifier = identifier;
    }

    @Override
    public boolean join(SharedMemoryQueuePair own, ConnectionParameters request, ConnectionParameters answer) {
        SharedMemoryQueuePair theirs = identifier.queuePair();
        if (theirs != null) {
            theirs.connect(peer(own), answer.receiverNotReadyRetryCount());
            own.connect(peer(theirs), request.receiverNotReadyRetryCount());
        }
        return theirs != null;
    }

    @Override
    public boolean accept(SharedMemoryQueuePair own, ConnectionParameters answer) {
        return identifier.accepted(peer(own), answer);
    }

    private static Peer peer(SharedMemoryQueuePair target) {
        return new LocalPeer(target.device().fabric.regions, target);
    }

    @Override
    public void acknowledge() {
        identifier.acknowledged();
    }

    @Override
    public boolean isStopped() {
        return false;
    }

    @Override
    public void reject(byte[] privateData) {
        identifier.rejected(SharedMemoryIdentifier.CONSUMER_REJECTED, privateData);
    }

    @Override
    public void disconnect() {
        identifier.disconnected();
    }
}
