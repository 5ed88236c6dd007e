package org.rdmasockets.endpoint;

import org.rdmasockets.verbs.SendRequest;

/** Changes 8 bytes of the peer's memory at once and brings the old value back. */
final class Atomic extends Operation {
    private final Task task;
    private final Pending<Long> pending;

    /** An operation on 8 bytes: compare with one value and swap for another, or else fetch and add the operand. */
    record Task(RemoteRegion remote, boolean swap, long operand, long desired) {}

    Atomic(Task task, Pending<Long> pending) {
        super(null, pending);
        this.task = task;
        this.pending = pending;
    }

    @Override
    boolean takesReceive() {
        return false;
    }

    @Override
    void fill(SendRequest request, long workRequestId, SendSlot slot) {
        RemoteRegion remote = task.remote;
        if (task.swap) {
            request.compareAndSwap(workRequestId, remote.address(), remote.remoteKey(), task.operand, task.desired);
        } else {
            request.fetchAndAdd(workRequestId, remote.address(), remote.remoteKey(), task.operand);
        }
        slot.value(request);
    }

    @Override
    void succeed(SendSlot slot) {
        pending.complete(slot.value());
    }

    @Override
    public String toString() {
        return task.swap ? "a compare-and-swap" : "a fetch-and-add";
    }
}
