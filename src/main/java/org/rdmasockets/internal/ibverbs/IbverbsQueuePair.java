package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_attr;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_init_attr;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.ScatterGatherList;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;

/** A queue pair over {@code ibv_qp}. The monitor is held during a post, so that posts are executed one by one. */
final class IbverbsQueuePair extends NativeHandle implements QueuePair {
    private static final int ESHUTDOWN = Errno.ESHUTDOWN.number();
    private static final int EINVAL = Errno.EINVAL.number();
    private static final int EOPNOTSUPP = Errno.EOPNOTSUPP.number();

    private final IbverbsDevice device;
    private final QueuePairParents parents;
    /** The connection it belongs to, or null. */
    private final RdmacmIdentifier identifier;
    private final MemorySegment queuePair;
    private final int number;
    private final int maxInlineBytes;
    /** Guarded by this. */
    private final WorkRequestBlock requests;
    /** The port of the last modify that set one: a later path leaves by it. */
    private volatile int port = 1;
    /** The bytes that the port carries in one packet, once it is set and if this is for datagrams. */
    private volatile int maxDatagramBytes;
    /** The state that it was last moved to, or seen in. */
    private volatile QueuePairState state;

    /** A queue pair that exists, of a connection or of none: null. */
    IbverbsQueuePair(QueuePairParents parents, RdmacmIdentifier identifier, MemorySegment queuePair,
            int maxInlineBytes) {
        super("queue pair");
        this.device = parents.domain.device();
        this.parents = parents;
        this.identifier = identifier;
        this.queuePair = queuePair;
        this.maxInlineBytes = maxInlineBytes;
        number = ibv_qp.qp_num(queuePair);
        state = identifier == null ? QueuePairState.RESET : QueuePairState.INIT; // rdma_create_qp does a step more
        requests = new WorkRequestBlock(parents.config.maxSendElements(), parents.receiveElements());
    }

    @Override
    public int number() {
        return number;
    }

    @Override
    public QueuePairType type() {
        return parents.type;
    }

    @Override
    public int maxDatagramBytes() {
        return maxDatagramBytes;
    }

    @Override
    public QueuePairConfig config() {
        return parents.config;
    }

    @Override
    public int maxInlineBytes() {
        return maxInlineBytes;
    }

    @Override
    public int postSend(SendRequest request) {
        synchronized (this) {
            if (isClosedLocked()) {
                return ESHUTDOWN;
            }
            int refusal = refusal(request);
            if (refusal != POSTED) {
                return refusal;
            }
            if (request.binding() != null) {
                return postBind(request);
            }
            return request.destination() == null ? postSendLocked(request) : postDatagram(request);
        }
    }

    private int postSendLocked(SendRequest request) {
        requests.fill(request);
        return request.isInline() ? postInline(request.elements()) : requests.postSend(device.postSend, queuePair);
    }

    /** The library reads window and region during the post: they are held meanwhile. */
    private int postBind(SendRequest request) {
        if (!(request.binding().window() instanceof IbverbsMemoryWindow window) || window.domain() != parents.domain
                || !(request.binding().region() instanceof IbverbsMemoryRegion region)
                || region.domain != parents.domain || !region.tryEnter()) {
            return EINVAL;
        }
        try {
            synchronized (window) {
                if (window.isClosedLocked()) {
                    return EINVAL;
                }
                requests.fill(request, window, region);
                int result = requests.postSend(device.postSend, queuePair);
                if (result == POSTED) {
                    window.bound();
                }
                return result;
            }
        } finally {
            region.leave();
        }
    }

    /** The library reads the address handle during the post: it is held meanwhile. */
    private int postDatagram(SendRequest request) {
        IbverbsAddressHandle destination = (IbverbsAddressHandle) request.destination();
        if (!destination.tryEnter()) {
            return EINVAL;
        }
        try {
            return postSendLocked(request);
        } finally {
            destination.leave();
        }
    }

    /** Why the device must not even see the request, or {@link #POSTED}. */
    private int refusal(SendRequest request) {
        boolean able = switch (request.opcode()) {
            case SEND_WITH_IMMEDIATE, WRITE_WITH_IMMEDIATE -> device.supports(Capability.IMMEDIATE_DATA);
            case COMPARE_AND_SWAP, FETCH_AND_ADD -> device.supports(Capability.ATOMICS);
            case BIND_WINDOW, INVALIDATE -> device.supports(Capability.MEMORY_WINDOWS);
            case SEND, WRITE, READ -> true;
        };
        if (!able || request.bytes() != null) {
            return EOPNOTSUPP;
        }
        if (request.destination() != null || isDatagram()) {
            return datagramRefusal(request);
        }
        boolean tooLong = request.isInline() && request.elements().totalBytes() > maxInlineBytes;
        return tooLong || !requests.fits(request) ? EINVAL : POSTED;
    }

    private boolean isDatagram() {
        return parents.type == QueuePairType.UNRELIABLE_DATAGRAM;
    }

