package org.rdmasockets.internal.sharedmemory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.sharedmemory.link.ReachableMemory;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.ScatterGatherList;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.spi.SendHints;

/**
 * The send queue of a queue pair. The memory part of a request, here or at the peer, is done inside the post, in the
 * caller's thread. Then the peer is told, if it must know, and the request completes. A request of which the peer
 * cannot be told yet waits behind earlier ones, with its bytes copied: so memory may be reused once a post returns.
 *
 * <p>If the peer refuses a request, this end first takes in what the peer told before, and only then fails the request:
 * the peer's disconnect may still lie unread in the ring.
 *
 * <p>The peer may see the bytes of a write before it is told of an earlier send. That is allowed: over a device, too, a
 * send may be retried while the bytes of a later write arrive. The peer may rely only on what it was told.
 *
 * <p>The monitor is taken before that of any receive queue or completion queue. Nothing called under it takes the lock
 * of another send queue: {@link #settle} does what a failure means for the peer, without the monitor.
 */
final class SendQueue implements Deadlines.Expiring {
    private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int RETRY_FOR_EVER = 7;
    /** Most bytes that are copied with the ring locked: bytes and entry then go to the peer together. */
    private static final int FEW_BYTES = 4 << 10;

    private final SharedMemoryQueuePair owner;
    private final SharedMemoryCompletionQueue completions;
    private final QueueRoom room;
    private final PendingSend current = new PendingSend();
    /** A ring of waiting requests, from {@link #head}; made when first needed, as its elements; guarded by this. */
    private PendingSend[] waiting;
    private int head;
    private int waits;
    /** Whether a waiting request failed, so that later ones must not touch memory; guarded by this. */
    private boolean broken;
    /** Null until connected; guarded by this. */
    private Peer peer;
    /** Guarded by this. */
    private boolean flushing;
    private boolean closed;
    /** The peer's memory that the request in hand uses, or null; guarded by this. */
    private ReachableMemory reached;
    /** How often the peer may be found without a receive, 7 for ever; guarded by this. */
    private byte notReadyRetries = RETRY_FOR_EVER;
    /** When the oldest waiting request fails for lack of a receive, by nanoTime; guarded by this. */
    private long deadline = Deadlines.NEVER;
    /** Whether {@link #settle} has to fail the receive queue; guarded by this. */
    private boolean failed;
    /** Whether {@link #settle} has to fail the peer; guarded by this. */
    private boolean peerAtFault;
    /** Whether the peer refused the request that was just posted, so that {@link #post} catches up; guarded by this. */
    private boolean behind;
    /** Whether a completion of this queue has to be reported; guarded by this. */
    private boolean unreported;
    /** How many bytes of writes may still travel inside their entries; 0 once a write did not; guarded by this. */
    private short inlineBytes;

    SendQueue(SharedMemoryQueuePair owner, SharedMemoryCompletionQueue completions) {
        this.owner = owner;
        this.completions = completions;
        room = new QueueRoom(owner.number);
    }

    /** Connects to a peer that may be found without a receive 0 to 6 times, or for ever with 7. */
    synchronized void connect(Peer newPeer, int retries) {
        peer = newPeer;
        notReadyRetries = (byte) retries;
        inlineBytes = (short) newPeer.mostInlineBytes();
    }

    /** The other end; null until connected. */
    synchronized Peer peer() {
        return peer;
    }

    /** How often the peer may be found without a receive, 7 for ever. */
    synchronized int notReadyRetries() {
        return notReadyRetries;
    }

    /** Posts a request: {@link QueuePair#POSTED}, {@link SendHints#JOINED} or an error number. */
    int post(SendRequest request) {
        StackRoom.ensureSection(); // memory that is entered has to be left
        int result;
        boolean unsettled;
        boolean ours;
        SharedMemoryCompletionQueue theirs;
        Peer ahead;
        synchronized (this) {
            result = postLocked(request);
            unsettled = failed || peerAtFault;
            ahead = behind ? peer : null;
            behind = false;
            theirs = current.unreported;
            current.unreported = null;
            ours = unreported;
            unreported = false;
        }
        if (theirs != null) {
            theirs.handOver();
        }
        if (ours) {
            completions.handOver();
        }
        if (unsettled) {
            settle();
        }
        if (ahead != null) {
            ahead.catchUp();
            resume();
        }
        return result;
    }

    private int postLocked(SendRequest request) {
        SendRequest.Opcode opcode = request.opcode();
        byte[] payload = request.bytes();
        boolean array = payload != null;
        long bytes = array ? request.bytesLength() : request.elements().totalBytes();
        int refusal = refusal(request, opcode, array, bytes);
        if (refusal != QueuePair.POSTED) {
            return refusal;
        }
        QueuePairConfig config = owner.config;
        boolean entered = array || ScatterGatherCopier.enter(request, owner.domain, changesHere(opcode));
        if (!entered && request.isInline()) {
            return Errno.EINVAL.number();
        }
        try {
            if (!room.take(config.maxSends())) {
                return Errno.ENOMEM.number();
            }
            int status = entered ? move(request, opcode, payload, bytes) : Status.LOCAL_PROTECTION;
            behind = status == Status.REMOTE_ACCESS || status == Status.RETRY_EXCEEDED;
            current.fill(request, opcode, bytes, flushing || broken ? Status.FLUSHED : status,
                    config.signalAll() || request.isSignalled());
            finishOrWait();
        } finally {
            leaveAll(entered && !array ? request : null);
        }
        return current.joined ? SendHints.JOINED : QueuePair.POSTED;
    }

