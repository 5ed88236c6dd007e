package org.rdmasockets.internal.sharedmemory;

import java.util.OptionalInt;
import org.rdmasockets.internal.lock.HandleTable;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;

/**
 * A queue pair for datagrams to queue pairs of this process. A datagram is copied from the sender's memory into the
 * receive inside the post. It is lost without notice where the target does not exist or is not ready, has another key
 * or has no receive posted. One that is longer than the receive completes that with an error.
 */
final class DatagramQueuePair extends QueueOwner {
    private final HandleTable<DatagramQueuePair> table;
    private final QueueRoom sendRoom;
    /** The datagram of a post; its monitor is held during that, and taken before that of any receive queue. */
    private final Datagram datagram;
    private final ReceiveQueue receives;
    /** Written under this monitor. */
    private volatile int queueKey;

    /** A queue pair for which room and a place in the table are reserved. */
    DatagramQueuePair(SharedMemoryProtectionDomain domain, QueuePairConfig config, HandleTable<DatagramQueuePair> table,
            int handle) {
        super(domain, config, SharedMemoryFabric.DATAGRAM_BIT | handle, QueuePairState.RESET);
        this.table = table;
        sendRoom = new QueueRoom(number);
        datagram = new Datagram(number);
        receives = new ReceiveQueue(this, receiveCompletions(), null);
    }

    /** Takes a datagram that carries a key, if this is ready for it; any thread. */
    private void take(Datagram sent, int key) {
        boolean ready = state == QueuePairState.READY_TO_RECEIVE || state == QueuePairState.READY_TO_SEND;
        if (ready && key == queueKey) {
            receives.take(sent);
        }
    }

    @Override
    public QueuePairType type() {
        return QueuePairType.UNRELIABLE_DATAGRAM;
    }

    @Override
    public int maxDatagramBytes() {
        return SharedMemoryDevice.MTU_BYTES;
    }

    @Override
    public int postSend(SendRequest request) {
        StackRoom.ensureSection(); // memory that is entered has to be left
        boolean unreported;
        synchronized (datagram) {
            QueuePairState now = state;
            int refusal = refusal(request, now);
            if (refusal != POSTED) {
                return refusal;
            }
            if (!sendRoom.take(config.maxSends())) {
                return Errno.ENOMEM.number();
            }
            int status = now == QueuePairState.ERROR ? Status.FLUSHED : deliver(request);
            boolean visible = status != Status.SUCCESS || config.signalAll() || request.isSignalled();
            unreported = visible && sendCompletions().complete(sendRoom, request.workRequestId(), status,
                    CompletionOpcode.SEND);
            if (!visible) {
                sendRoom.untake();
            }
        }
        if (unreported) {
            sendCompletions().handOver();
        }
        return POSTED;
    }

    /** Why the request is not taken at all, or {@link #POSTED}. */
    private int refusal(SendRequest request, QueuePairState now) {
        if (closed) {
            return Errno.ESHUTDOWN.number();
        }
        boolean send = request.opcode() == SendRequest.Opcode.SEND
                || request.opcode() == SendRequest.Opcode.SEND_WITH_IMMEDIATE;
        boolean leads = request.destination() instanceof SharedMemoryProtectionDomain.Handle own && !own.closed
                && own.domain() == domain;
        boolean ready = now == QueuePairState.READY_TO_SEND || now == QueuePairState.ERROR;
        int pieces = request.elements().count();
        long bytes = request.elements().totalBytes() + request.bytesLength();
        boolean fits = bytes <= maxDatagramBytes() && pieces <= config.maxSendElements()
                && !(request.isInline() && bytes > maxInlineBytes());
        boolean misplaced = request.bytes() != null && (request.isInline() || pieces > 0);
        return send && leads && ready && fits && !misplaced ? POSTED : Errno.EINVAL.number();
    }

    /** Copies the data to the target queue pair, if there is one; gives the status of the request. */
    private int deliver(SendRequest request) {
        if (!ScatterGatherCopier.enter(request, domain, false)) {
            return Status.LOCAL_PROTECTION;
        }
        try {
            datagram.fill(request);
        } finally {
            ScatterGatherCopier.leave(request);
        }
        DatagramQueuePair target = table.find(request.destinationNumber() ^ SharedMemoryFabric.DATAGRAM_BIT);
        if (target != null) {
            target.take(datagram, request.destinationKey());
        }
        return Status.SUCCESS;
    }

    @Override
    public int postReceive(ReceiveRequest request) {
        return receives.post(request, request.workRequestId(), 1);
    }

    @Override
    public int postReceives(ReceiveRequest request, long firstWorkRequestId, int count) {
        return receives.post(request, firstWorkRequestId, count);
    }

    @Override
    public QueuePairAttributes query() throws VerbsException {
        return new QueuePairAttributes().state(queryState()).set(Field.PORT, 1).set(Field.QUEUE_KEY, queueKey);
    }

    @Override
    public void modify(QueuePairAttributes attributes) throws VerbsException {
        synchronized (this) {
            requireOpen("ibv_modify_qp");
            OptionalInt key = attributes.get(Field.QUEUE_KEY);
            boolean needsKey = attributes.state() == QueuePairState.INIT;
            boolean wrongPort = attributes.get(Field.PORT).orElse(1) != 1;
            if (!follows(attributes.state()) || needsKey && key.isEmpty() || wrongPort) {
                throw SharedMemoryErrors.invalid("ibv_modify_qp",
                        "qp=" + number + ", state is " + state + ", " + attributes,
                        "from RESET to INIT with PORT 1 and QUEUE_KEY, to READY_TO_RECEIVE, to READY_TO_SEND; from any "
                        + "state to ERROR or RESET");
            }
            queueKey = key.orElse(queueKey);
            state = attributes.state() == null ? state : attributes.state();
        }
        settle(attributes.state());
    }

    /** Whether a step leads to a state, or null, from the one there is. */
    private boolean follows(QueuePairState next) {
        return switch (next) {
            case null -> state != QueuePairState.RESET;
            case ERROR, RESET -> true;
            case INIT -> state == QueuePairState.RESET || state == QueuePairState.INIT;
            case READY_TO_RECEIVE -> state == QueuePairState.INIT;
            case READY_TO_SEND -> state == QueuePairState.READY_TO_RECEIVE || state == QueuePairState.READY_TO_SEND;
            case SEND_QUEUE_DRAINED, SEND_QUEUE_ERROR, UNKNOWN -> false;
        };
    }

    /** Does what a new state means for what is posted; no lock is held. */
    private void settle(QueuePairState reached) {
        if (reached == QueuePairState.ERROR) {
            receives.flush();
        } else if (reached == QueuePairState.RESET) {
            receives.reset();
        }
    }

    @Override
    public void fail() {
        synchronized (this) {
            if (closed) {
                return;
            }
            state = QueuePairState.ERROR;
        }
        settle(QueuePairState.ERROR);
    }

    @Override
    public void close() {
        if (!beginClose()) {
            return;
        }
        table.remove(number - SharedMemoryFabric.DATAGRAM_BIT);
        synchronized (datagram) {
            receives.close(); // and no post is in progress any more
        }
        retire(null);
    }
}
