package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.provider.sharedmemory.link.ReachableMemory;
import org.rdmasockets.verbs.AccessFlag;

/** The other end is a queue pair of this process: its receive queue is filled by the sender's thread. */
final class LocalPeer implements Peer {
    private final RegionTable regions;
    private final SharedMemoryQueuePair target;

    /**
     * A peer in this process.
     *
     * @param regions where keys are looked up
     * @param target the queue pair of the other end
     */
    LocalPeer(RegionTable regions, SharedMemoryQueuePair target) {
        this.regions = regions;
        this.target = target;
    }

    @Override
    public boolean isAlive() {
        return target.isReady();
    }

    @Override
    public ReachableMemory memory(int key, long address, long length, AccessFlag needed) {
        SharedMemoryRegion region = regions.find(key);
        boolean allowed = region != null && region.domain() == target.domain() && region.access().contains(needed)
                && region.contains(address, length) && region.tryEnter();
        return allowed ? region : null;
    }

    @Override
    public int tell(Notice notice, int messages) {
        return target.receiveQueue().take(notice);
    }

    @Override
    public void catchUp() {
        // What was told is here: the thread that tells does it all.
    }

    @Override
    public void fail() {
        target.fail();
    }

    @Override
    public void ownFailed() {
        // The other end sees the state.
    }

    @Override
    public void receivesPosted() {
        target.sendQueue().resume();
    }

    @Override
    public long receiverNotReadyNanos() {
        return target.receiveQueue().notReadyNanos();
    }
}
