package org.rdmasockets.provider.sharedmemory;

import java.util.OptionalInt;
import org.rdmasockets.provider.sharedmemory.link.HandleTable;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
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
 * receive inside the post. It is lost, and nobody is told, where the target does not exist or is not ready, has another
 * key or has no receive posted. One that is longer than the receive completes that with an error.
 */
final class DatagramQueuePair implements QueuePair, QueueOwner {
    private final SharedMemoryProtectionDomain domain;
    private final SharedMemoryDevice device;
    private final QueuePairConfig config;
    private final HandleTable<DatagramQueuePair> table;
    private final int number;
    private final DatagramSendQueue sends;
    private final ReceiveQueue receives;
    /** Written under this monitor, as are the next two. */
    private volatile QueuePairState state = QueuePairState.RESET;
    private volatile int queueKey;
    private volatile boolean closed;

    /** A queue pair for which room and a place in the table are reserved. */
    DatagramQueuePair(SharedMemoryProtectionDomain domain, QueuePairConfig config, HandleTable<DatagramQueuePair> table,
            int handle) {
        this.domain = domain;
        this.device = domain.device();
        this.config = config;
        this.table = table;
        number = SharedMemoryFabric.DATAGRAM_BIT | handle;
        sends = new DatagramSendQueue(this);
        receives = new ReceiveQueue(this, (SharedMemoryCompletionQueue) config.receiveQueue(), null);
    }

    /** Takes a datagram that carries a key, if this is ready for it; any thread. */
    void take(Datagram datagram, int key) {
        boolean ready = state == QueuePairState.READY_TO_RECEIVE || state == QueuePairState.READY_TO_SEND;
        if (ready && key == queueKey) {
            receives.take(datagram);
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
    public int number() {
        return number;
    }

    @Override
    public SharedMemoryDevice device() {
        return device;
    }

    @Override
    public SharedMemoryProtectionDomain domain() {
        return domain;
    }

    @Override
    public QueuePairConfig config() {
        return config;
    }

    @Override
    public void receivesArrived() {
        // Nobody waits for receives: what found none is lost.
    }

    @Override
    public int maxInlineBytes() {
        return Math.min(config.maxInlineBytes(), SharedMemoryDevice.MAX_INLINE_BYTES);
    }

    @Override
    public int postSend(SendRequest request) {
        return sends.post(request, state);
    }

    @Override
    public int postReceive(ReceiveRequest request) {
        return receives.post(request);
    }

    @Override
    public int postReceives(ReceiveRequest request, long firstWorkRequestId, int count) {
        return receives.post(request, firstWorkRequestId, count);
    }

    @Override
    public QueuePairState state() {
        return state;
    }

    @Override
    public QueuePairState queryState() throws VerbsException {
        if (closed) {
            throw Refusals.closed("ibv_query_qp", "queue pair");
        }
        return state;
    }

    @Override
    public QueuePairAttributes query() throws VerbsException {
        return new QueuePairAttributes().state(queryState()).set(Field.PORT, 1).set(Field.QUEUE_KEY, queueKey);
    }

    @Override
    public void modify(QueuePairAttributes attributes) throws VerbsException {
        synchronized (this) {
            if (closed) {
                throw Refusals.closed("ibv_modify_qp", "queue pair");
            }
            OptionalInt key = attributes.get(Field.QUEUE_KEY);
            boolean needsKey = attributes.state() == QueuePairState.INIT;
            boolean wrongPort = attributes.get(Field.PORT).orElse(1) != 1;
            if (!follows(attributes.state()) || needsKey && key.isEmpty() || wrongPort) {
                throw Refusals.invalid("ibv_modify_qp", "qp=" + number + ", state is " + state + ", " + attributes,
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
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            state = QueuePairState.ERROR;
        }
        table.remove(number - SharedMemoryFabric.DATAGRAM_BIT);
        sends.close();
        receives.close();
        ((SharedMemoryCompletionQueue) config.sendQueue()).retire(config.maxSends());
        ((SharedMemoryCompletionQueue) config.receiveQueue()).retire(config.maxReceives());
    }

    /** The send queue of datagrams, where nothing waits. Its monitor is taken before that of any receive queue. */
    private static final class DatagramSendQueue {
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
                unreported = visible
                        && completions.complete(room, request.workRequestId(), status, CompletionOpcode.SEND);
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
            DatagramQueuePair target = owner.table
                    .find(request.destinationNumber() ^ SharedMemoryFabric.DATAGRAM_BIT);
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
}
