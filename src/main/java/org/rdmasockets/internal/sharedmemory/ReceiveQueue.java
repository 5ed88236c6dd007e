package org.rdmasockets.internal.sharedmemory;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rdmasockets.internal.lock.VarHandles;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.sharedmemory.link.LinkSlot;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.ReceiverNotReadyTimer;

/**
 * The posted receives of a queue pair. A message takes the oldest: {@link #begin}, {@link #put} for each part of the
 * data, {@link #finish}. The monitor is taken inside the lock of a peer's send queue and that of {@link WriteQueue},
 * and inside it only that of a shared receive queue and then that of the completion queue.
 *
 * <p>With a shared receive queue nothing is posted here: a message takes a receive from there. A peer in another
 * process sends only into receives that it knows of, so it asks for them by {@link #want}.
 */
final class ReceiveQueue {
    private static final VarHandle POSTED_EVER = VarHandles.of(MethodHandles.lookup(), "postedEver", int.class);
    /** Most receives of a shared queue that a peer may want and not have used yet. */
    static final int MOST_WANTED = 16;

    /** The queue pair or datagram queue pair that has these receives. */
    final QueueOwner owner;
    private final SharedMemoryCompletionQueue completions;
    private final QueueRoom room;
    /** Where receives come from if they are not posted here, or null. */
    final SharedMemorySharedReceiveQueue shared;
    /** Guarded by this. */
    private final PostedReceives receives;
    /** How many receives of the shared queue the peer waits for; guarded by this. */
    private int wanted;
    /** How many receives were ever posted, wrapping around; written under this monitor. */
    private int postedEver;
    /** Where a peer in another process sees {@link #postedEver}, or null; guarded by this. */
    private LinkSlot slot;
    /** Whether the oldest receive is being filled; guarded by this. */
    private boolean filling;
    /** How many bytes of it were filled; guarded by this. */
    private int filled;
    /** Whether the peer found no receive and wants to know when there is one; guarded by this. */
    private boolean starving;
    /** Whether receives complete as flushed; guarded by this. */
    private boolean flushing;
    /** Guarded by this. */
    private boolean closed;
    /** The code of {@code min_rnr_timer}; 0 is the default of the connection manager. */
    private volatile byte notReadyTimer;

    /** An empty queue; receives come from {@code shared} if they are not posted here, else null. */
    ReceiveQueue(QueueOwner owner, SharedMemoryCompletionQueue completions, SharedMemorySharedReceiveQueue shared) {
        this.owner = owner;
        this.completions = completions;
        this.shared = shared;
        if (shared == null) {
            room = new QueueRoom(owner.number);
            receives = new PostedReceives(owner.config.maxReceives(), owner.config.maxReceiveElements());
        } else {
            room = new SharedRoom(owner.number, shared.room);
            receives = new PostedReceives(MOST_WANTED, shared.maxElements());
        }
    }

    /** How long a peer shall wait per retry when there is no receive, in nanoseconds. */
    long notReadyNanos() {
        return new ReceiverNotReadyTimer(notReadyTimer).duration().toNanos();
    }

    /** Sets how long a peer shall wait per retry, by a code of {@code min_rnr_timer}, 0 to 31. */
    void notReadyTimer(int code) {
        notReadyTimer = (byte) code;
    }

    /**
     * Posts a receive, or several: POSTED, or an error number for the first that is refused. The caller wakes the peer
     * if {@link #takeStarving} says so.
     */
    synchronized int post(ReceiveRequest request, long firstId, int count) {
        StackRoom.ensureSection(); // a request that takes room has to be posted
        int result = QueuePair.POSTED;
        for (int i = 0; i < count && result == QueuePair.POSTED; i++) {
            result = post(request, firstId + i);
        }
        publishPosted();
        return result;
    }

    private int post(ReceiveRequest request, long requestId) {
        if (closed) {
            return Errno.ESHUTDOWN.number();
        }
        if (shared != null || request.elements().count() > receives.maxElements) {
            return Errno.EINVAL.number();
        }
        if (!room.take(owner.config.maxReceives())) {
            return Errno.ENOMEM.number();
        }
        if (flushing) {
            complete(requestId, Status.FLUSHED);
        } else {
            receives.add(request, requestId);
            postedEver++;
        }
        return QueuePair.POSTED;
    }

