package org.rdmasockets.internal.sharedmemory;

import java.lang.invoke.VarHandle;
import org.rdmasockets.internal.lock.HandleTable;
import org.rdmasockets.internal.sharedmemory.link.ReachableMemory;
import org.rdmasockets.verbs.AccessFlag;

/**
 * The other end is a queue pair of this process. Writes with immediate data are left to the thread that polls there;
 * the sender's thread tells its receive queue of all else.
 */
final class LocalPeer implements Peer {
    private final HandleTable<SharedMemoryRegion> regions;
    private final SharedMemoryQueuePair target;
    /** The target's, kept here: for each message, its processor writes to the objects that lead there. */
    private final ReceiveQueue receives;
    /** Where they complete. */
    private final SharedMemoryCompletionQueue completions;
    /** The writes that are left to the thread that polls there. */
    private final WriteQueue arrivals;
    /**
     * Whether it has receives of its own; a queue pair with shared ones gets one for a message only once that is there.
     */
    private final boolean ownReceives;
    /** How many of the other end's receives were used, wrapping around; guarded by the send queue, as all below. */
    private int consumed;
    /** How many there were when we looked last, wrapping around. */
    private int posted;
    /** The last write that was left to the other end. */
    private long left = -1;
    /** Whether the arrivals are locked for a write that is not told yet. */
    private boolean locked;

    LocalPeer(SharedMemoryQueuePair target) {
        this.target = target;
        regions = target.domain.device().fabric.regions;
        receives = target.receiveQueue;
        completions = target.receiveCompletions();
        arrivals = completions.arrivals;
        ownReceives = receives.shared == null;
    }

    @Override
    public boolean isAlive() {
        return target.isReady();
    }

    @Override
    public ReachableMemory memory(int key, long address, long length, AccessFlag needed) {
        SharedMemoryRegion region = regions.find(key);
        return region != null && region.tryEnter(target.domain, address, length, needed) ? region : null;
    }

    /** An atomic instruction between the bytes and the entry would wait until this processor has the bytes' memory. */
    @Override
    public void beginWrite() {
        if (mayLeave()) {
            lock();
        }
    }

    private void lock() {
        arrivals.lock();
        locked = true;
    }

    @Override
    public void leave(ReachableMemory region) {
        endWrite();
        region.leave();
    }

    private void endWrite() {
        if (locked) {
            locked = false;
            arrivals.unlock();
        }
    }

    @Override
    public int tell(PendingSend notice, int messages) {
        boolean leaves;
        try {
            leaves = !notice.send && (locked || mayLeave()) && leave(notice);
        } finally {
            endWrite();
        }
        int status = Status.SUCCESS;
        if (leaves) {
            bringIfArmed(notice);
        } else {
            status = bring(notice);
        }
        if (status == Status.SUCCESS) {
            consumed++;
            if (posted - consumed < 0) {
                posted = consumed; // there was no look for long; the difference must not wrap around
            }
        }
        return status;
    }

    /** Whether a write may be left to a thread that polls at the other end: if one does, and there is a receive. */
    private boolean mayLeave() {
        return ownReceives && !arrivals.isArmed() && hasReceive();
    }

    private boolean hasReceive() {
        if (posted == consumed) {
            posted = receives.postedEver();
        }
        return posted - consumed > 0;
    }

    /** Leaves a write to the polling thread; false if it cannot be left. */
    private boolean leave(PendingSend notice) {
        if (!locked) {
            lock();
        }
        // A queue pair that fails is first not ready any more, then waits for this lock, and then takes in what was
        // left before.
        long entry = target.isReady() ? arrivals.leave(receives, notice.lengthBytes, notice.immediate) : -1;
        if (entry >= 0) {
            left = entry;
        }
        return entry >= 0;
    }

    /** Does the work of the polling thread, if no thread polls any more. */
    private void bringIfArmed(PendingSend notice) {
        // The fence is between our entry and the flag; a thread that arms looks for entries after it has set that.
        VarHandle.fullFence();
        if (arrivals.isArmed() && arrivals.takeIn()) {
            notice.unreported = completions;
        }
    }

    /** Fills a receive at once, after what was left. */
    private int bring(PendingSend notice) {
        boolean report = !arrivals.isTaken(left) && arrivals.takeIn();
        int status = receives.take(notice);
        if (report) {
            notice.unreported = completions;
        }
        return status;
    }

    @Override
    public void fail() {
        target.fail();
    }

    @Override
    public void receivesPosted() {
        target.sendQueue.resume();
    }

    @Override
    public long receiverNotReadyNanos() {
        return receives.notReadyNanos();
    }
}
