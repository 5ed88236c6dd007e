package org.rdmasockets.internal.sharedmemory;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;

/**
 * Receives for many queue pairs. A queue pair takes one when a message for it is there, and never before: so none waits
 * at a queue pair that gets no messages. A queue pair that finds none is remembered, and fed by the next post. A peer
 * in another process has to ask, and is answered when this process polls or waits.
 *
 * <p>The monitor is taken inside that of a queue pair's receive queue; inside it only the device's list of events.
 */
final class SharedMemorySharedReceiveQueue implements SharedReceiveQueue {
    private final SharedMemoryProtectionDomain domain;
    private final SharedMemoryDevice device;
    final QueueRoom room;
    /** Guarded by this. */
    private final PostedReceives receives;
    /** Queue pairs that found no receive, each once; guarded by this. */
    private final ArrayDeque<QueueOwner> hungry = new ArrayDeque<>();
    /** Completion queues that receives of this may complete in, and how many queue pairs say so; guarded by itself. */
    private final Map<SharedMemoryCompletionQueue, Integer> reported = new HashMap<>();
    /** Guarded by this; 0 for none. */
    private int limit;
    private volatile boolean limitReached;
    volatile boolean closed;

    SharedMemorySharedReceiveQueue(SharedMemoryProtectionDomain domain, int maxReceives, int maxElements) {
        this.domain = domain;
        device = domain.device();
        room = new QueueRoom(0);
        receives = new PostedReceives(maxReceives, maxElements);
    }

    /** Takes room in a completion queue for all receives, if no other queue pair has; false if there is none. */
    boolean tryReserve(SharedMemoryCompletionQueue completions) {
        synchronized (reported) {
            boolean more = reported.containsKey(completions);
            reported.merge(completions, 1, Integer::sum); // before the room is taken: this needs memory
            boolean fits = more || completions.tryReserve(maxReceives());
            if (!fits) {
                reported.remove(completions);
            }
            return fits;
        }
    }

    /** Gives the room back when the last queue pair that reported there has gone. */
    void retire(SharedMemoryCompletionQueue completions) {
        synchronized (reported) {
            if (reported.merge(completions, -1, (uses, change) -> uses == 1 ? null : uses + change) == null) {
                completions.retire(maxReceives());
            }
        }
    }

    /**
     * Gives the oldest receive to a queue pair that has a message for it; false if there is none. A queue pair with
     * some that it has not used yet gets no more of them than are left: one that asks for all and sends nothing does
     * not keep the others out. The taker is told of the next receive if there is none, and if it has some it asks again
     * when it has used one.
     */
    synchronized boolean give(QueueOwner taker, PostedReceives target) {
        if (receives.size() == 0) {
            if (!closed && !hungry.contains(taker)) {
                hungry.add(taker);
            }
            return false;
        }
        if (target.size() > 0 && target.size() >= receives.size()) {
            return false;
        }
        target.takeOldestOf(receives);
        if (receives.size() < limit) {
            limit = 0;
            limitReached = true;
            device.report(new DeviceEvent(DeviceEvent.Type.SHARED_RECEIVE_QUEUE_LIMIT, 0, null, 0, 0, this));
        }
        return true;
    }

    /** Takes back what a queue pair was given and has no message for any more; {@link #feed} has to follow. */
    synchronized void takeBack(QueueOwner giver, PostedReceives unused) {
        hungry.remove(giver);
        while (unused.size() > 0) {
            receives.takeOldestOf(unused);
        }
    }

    /** Lets queue pairs go on that found no receive; no lock is held. */
    void feed() {
        List<QueueOwner> fed;
        synchronized (this) {
            if (hungry.isEmpty() || receives.size() == 0) {
                return;
            }
            fed = List.copyOf(hungry);
            hungry.clear();
        }
        fed.forEach(QueueOwner::receivesArrived);
    }

    @Override
    public ProtectionDomain domain() {
        return domain;
    }

    @Override
    public int maxReceives() {
        return receives.most;
    }

    @Override
    public int maxElements() {
        return receives.maxElements;
    }

    @Override
    public int postReceive(ReceiveRequest request) {
        StackRoom.ensureSection(); // a request that takes room has to be posted
        synchronized (this) {
            if (closed) {
                return Errno.ESHUTDOWN.number();
            }
            if (request.elements().count() > receives.maxElements) {
                return Errno.EINVAL.number();
            }
            if (!room.take(receives.most)) {
                return Errno.ENOMEM.number();
            }
            receives.add(request, request.workRequestId());
        }
        feed();
        return QueuePair.POSTED;
    }

    @Override
    public synchronized void limit(int newLimit) throws VerbsException {
        SharedMemoryErrors.requireOpen(!closed, "ibv_modify_srq", "shared receive queue");
        if (newLimit < 0 || newLimit > maxReceives()) {
            throw SharedMemoryErrors.invalid("ibv_modify_srq", "limit=" + newLimit,
                    "the limit is 0 to " + maxReceives() + ", the number of receives");
        }
        limit = newLimit;
        limitReached = false;
    }

    @Override
    public synchronized int queryLimit() throws VerbsException {
        SharedMemoryErrors.requireOpen(!closed, "ibv_query_srq", "shared receive queue");
        return limit;
    }

    @Override
    public boolean isLimitReached() {
        return limitReached;
    }

    @Override
    public synchronized void close() {
        closed = true;
        hungry.clear();
    }
}