    /**
     * Gets receives of the shared queue for so many messages of a peer in another process, now or as soon as there are
     * any; false if the peer wants more at once than it may, or these receives are not shared.
     */
    synchronized boolean want(int count) {
        if (shared == null || count < 1 || count > MOST_WANTED - wanted - receives.size()) {
            return false;
        }
        wanted += count;
        claim();
        return true;
    }

    /** Gets receives for a peer that waits for them, if there are any now. */
    synchronized void claim() {
        if (flushing || closed) {
            return;
        }
        int before = postedEver;
        while (wanted > 0 && shared.give(owner, receives)) {
            wanted--;
            postedEver++;
        }
        if (postedEver != before) {
            publishPosted();
        }
    }

    /** Whether there is a receive for a message that has come; takes one from a shared queue if need be. */
    private boolean hasReceive() {
        return receives.size() > 0 || shared != null && slot == null && shared.give(owner, receives);
    }

    private void publishPosted() {
        if (slot != null) {
            slot.receivesPosted(postedEver);
        }
    }

    /** Shows a peer in another process how many receives there are, from now on. */
    synchronized void attach(LinkSlot newSlot) {
        slot = newSlot;
        if (shared != null) {
            slot.giveOnRequest();
        }
        publishPosted();
    }

    /** Stops showing that, and closes the slot. */
    synchronized void releaseSlot(LinkSlot oldSlot) {
        slot = null;
        oldSlot.close();
    }

    /** The peer sends nothing more: gives back the receives that it wanted. */
    synchronized void forgetWanted() {
        if (!filling) {
            giveBack();
        }
    }

    /** Whether the peer waits to be told of receives; true once. */
    synchronized boolean takeStarving() {
        boolean starved = starving;
        starving = false;
        return starved;
    }

    /** Takes a message of a peer in this process; returns what {@link Peer#tell} does. */
    synchronized int take(PendingSend notice) {
        int length = notice.send ? notice.lengthBytes : 0;
        int status = begin(length);
        if (status != Status.SUCCESS) {
            return status;
        }
        if (length > 0 && !fill(notice, null, 0, length)) {
            return Status.REMOTE_OPERATION;
        }
        if (received(notice.send, notice.lengthBytes, notice.hasImmediate, notice.immediate)) {
            notice.unreported = completions;
        }
        return Status.SUCCESS;
    }

    /** Takes a datagram with its routing header; without a receive it is lost. */
    synchronized void take(Datagram datagram) {
        if (begin(datagram.lengthBytes) != Status.SUCCESS || !fill(null, datagram.memory, 0,
                datagram.lengthBytes)) {
            return;
        }
        if (completions.receivedDatagram(room, remove(), datagram)) {
            completions.report();
        }
    }

    /**
     * Begins to fill the oldest receive: {@link Status#SUCCESS}; {@link Status#NOT_READY} if there is none, and the
     * peer will be told of the next; else an error for the peer: then the receive has completed with an error, and the
     * caller fails the queue pair once it holds no lock.
     */
    synchronized int begin(long length) {
        if (flushing || closed) {
            return Status.RETRY_EXCEEDED;
        }
        if (!hasReceive()) {
            starving = true;
            return Status.NOT_READY;
        }
        if (length > receives.capacity()) {
            drop(Status.LOCAL_LENGTH);
            return Status.REMOTE_INVALID_REQUEST;
        }
        filling = true;
        filled = 0;
        return Status.SUCCESS;
    }

    /** Completes the oldest receive by a write with immediate data that is done; returns as {@link #begin}. */
    synchronized int written(int length, int immediate) {
        int status = begin(0);
        if (status == Status.SUCCESS) {
            finish(false, length, true, immediate);
        }
        return status;
    }

    /**
     * Completes the oldest receive by a write with immediate data that was left in {@link WriteQueue}. Tells whether
     * that has to be reported. Does nothing if the receives have been flushed since.
     */
    synchronized boolean arrived(int length, int immediate) {
        return receives.size() > 0 && received(false, length, true, immediate);
    }

    /** How many receives were ever posted here, wrapping around; without the monitor, so the last may be missing. */
    int postedEver() {
        return (int) POSTED_EVER.getOpaque(this);
    }