    /** Why the device must not even see a datagram, or what is none where only datagrams go: it drops it silently. */
    private int datagramRefusal(SendRequest request) {
        boolean send = request.opcode() == SendRequest.Opcode.SEND
                || request.opcode() == SendRequest.Opcode.SEND_WITH_IMMEDIATE;
        boolean leads = request.destination() instanceof IbverbsAddressHandle own && own.domain() == parents.domain;
        long bytes = request.elements().totalBytes();
        boolean tooLong = bytes > maxDatagramBytes || request.isInline() && bytes > maxInlineBytes;
        return isDatagram() && send && leads && !tooLong && requests.fits(request) ? POSTED : EINVAL;
    }

    /** The processor copies inline data during the post, without asking for a key: the regions are held meanwhile. */
    private int postInline(ScatterGatherList elements) {
        int held = 0;
        try {
            while (held < elements.count()) {
                if (!(elements.region(held) instanceof IbverbsMemoryRegion region) || !region.isInProcess()
                        || !region.tryEnter()) {
                    return EINVAL;
                }
                held++;
            }
            return requests.postSend(device.postSend, queuePair);
        } finally {
            while (held > 0) {
                held--;
                ((IbverbsMemoryRegion) elements.region(held)).leave();
            }
        }
    }

    @Override
    public int postReceive(ReceiveRequest request) {
        return postReceives(request, request.workRequestId(), 1);
    }

    @Override
    public int postReceives(ReceiveRequest request, long firstWorkRequestId, int count) {
        synchronized (this) {
            if (isClosedLocked()) {
                return ESHUTDOWN;
            }
            if (parents.sharedReceives != null || !requests.fits(request)) {
                return EINVAL;
            }
            int result = POSTED;
            for (int posted = 0; posted < count && result == POSTED;) {
                posted += requests.fill(request, firstWorkRequestId + posted, count - posted);
                result = requests.postReceives(device.postReceive, queuePair);
            }
            return result;
        }
    }

    @Override
    public QueuePairState state() {
        return state;
    }

    /** Notes a state that the connection manager has moved this to. */
    void moved(QueuePairState newState) {
        state = newState;
    }

    @Override
    public QueuePairState queryState() throws VerbsException {
        if (!device.supports(Capability.QUERY_STATE)) {
            enter(ControlCall.IBV_QUERY_QP).close();
            return QueuePairState.UNKNOWN;
        }
        return query(rdma_h.IBV_QP_STATE()).state();
    }

    @Override
    public QueuePairAttributes query() throws VerbsException {
        device.require(Capability.QUERY_STATE, ControlCall.IBV_QUERY_QP, "qp=" + number,
                "this device does not tell the attributes of a queue pair");
        return query(QueuePairAttributeCodec.allFields());
    }

    private QueuePairAttributes query(int mask) throws VerbsException {
        try (Entry entry = enter(ControlCall.IBV_QUERY_QP)) {
            MemorySegment attr = ibv_qp_attr.allocate(entry.arena);
            ControlCall.IBV_QUERY_QP.check("qp=" + number, queuePair, attr, mask,
                    ibv_qp_init_attr.allocate(entry.arena));
            QueuePairAttributes read = QueuePairAttributeCodec.read(attr);
            state = read.state();
            return read;
        }
    }

    @Override
    public void modify(QueuePairAttributes attributes) throws VerbsException {
        try (Entry entry = enter(ControlCall.IBV_MODIFY_QP)) {
            MemorySegment attr = ibv_qp_attr.allocate(entry.arena);
            int newPort = attributes.get(QueuePairAttributes.Field.PORT).orElse(port);
            int carried = isDatagram() ? device.port(newPort).activeMtuBytes() : 0;
            int mask = QueuePairAttributeCodec.fill(attr, attributes, newPort);
            int error = ControlCall.IBV_MODIFY_QP.error(queuePair, attr, mask);
            if (error != 0) {
                throw ControlCall.IBV_MODIFY_QP.failure(error, "qp=" + number + ", " + attributes);
            }
            port = newPort;
            maxDatagramBytes = carried;
            state = attributes.state() == null ? state : attributes.state();
        }
    }

    @Override
    public void fail() throws VerbsException {
        if (!tryEnter()) {
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_qp_attr.allocate(arena);
            ibv_qp_attr.qp_state(attr, rdma_h.IBV_QPS_ERR());
            ControlCall.IBV_MODIFY_QP.check("qp=" + number + ", state=ERROR", queuePair, attr, rdma_h.IBV_QP_STATE());
            state = QueuePairState.ERROR;
        } finally {
            leave();
        }
    }

    @Override
    void destroy() {
        if (identifier != null) {
            identifier.detachQueuePair();
        }
        boolean destroyed = ControlCall.IBV_DESTROY_QP.destroy(queuePair);
        requests.free();
        if (destroyed) {
            parents.release(true);
        }
        if (identifier != null) {
            identifier.release();
        }
    }
}
