package org.rdmasockets.provider.sharedmemory;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.rdmasockets.provider.sharedmemory.link.LinkSlot;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.ScatterGatherList;

/**
 * The posted receives of a queue pair. A message takes the oldest: {@link #begin}, {@link #put} for each part of the
 * data, {@link #finish}. The monitor is taken inside the lock of a peer's send queue, and inside it only that of the
 * completion queue.
 */
final class ReceiveQueue {
    /** The wait that code 0 of {@code min_rnr_timer} means, the default of the connection manager. */
    private static final long DEFAULT_NOT_READY_NANOS = 655_360_000;

    private final SharedMemoryQueuePair owner;
    private final SharedMemoryCompletionQueue completions;
    private final QueueRoom room;
    private final int maxElements;
    private final int maxReceives;
    /** Of the posted receives; guarded by this. */
    private final IdQueue ids = new IdQueue();
    /** A ring of receives from {@link #head}: the elements of i begin at i * maxElements; guarded by this. */
    private SharedMemoryRegion[] regions;
    private long[] offsets;
    private int[] lengths;
    /** How many elements each receive has; null, as the three before, until one has any; guarded by this. */
    private int[] counts;
    private int head;
    private int posted;
    /** How many receives were ever posted, wrapping around; guarded by this. */
    private int postedEver;
    /** Where a peer in another process sees {@link #postedEver}, or null; guarded by this. */
    private LinkSlot slot;
    /** Whether the oldest receive is being filled; guarded by this. */
    private boolean filling;
    /** How many bytes of it were filled; guarded by this. */
    private long filled;
    /** Whether the peer found no receive and wants to know when there is one; guarded by this. */
    private boolean starving;
    /** Whether receives complete as flushed; guarded by this. */
    private boolean flushing;
    /** Guarded by this. */
    private boolean closed;
    private volatile long notReadyNanos = DEFAULT_NOT_READY_NANOS;

    /**
     * An empty queue.
     *
     * @param owner the queue pair
     * @param completions where receives complete
     * @param maxReceives most receives
     * @param maxElements most elements of one
     */
    ReceiveQueue(SharedMemoryQueuePair owner, SharedMemoryCompletionQueue completions, int maxReceives,
            int maxElements) {
        this.owner = owner;
        this.completions = completions;
        this.maxReceives = maxReceives;
        this.maxElements = maxElements;
        room = new QueueRoom(owner.number(), maxReceives);
    }

    /** How long a peer shall wait per retry when there is no receive, in nanoseconds. */
    long notReadyNanos() {
        return notReadyNanos;
    }

    /** Sets how long a peer shall wait per retry, in nanoseconds. */
    void notReadyNanos(long nanos) {
        notReadyNanos = nanos;
    }

    /**
     * Posts a receive. The caller wakes the peer afterwards if {@link #takeStarving} says so.
     *
     * @param request where to put the data
     * @return {@link QueuePair#POSTED} or an error number
     */
    synchronized int post(ReceiveRequest request) {
        int result = post(request, request.workRequestId());
        publishPosted();
        return result;
    }

    /** Posts a receive several times; returns what {@link #post(ReceiveRequest)} does for the first that is refused. */
    synchronized int post(ReceiveRequest request, long firstId, int count) {
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
        if (request.elements().count() > maxElements) {
            return Errno.EINVAL.number();
        }
        Faults faults = owner.device().fabric().faults();
        if (faults != null && faults.isFull(owner.number(), true) || !room.take()) {
            return Errno.ENOMEM.number();
        }
        if (flushing) {
            complete(requestId, Status.FLUSHED);
        } else {
            append(request, requestId);
            postedEver++;
        }
        return QueuePair.POSTED;
    }

    private void append(ReceiveRequest request, long requestId) {
        int index = (head + posted) % maxReceives;
        ScatterGatherList elements = request.elements();
        ids.add(requestId);
        if (counts == null && elements.count() > 0) {
            makeElements();
        }
        if (counts != null) {
            counts[index] = elements.count();
        }
        for (int i = 0; i < elements.count(); i++) {
            int at = index * maxElements + i;
            regions[at] = elements.region(i) instanceof SharedMemoryRegion own ? own : null;
            offsets[at] = regions[at] == null ? 0 : elements.address(i) - regions[at].address();
            lengths[at] = elements.lengthBytes(i);
        }
        posted++;
    }

    /** Most queues never have receives with memory: their data comes with immediate data, elsewhere. */
    private void makeElements() {
        counts = new int[maxReceives];
        regions = new SharedMemoryRegion[maxReceives * maxElements];
        offsets = new long[maxReceives * maxElements];
        lengths = new int[maxReceives * maxElements];
    }

    private int elementsOfOldest() {
        return counts == null ? 0 : counts[head];
    }

    private void publishPosted() {
        if (slot != null) {
            slot.receivesPosted(postedEver);
        }
    }

