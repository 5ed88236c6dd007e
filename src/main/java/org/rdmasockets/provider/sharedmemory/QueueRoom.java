package org.rdmasockets.provider.sharedmemory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * How many requests of a queue are in flight: posted, and their completion, if there will be one, not yet polled. The
 * bound keeps the completion queue, which reserved as many entries, from overrunning.
 */
class QueueRoom {
    private static final VarHandle USED = used();

    private final int queuePairNumber;
    private final int capacity;
    private volatile int used;

    /**
     * All room is free.
     *
     * @param queuePairNumber whose queue it is, for completions
     * @param capacity most requests in flight
     */
    QueueRoom(int queuePairNumber, int capacity) {
        this.queuePairNumber = queuePairNumber;
        this.capacity = capacity;
    }

    private static VarHandle used() {
        try {
            return MethodHandles.lookup().findVarHandle(QueueRoom.class, "used", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The number of the queue pair. */
    final int queuePairNumber() {
        return queuePairNumber;
    }

    /** Takes room for one request; false if there is none. One thread at a time. */
    final boolean take() {
        if (used >= capacity) {
            return false;
        }
        USED.getAndAdd(this, 1);
        return true;
    }

    /** Gives the room of one request back; any thread. */
    void giveBack() {
        USED.getAndAdd(this, -1);
    }
}