    /** Ends what the post has begun; the request is null if its pieces are not entered. */
    private void leaveAll(SendRequest entered) {
        if (reached != null) {
            peer.leave(reached);
            reached = null;
        }
        if (entered != null) {
            ScatterGatherCopier.leave(entered);
        }
        current.release();
    }

    /** Whether the request writes to local memory. */
    private static boolean changesHere(SendRequest.Opcode opcode) {
        return opcode == SendRequest.Opcode.READ || opcode == SendRequest.Opcode.COMPARE_AND_SWAP
                || opcode == SendRequest.Opcode.FETCH_AND_ADD;
    }

    /** Why the request is not taken at all, or {@link QueuePair#POSTED}. */
    private int refusal(SendRequest request, SendRequest.Opcode opcode, boolean array, long bytes) {
        if (closed) {
            return Errno.ESHUTDOWN.number();
        }
        if (opcode == SendRequest.Opcode.BIND_WINDOW || opcode == SendRequest.Opcode.INVALIDATE) {
            return Errno.EOPNOTSUPP.number();
        }
        ScatterGatherList elements = request.elements();
        boolean inline = request.isInline();
        boolean fits = array
                ? bytes <= SharedMemoryDevice.MAX_MESSAGE_BYTES && !inline && elements.count() == 0
                        && !changesHere(opcode)
                : elements.count() <= owner.config.maxSendElements() && bytes <= (inline
                        ? owner.maxInlineBytes() : SharedMemoryDevice.MAX_MESSAGE_BYTES);
        return fits && request.destination() == null && (peer != null || flushing) ? QueuePair.POSTED
                : Errno.EINVAL.number();
    }

    /** Does the memory part of a request. */
    private int move(SendRequest request, SendRequest.Opcode opcode, byte[] payload, long bytes) {
        if (flushing || broken) {
            return Status.FLUSHED;
        }
        if (!peer.isAlive()) {
            return Status.RETRY_EXCEEDED;
        }
        if (opcode == SendRequest.Opcode.WRITE_WITH_IMMEDIATE || opcode == SendRequest.Opcode.WRITE) {
            return write(request, payload, bytes, opcode == SendRequest.Opcode.WRITE_WITH_IMMEDIATE);
        }
        if (opcode == SendRequest.Opcode.READ) {
            return read(request, bytes);
        }
        return changesHere(opcode) ? atomic(request, bytes) : Status.SUCCESS; // else a send, or refused before
    }

    /** Copies the array, or the request's pieces if it is null, to the peer; {@code tells} if the peer is told next. */
    private int write(SendRequest request, byte[] array, long length, boolean tells) {
        if (length == 0) {
            peer.leaveAll();
            return Status.SUCCESS;
        }
        long address = request.remoteAddress();
        reached = peer.memory(request.remoteKey(), address, length, AccessFlag.REMOTE_WRITE);
        if (reached == null) {
            return refused();
        }
        if (length <= inlineBytes && array != null && tells && waits == 0
                && (request.hints() & SendHints.RELAXED) != 0) {
            inlineBytes -= (short) length;
            current.inlineTarget = reached;
            return Status.SUCCESS;
        }
        inlineBytes = 0;
        if (length <= FEW_BYTES && waits == 0 && tells) {
            peer.beginWrite();
        }
        if (array != null) {
            reached.put(address, array, request.bytesOffset(), (int) length);
        } else {
            ScatterGatherCopier.copyTo(request, 0, reached.segment(), address - reached.address(), length);
        }
        return Status.SUCCESS;
    }

    private int read(SendRequest request, long length) {
        if (length == 0) {
            return Status.SUCCESS;
        }
        long address = request.remoteAddress();
        reached = peer.memory(request.remoteKey(), address, length, AccessFlag.REMOTE_READ);
        if (reached == null) {
            return refused();
        }
        ScatterGatherCopier.copyFrom(request, reached.segment(), address - reached.address());
        return Status.SUCCESS;
    }

    /** A compare-and-swap or fetch-and-add; what was there before goes to the caller's 8 bytes. */
    private int atomic(SendRequest request, long bytes) {
        long address = request.remoteAddress();
        boolean whole = bytes == Long.BYTES;
        if (!whole || (address & Long.BYTES - 1) != 0) {
            return !whole ? Status.LOCAL_LENGTH : Status.REMOTE_INVALID_REQUEST;
        }
        ReachableMemory remote = peer.memory(request.remoteKey(), address, Long.BYTES, AccessFlag.REMOTE_ATOMIC);
        if (remote == null) {
            return refused();
        }
        try {
            ByteBuffer memory = remote.segment().asSlice(address - remote.address(), Long.BYTES).asByteBuffer();
            long before = request.opcode() == SendRequest.Opcode.COMPARE_AND_SWAP
                    ? (long) LONG.compareAndExchange(memory, 0, request.compareOrAdd(), request.swap())
                    : (long) LONG.getAndAdd(memory, 0, request.compareOrAdd());
            ScatterGatherCopier.setLong(request, before);
            return Status.SUCCESS;
        } finally {
            peer.leave(remote);
        }
    }

