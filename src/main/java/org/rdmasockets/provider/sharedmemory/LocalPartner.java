package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.ConnectionParameters;

/** A partner in this process. */
final class LocalPartner implements Partner {
    private final RegionTable regions;
    private final SharedMemoryIdentifier identifier;

    /**
     * A partner in this process.
     *
     * @param regions where the keys of both ends are looked up
     * @param identifier the other end
     */
    LocalPartner(RegionTable regions, SharedMemoryIdentifier identifier) {
        this.regions = regions;
        this.identifier = identifier;
    }

    @Override
    public boolean join(SharedMemoryQueuePair own, ConnectionParameters request, ConnectionParameters answer) {
        SharedMemoryQueuePair theirs = identifier.queuePair();
        if (theirs != null) {
            theirs.connect(new LocalPeer(regions, own), answer.receiverNotReadyRetryCount());
            own.connect(new LocalPeer(regions, theirs), request.receiverNotReadyRetryCount());
        }
        return theirs != null;
    }

    @Override
    public boolean accept(SharedMemoryQueuePair own, ConnectionParameters answer) {
        return identifier.accepted(new LocalPeer(regions, own), answer);
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
