package org.rdmasockets.internal.sharedmemory;

import java.time.Duration;
import java.util.OptionalInt;
import org.rdmasockets.internal.sharedmemory.link.LinkSlot;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;

/**
 * A queue pair: a send queue, a receive queue and a state. The queue's lock decides what is posted to it.
 */
final class SharedMemoryQueuePair extends QueueOwner {
    final SendQueue sendQueue;
    final ReceiveQueue receiveQueue;

    private SharedMemoryQueuePair(SharedMemoryProtectionDomain domain, QueuePairConfig config,
            SharedMemorySharedReceiveQueue shared) {
        super(domain, config, domain.device().fabric.nextQueuePairNumber(), QueuePairState.INIT);
        sendQueue = new SendQueue(this, sendCompletions());
        receiveQueue = new ReceiveQueue(this, receiveCompletions(), shared);
    }

    /**
     * Makes a queue pair that takes receives, from {@code shared} if they are not its own, else null. Throws if
     * something is closed, a size is too large or a completion queue has no room.
     */
    static SharedMemoryQueuePair create(SharedMemoryProtectionDomain domain, QueuePairConfig config,
            SharedMemorySharedReceiveQueue shared) throws VerbsException {
        reserve("rdma_create_qp", domain, config, shared);
        try {
            return new SharedMemoryQueuePair(domain, config, shared);
        } catch (Throwable e) {
            unreserve(config, shared);
            throw e;
        }
    }

    /** Whether requests of the peer are served. */
    boolean isReady() {
        return state == QueuePairState.READY_TO_SEND;
    }

    /**
     * Connects to a peer that may be found without a receive 0 to 6 times, or for ever with 7; posts are executed from
     * now on. Nothing happens if this was failed or closed meanwhile.
     */
    synchronized void connect(Peer peer, int notReadyRetries) {
        if (!closed && state == QueuePairState.INIT) {
            sendQueue.connect(peer, notReadyRetries);
            state = QueuePairState.READY_TO_SEND;
        }
    }

    /** Closes the slot of a connection that is over, which neither queue uses any more then. */
    void releaseSlot(LinkSlot slot) {
        synchronized (sendQueue) {
            receiveQueue.releaseSlot(slot);
        }
    }

    @Override
    public int postSend(SendRequest request) {
        return sendQueue.post(request);
    }

    @Override
    public int postReceive(ReceiveRequest request) {
        int result = receiveQueue.post(request, request.workRequestId(), 1);
        if (result == POSTED) {
            feedPeer();
        }
        return result;
    }

    @Override
    public int postReceives(ReceiveRequest request, long firstWorkRequestId, int count) {
        int result = receiveQueue.post(request, firstWorkRequestId, count);
        feedPeer();
        return result;
    }

    @Override
    void receivesArrived() {
        receiveQueue.claim();
        feedPeer();
    }

    /** Gives the receives that the peer wanted to others: it sends nothing more. Without any lock. */
    void peerLeft() {
        SharedMemorySharedReceiveQueue shared = receiveQueue.shared;
        if (shared != null) {
            receiveQueue.forgetWanted();
            shared.feed();
        }
    }

    /** Lets a peer go on that found no receive, without any lock. */
    private void feedPeer() {
        if (receiveQueue.takeStarving()) {
            Peer peer = sendQueue.peer();
            if (peer != null) {
                peer.receivesPosted();
            }
        }
    }

    @Override
    public QueuePairAttributes query() throws VerbsException {
        return new QueuePairAttributes().state(queryState()).set(Field.PORT, 1)
                .receiverNotReadyTimer(Duration.ofNanos(receiveQueue.notReadyNanos()))
                .set(Field.RECEIVER_NOT_READY_RETRY_COUNT, Math.clamp(sendQueue.notReadyRetries(), 0,
                        QueuePairAttributes.RETRY_FOR_EVER));
    }

    private static int fields(QueuePairAttributes attributes) {
        int fields = 0;
        for (Field field : Field.values()) {
            fields += attributes.get(field).isPresent() ? 1 : 0;
        }
        return fields;
    }

    @Override
    public void modify(QueuePairAttributes attributes) throws VerbsException {
        requireOpen("ibv_modify_qp");
        OptionalInt timer = attributes.get(Field.RECEIVER_NOT_READY_TIMER);
        boolean onlyTimer = timer.isPresent() && attributes.path() == null && attributes.access() == null
                && fields(attributes) == 1;
        if (attributes.state() == QueuePairState.ERROR) {
            fail();
        } else if (attributes.state() == null && onlyTimer && timer.getAsInt() >= 0 && timer.getAsInt() < 32) {
            receiveQueue.notReadyTimer(timer.getAsInt());
        } else {
            throw SharedMemoryErrors.invalid("ibv_modify_qp", "qp=" + number + ", " + attributes,
                    "this device changes RECEIVER_NOT_READY_TIMER (0 to 31), or the state to ERROR");
        }
    }

    @Override
    public void fail() {
        synchronized (this) {
            if (closed || state == QueuePairState.ERROR) {
                return;
            }
            state = QueuePairState.ERROR;
        }
        sendQueue.flush();
        receiveQueue.flush();
        leavePeer();
    }

    /** Lets the peer see that nothing is taken any more, without any lock. */
    private void leavePeer() {
        feedPeer();
        SharedMemorySharedReceiveQueue shared = receiveQueue.shared;
        if (shared != null) {
            shared.feed();
        }
        Peer peer = sendQueue.peer();
        if (peer != null) {
            peer.ownFailed();
        }
    }

    @Override
    public void close() {
        if (!beginClose()) {
            return;
        }
        try {
            sendQueue.close();
            receiveQueue.close();
            leavePeer();
        } finally {
            retire(receiveQueue.shared);
        }
    }
}