    /**
     * Adds data to the receive that was begun, no more than was announced. False if the receive's memory is not valid
     * or too short, or nothing was begun: then the caller fails the queue pair once it holds no lock.
     */
    synchronized boolean put(MemorySegment source, long offset, long length) {
        return filling && fill(null, source, offset, length);
    }

    /** Fills from a notice or, if that is null, from memory. */
    private boolean fill(PendingSend notice, MemorySegment source, long offset, long length) {
        long skip = filled;
        long done = 0;
        for (int i = 0; i < receives.elements() && done < length; i++) {
            long here = Math.min(receives.length(i) - skip, length - done);
            if (here <= 0) {
                skip -= receives.length(i);
                continue;
            }
            if (!copy(i, skip, notice, source, offset + done, here)) {
                drop(Status.LOCAL_PROTECTION);
                return false;
            }
            done += here;
            skip = 0;
        }
        filled += (int) done;
        if (done < length) {
            drop(Status.LOCAL_LENGTH);
        }
        return done == length;
    }

    private boolean copy(int element, long skip, PendingSend notice, MemorySegment source, long offset, long length) {
        SharedMemoryRegion region = receives.region(element);
        // The domain whose regions the receives name.
        ProtectionDomain domain = shared == null ? owner.domain : shared.domain();
        if (region == null || region.domain != domain || !region.access().contains(AccessFlag.LOCAL_WRITE)
                || !region.tryEnter()) {
            return false;
        }
        try {
            if (notice != null) {
                notice.copyPayload(offset, region.segment(), receives.offset(element) + skip, length);
            } else {
                MemorySegment.copy(source, offset, region.segment(), receives.offset(element) + skip, length);
            }
            return true;
        } finally {
            region.leave();
        }
    }

    /** Completes the receive that was begun. */
    synchronized void finish(boolean send, int length, boolean hasImmediate, int immediate) {
        if (!filling) {
            return;
        }
        if (received(send, length, hasImmediate, immediate)) {
            completions.report();
        }
        if (wanted > 0) {
            claim(); // the peer has one unused receive fewer now
        }
    }

    /** Completes the oldest receive; whether that has to be reported. */
    private boolean received(boolean send, int length, boolean hasImmediate, int immediate) {
        return completions.received(room, remove(), send ? CompletionOpcode.RECEIVE
                : CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE, length, hasImmediate, immediate);
    }

    /** Completes the oldest receive with an error. */
    private void drop(int status) {
        complete(remove(), status);
    }

    private void complete(long id, int status) {
        if (completions.complete(room, id, status, CompletionOpcode.RECEIVE)) {
            completions.report();
        }
    }

    private long remove() {
        filling = false;
        return receives.remove();
    }

    /** Completes all receives as flushed, later ones too; shared ones go back, save one that is being filled. */
    void flush() {
        completions.arrivals.awaitSender(); // the queue pair is not ready any more: nothing is left from now on
        completions.takeInArrivals();
        synchronized (this) {
            if (!closed && !flushing) {
                flushing = true;
                while (shared == null ? receives.size() > 0 : filling) {
                    drop(Status.FLUSHED);
                }
                giveBack();
            }
        }
    }

    /** Forgets all receives without completing them, and admits new ones: for datagrams only. */
    synchronized void reset() {
        flushing = false;
        while (receives.size() > 0) {
            remove();
            room.untake();
        }
    }

    /** Forgets all receives without completing them; shared ones go back. */
    void close() {
        synchronized (this) {
            closed = true;
            if (shared != null && filling) {
                remove();
                room.giveBack();
            }
            giveBack();
            while (receives.size() > 0) {
                remove();
            }
        }
        completions.arrivals.forget(this);
    }

    private void giveBack() {
        wanted = 0;
        if (shared != null) {
            shared.takeBack(owner, receives);
        }
    }

    /** The room of a shared receive queue, as completions of one of its queue pairs see it. */
    private static final class SharedRoom extends QueueRoom {
        private final QueueRoom shared;

        SharedRoom(int queuePairNumber, QueueRoom shared) {
            super(queuePairNumber);
            this.shared = shared;
        }

        @Override
        void giveBack() {
            shared.giveBackFromAnywhere();
        }

        @Override
        void untake() {
            giveBack();
        }
    }
}
