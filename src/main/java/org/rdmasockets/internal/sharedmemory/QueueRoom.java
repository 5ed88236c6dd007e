package org.rdmasockets.internal.sharedmemory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rdmasockets.internal.lock.VarHandles;

/**
 * How many requests of a queue are in flight: posted, and their completion, if there will be one, not yet polled. The
 * bound keeps the completion queue, which reserved as many entries, from overrunning.
 */
class QueueRoom {
    private static final VarHandle GIVEN = VarHandles.of(MethodHandles.lookup(), "given", int.class);

    final int queuePairNumber;
    /** How often room was taken, wrapping around; guarded by the queue's lock. */
    private int taken;
    /** How often it was given back; by GIVEN. */
    private volatile int given;

    QueueRoom(int queuePairNumber) {
        this.queuePairNumber = queuePairNumber;
    }

    /** Takes room for one request, of the room for so many; false if there is none. Under the queue's lock. */
    final boolean take(int capacity) {
        if (taken - given >= capacity) {
            return false;
        }
        taken++;
        return true;
    }

    /**
     * Takes less: for a request that ended, and whose completion was polled or never was. Under the lock of the queue
     * that the request was posted to, or one that receives from there.
     */
    void untake() {
        taken--;
    }

    /** Gives the room of one request back. Under the monitor of the one completion queue that these requests have. */
    void giveBack() {
        GIVEN.setRelease(this, given + 1);
    }

    /** As {@link #giveBack}, for requests whose completions may be in several queues; any thread. */
    final void giveBackFromAnywhere() {
        GIVEN.getAndAdd(this, 1);
    }
}
