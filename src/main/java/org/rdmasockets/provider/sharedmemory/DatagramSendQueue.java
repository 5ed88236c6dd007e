package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.SendRequest;

/** The send queue of datagrams, where nothing waits. Its monitor is taken before that of any receive queue. */
final class DatagramSendQueue {
    private final DatagramQueuePair owner;
    private final SharedMemoryCompletionQueue completions;
    private final QueueRoom room;
    /** Guarded by this. */
    private final Datagram datagram;
    private boolean closed;

    /** An empty queue. */
    DatagramSendQueue(DatagramQueuePair owner) {
        this.owner = owner;
        completions = (SharedMemoryCompletionQueue) owner.config().sendQueue();
        room = new QueueRoom(owner.number());
        datagram = new Datagram(owner.number());
    }

    /** Posts a request, and delivers it: {@link QueuePair#POSTED} or an error number. */
    int post(SendRequest request, QueuePairState state) {
        boolean unreported;
        synchronized (this) {
            int refusal = refusal(request, state);
            if (refusal != QueuePair.POSTED) {
                return refusal;
            }
            if (!room.take(owner.config().maxSends())) {
                return Errno.ENOMEM.number();
            }
            int status = state == QueuePairState.ERROR ? Status.FLUSHED : deliver(request);
            boolean visible = status != Status.SUCCESS || owner.config().signalAll() || request.isSignalled();
            unreported = visible && completions.complete(room, request.workRequestId(), status, CompletionOpcode.SEND);
            if (!visible) {
                room.untake();
            }
        }
        if (unreported) {
            completions.handOver();
        }
        return QueuePair.POSTED;
    }

    /** Why the request is not taken at all, or {@link QueuePair#POSTED}. */
    private int refusal(SendRequest request, QueuePairState state) {
        if (closed) {
            return Errno.ESHUTDOWN.number();
        }
        boolean send = request.opcode() == SendRequest.Opcode.SEND
                || request.opcode() == SendRequest.Opcode.SEND_WITH_IMMEDIATE;
        boolean leads = request.destination() instanceof SharedMemoryAddressHandle own && !own.isClosed()
                && own.domain() == owner.domain();
        boolean ready = state == QueuePairState.READY_TO_SEND || state == QueuePairState.ERROR;
        long bytes = request.elements().totalBytes() + request.bytesLength();
        boolean fits = bytes <= owner.maxDatagramBytes() && request.elements().count() <= owner.config()
                .maxSendElements() && !(request.isInline() && bytes > owner.maxInlineBytes());
        boolean misplaced = request.bytes() != null && (request.isInline() || request.elements().count() > 0);
        return send && leads && ready && fits && !misplaced ? QueuePair.POSTED : Errno.EINVAL.number();
    }

    /** Copies the data to whom it is for, if there is anybody; how the request ends. */
    private int deliver(SendRequest request) {
        if (!Gather.enter(request, owner.domain(), false)) {
            return Status.LOCAL_PROTECTION;
        }
        try {
            datagram.fill(request);
        } finally {
            Gather.leave(request);
        }
        DatagramQueuePair target = owner.device().fabric.datagrams.find(request.destinationNumber());
        if (target != null) {
            target.take(datagram, request.destinationKey());
        }
        return Status.SUCCESS;
    }

    /** Takes nothing more. */
    synchronized void close() {
        closed = true;
    }
}