    /** The status of refused memory: if the peer has just died, that is not the request's fault. */
    private int refused() {
        return peer.isAlive() ? Status.REMOTE_ACCESS : Status.RETRY_EXCEEDED;
    }

    private void finishOrWait() {
        if (waits == 0 && !behind && tell(current)) {
            complete(current);
            return;
        }
        if (current.inlineTarget != null) {
            current.write(); // its bytes do not wait
        }
        if (waiting == null) {
            waiting = new PendingSend[owner.config.maxSends()];
        }
        int index = (head + waits) % waiting.length;
        if (waiting[index] == null) {
            waiting[index] = new PendingSend();
        }
        current.keep();
        waiting[index].takeOver(current);
        broken |= current.status != Status.SUCCESS;
        waits++;
    }

    /** Tells the peer of a request if need be; false if it has to wait. */
    private boolean tell(PendingSend notice) {
        if (notice.status != Status.SUCCESS || !notice.send && !notice.hasImmediate) {
            return true;
        }
        int told = peer.tell(notice, Math.max(1, waits));
        if (told == Status.NOT_READY && notReadyRetries < RETRY_FOR_EVER && isTooLate()) {
            told = Status.RECEIVER_NOT_READY_RETRY_EXCEEDED;
        }
        if (told == Status.NOT_READY || told == Status.NO_ROOM) {
            return false;
        }
        if (deadline != Deadlines.NEVER) {
            deadline = Deadlines.NEVER;
            owner.domain.device().fabric.deadlines.remove(this);
        }
        notice.status = told;
        return true;
    }

    /** Whether the peer has had no receive for all retries; begins to count at the first call. */
    private boolean isTooLate() {
        if (deadline == Deadlines.NEVER) {
            deadline = System.nanoTime() + notReadyRetries * peer.receiverNotReadyNanos();
            owner.domain.device().fabric.deadlines.add(this, deadline);
        }
        return System.nanoTime() - deadline >= 0;
    }

    private void complete(PendingSend notice) {
        int status = notice.status;
        if (status == Status.SUCCESS && !notice.signalled) {
            room.untake();
        } else {
            unreported |= completions.complete(room, notice.id, status, notice.completionOpcode());
        }
        if (status != Status.SUCCESS && !flushing) {
            failed = true;
            peerAtFault = Status.breaksPeer(status);
            flushLocked();
        }
    }

    /** Resumes waiting requests: the peer may have receives or room again, or the wait may be over. Without locks. */
    void resume() {
        boolean unsettled;
        synchronized (this) {
            while (waits > 0 && tellFirst()) {
                complete(removeFirst());
            }
            report();
            unsettled = failed || peerAtFault;
        }
        if (unsettled) {
            settle();
        }
    }

    /** Tells the peer of the first waiting request, and reports what that has completed there. */
    private boolean tellFirst() {
        boolean told = tell(waiting[head]);
        SharedMemoryCompletionQueue theirs = waiting[head].takeUnreported();
        if (theirs != null) {
            theirs.report();
        }
        return told;
    }

    private PendingSend removeFirst() {
        PendingSend first = waiting[head];
        head = head + 1 == waiting.length ? 0 : head + 1;
        waits--;
        return first;
    }

    @Override
    public void lookAtDeadline() {
        long end = deadline();
        if (end != Deadlines.NEVER && System.nanoTime() - end >= 0) { // before, only news of the peer lets it go on
            resume();
        }
    }

    @Override
    public synchronized long deadline() {
        return deadline;
    }

    /** Does what a failure means for others; without the lock. */
    private void settle() {
        boolean own;
        Peer other;
        synchronized (this) {
            own = failed;
            other = peerAtFault ? peer : null;
            failed = false;
            peerAtFault = false;
        }
        if (own) {
            owner.fail();
        }
        if (other != null) {
            other.fail();
        }
    }

    /** Completes waiting and later requests as flushed. */
    synchronized void flush() {
        if (!closed && !flushing) {
            flushLocked();
            report();
        }
    }

    /** Tells the channel of completions. Unlike in {@link #post}, this thread takes no event: it may hold locks. */
    private void report() {
        if (unreported) {
            unreported = false;
            completions.report();
        }
    }

    private void flushLocked() {
        flushing = true;
        if (peer != null) {
            peer.leaveAll();
        }
        deadline = Deadlines.NEVER;
        while (waits > 0) {
            PendingSend notice = removeFirst();
            unreported |= completions.complete(room, notice.id, Status.FLUSHED, notice.completionOpcode());
        }
    }

    /** Forgets everything that waits without completing it. */
    synchronized void close() {
        closed = true;
        if (peer != null) {
            peer.leaveAll();
        }
        waits = 0;
        deadline = Deadlines.NEVER;
    }
}