    /** Shows a peer in another process how many receives there are, from now on. */
    synchronized void attach(LinkSlot newSlot) {
        slot = newSlot;
        publishPosted();
    }

    /** Stops showing that, and closes the slot. */
    synchronized void releaseSlot(LinkSlot oldSlot) {
        slot = null;
        oldSlot.close();
    }

    /** Whether the peer wanted to know of receives; it is told once. */
    synchronized boolean takeStarving() {
        boolean starved = starving;
        starving = false;
        return starved;
    }

    /** Takes a message of a peer in this process; what {@link Peer#tell} returns. */
    synchronized int take(Notice notice) {
        int length = notice.isSend() ? notice.lengthBytes() : 0;
        int status = begin(length);
        if (status != Status.SUCCESS) {
            return status;
        }
        if (length > 0 && !fill(notice, null, 0, length)) {
            return Status.REMOTE_OPERATION;
        }
        if (received(notice.isSend(), notice.lengthBytes(), notice.hasImmediate(), notice.immediate())) {
            notice.unreported(completions);
        }
        return Status.SUCCESS;
    }

    /**
     * Begins to fill the oldest receive.
     *
     * @param length how many bytes will come
     * @return {@link Status#SUCCESS}; {@link Status#NOT_READY} if there is none, and the peer will be told of the next;
     *         else what is wrong, for the peer: then the receive has completed with an error, and the queue pair has to
     *         be failed once no lock is held
     */
    synchronized int begin(long length) {
        if (flushing || closed) {
            return Status.RETRY_EXCEEDED;
        }
        if (posted == 0 || hidesReceives()) {
            starving = true;
            return Status.NOT_READY;
        }
        if (length > capacity()) {
            drop(Status.LOCAL_LENGTH);
            return Status.REMOTE_INVALID_REQUEST;
        }
        filling = true;
        filled = 0;
        return Status.SUCCESS;
    }

    private boolean hidesReceives() {
        Faults faults = owner.device().fabric().faults();
        return faults != null && faults.hidesReceives(owner.number());
    }

    private long capacity() {
        long capacity = 0;
        for (int i = 0; i < elementsOfOldest(); i++) {
            capacity += lengths[head * maxElements + i];
        }
        return capacity;
    }

    /**
     * Puts data into the receive that was begun, behind what is there.
     *
     * @param source where the data is
     * @param offset where it begins
     * @param length how many bytes, within what was announced
     * @return false if the receive's memory is not valid or too short, or nothing was begun: then the queue pair has to
     *         be failed once no lock is held
     */
    synchronized boolean put(MemorySegment source, long offset, long length) {
        return filling && fill(null, source, offset, length);
    }

    /** Fills from a notice or, if that is null, from memory. */
    private boolean fill(Notice notice, MemorySegment source, long offset, long length) {
        long skip = filled;
        long done = 0;
        for (int i = head * maxElements; i < head * maxElements + elementsOfOldest() && done < length; i++) {
            long here = Math.min(lengths[i] - skip, length - done);
            if (here <= 0) {
                skip -= lengths[i];
                continue;
            }
            if (!copy(i, skip, notice, source, offset + done, here)) {
                drop(Status.LOCAL_PROTECTION);
                return false;
            }
            done += here;
            skip = 0;
        }
        filled += done;
        if (done < length) {
            drop(Status.LOCAL_LENGTH);
        }
        return done == length;
    }

    private boolean copy(int element, long skip, Notice notice, MemorySegment source, long offset, long length) {
        SharedMemoryRegion region = regions[element];
        if (region == null || region.domain() != owner.domain() || !region.access().contains(AccessFlag.LOCAL_WRITE)
                || !region.tryEnter()) {
            return false;
        }
        try {
            if (notice != null) {
                notice.copyPayload(offset, region.segment(), offsets[element] + skip, length);
            } else {
                MemorySegment.copy(source, offset, region.segment(), offsets[element] + skip, length);
            }
            return true;
        } finally {
            region.leave();
        }
    }

    /** Completes the receive that was begun. */
    synchronized void finish(boolean send, int length, boolean hasImmediate, int immediate) {
        if (filling && received(send, length, hasImmediate, immediate)) {
            completions.report();
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
        if (counts != null) {
            Arrays.fill(regions, head * maxElements, (head + 1) * maxElements, null);
        }
        head = head + 1 == maxReceives ? 0 : head + 1;
        posted--;
        filling = false;
        return ids.remove();
    }

    /** Completes all receives as flushed, and those to come. */
    synchronized void flush() {
        if (!closed && !flushing) {
            flushing = true;
            while (posted > 0) {
                drop(Status.FLUSHED);
            }
        }
    }

    /** Forgets all receives without completing them. */
    synchronized void close() {
        closed = true;
        while (posted > 0) {
            remove();
        }
    }
}
