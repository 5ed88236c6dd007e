package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.ibverbs.generated.rdma_addr;
import org.rdmasockets.internal.ibverbs.generated.rdma_cm_id;
import org.rdmasockets.internal.ibverbs.generated.rdma_conn_param;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.internal.ibverbs.generated.rdma_route;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;

/** An identifier over {@code rdma_cm_id}. */
final class RdmacmIdentifier extends NativeHandle implements ConnectionIdentifier {
    private static final Log LOG = new Log(RdmacmIdentifier.class);
    private static final LimitedLog LIMITED = new LimitedLog(LOG);
    /** {@code private_data_len} is one byte. Transports allow less, and the kernel refuses what they do not. */
    private static final int MAX_PRIVATE_DATA_BYTES = 255;
    private static final InetSocketAddress UNBOUND = new InetSocketAddress(0);

    private final RdmacmConnectionManager manager;
    final long number;
    /** The {@code rdma_cm_id}, for callers that have entered this. */
    final MemorySegment pointer;
    /** Gets the events, null until one is set; guarded by this. */
    private ConnectionHandler handler;
    /** The thread in the handler, or null; guarded by this. */
    private Thread dispatcher;
    /** Requests of this listener that no handler has got; guarded by this; null until there is one. */
    private List<RdmacmIdentifier> requests;
    /** The queue pair, or null; guarded by this. */
    private IbverbsQueuePair queuePair;
    /** Whether a queue pair is being made; guarded by this. */
    private boolean creatingQueuePair;
    /** Set once it is known. */
    private volatile IbverbsDevice device;
    /** The addresses at the time of close; guarded by this. */
    private InetSocketAddress lastLocal;
    private InetSocketAddress lastRemote;

    /** An identifier that exists; the caller has retained the manager. */
    RdmacmIdentifier(RdmacmConnectionManager manager, long number, MemorySegment pointer) {
        super("connection identifier");
        this.manager = manager;
        this.number = number;
        this.pointer = pointer;
    }

    @Override
    public synchronized void handler(ConnectionHandler newHandler) {
        handler = Objects.requireNonNull(newHandler);
    }

    /**
     * Takes a request of this listener into care, before its event is acknowledged. {@link #deliver} hands it to the
     * handler; if this is closed by then, the thread that closes this closes the request.
     */
    synchronized void adopt(RdmacmIdentifier request) {
        if (requests == null) {
            requests = new ArrayList<>();
        }
        requests.add(request);
    }

    /** Gives an event, which is acknowledged, to the handler; drops it if this is closed. */
    void deliver(ConnectionEvent event) {
        StackRoom.ensureSection(); // a close waits for the handler's end, which is told by a call
        ConnectionHandler current;
        synchronized (this) {
            if (isClosedLocked() || handler == null) {
                return;
            }
            if (event instanceof ConnectionEvent.ConnectRequest request) {
                requests.remove((RdmacmIdentifier) request.identifier());
            }
            if (event instanceof ConnectionEvent.Established && queuePair != null) {
                queuePair.moved(QueuePairState.READY_TO_SEND);
            }
            current = handler;
            dispatcher = Thread.currentThread();
        }
        try {
            current.onEvent(this, event);
        } catch (RuntimeException | Error e) {
            LIMITED.error("the handler of a connection must not throw: event {}", event, e);
        } finally {
            synchronized (this) {
                dispatcher = null;
                notifyAll();
            }
        }
    }

    @Override
    public void bind(InetSocketAddress local) throws VerbsException {
        try (Entry entry = enter(ControlCall.RDMA_BIND_ADDR)) {
            int error = ControlCall.RDMA_BIND_ADDR.error(pointer, SocketAddresses.write(local, entry.arena));
            if (error == 0 && !local.getAddress().isAnyLocalAddress()
                    && rdma_cm_id.verbs(pointer).address() == 0) {
                error = Errno.ENODEV.number(); // the loopback address binds, and nothing could ever reach it
            }
            if (error != 0) {
                throw ControlCall.RDMA_BIND_ADDR.failure(error, "address=" + text(local));
            }
        }
    }

    @Override
    public void trafficClass(int bits) throws VerbsException {
        try (Entry entry = enter(ControlCall.RDMA_SET_OPTION)) {
            MemorySegment octet = entry.arena.allocateFrom(ValueLayout.JAVA_BYTE, (byte) bits);
            ControlCall.RDMA_SET_OPTION.check("RDMA_OPTION_ID_TOS=" + bits, pointer, rdma_h.RDMA_OPTION_ID(),
                    rdma_h.RDMA_OPTION_ID_TOS(), octet, octet.byteSize());
        }
    }

    @Override
    public void resolveAddress(InetSocketAddress destination, int timeoutMillis) throws VerbsException {
        try (Entry entry = enter(ControlCall.RDMA_RESOLVE_ADDR)) {
            ControlCall.RDMA_RESOLVE_ADDR.check("destination=" + text(destination) + ", timeoutMillis=" + timeoutMillis,
                    pointer, MemorySegment.NULL, SocketAddresses.write(destination, entry.arena), timeoutMillis);
        }
    }

    @Override
    public void resolveRoute(int timeoutMillis) throws VerbsException {
        try (Entry _ = enter(ControlCall.RDMA_RESOLVE_ROUTE)) {
            ControlCall.RDMA_RESOLVE_ROUTE.check(this, pointer, timeoutMillis);
        }
    }

    @Override
    public Device device() {
        if (device == null && tryEnter()) {
            try {
                MemorySegment context = rdma_cm_id.verbs(pointer);
                if (context.address() != 0) {
                    device = manager.devices.of(context);
                }
            } catch (VerbsException e) {
                LOG.debug("no device of an identifier", e);
            } finally {
                leave();
            }
        }
        return device;
    }

    @Override
    public int portNumber() {
        if (!tryEnter()) {
            return 0;
        }
        try {
            return Byte.toUnsignedInt(rdma_cm_id.port_num(pointer));
        } finally {
            leave();
        }
    }

    @Override
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config) throws VerbsException {
        return makeQueuePair(domain, config, null);
    }

    @Override
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config, SharedReceiveQueue receives)
            throws VerbsException {
        return makeQueuePair(domain, config, QueuePairParents.own(receives));
    }

    private QueuePair makeQueuePair(ProtectionDomain domain, QueuePairConfig config,
            IbverbsSharedReceiveQueue receives) throws VerbsException {
        ControlCall call = ControlCall.RDMA_CREATE_QP;
        if (!(domain instanceof IbverbsProtectionDomain own) || own.device() != device()) {
            throw new VerbsException(call.name, Errno.EINVAL.number(), toString(), device() == null
                    ? "resolve or bind the address first: no device is known yet"
                    : "the protection domain belongs to another device");
        }
        try (Entry _ = enter(call)) {
            QueuePairParents parents = new QueuePairParents(own, QueuePairType.RELIABLE_CONNECTION, config, receives);
            beginQueuePair(call);
            try {
                IbverbsQueuePair made = parents.create(this);
                endQueuePair(made);
                return made;
            } catch (Throwable e) {
                endQueuePair(null);
                release();
                throw e;
            }
        }
    }

    private synchronized void beginQueuePair(ControlCall call) throws VerbsException {
        if (queuePair != null || creatingQueuePair) {
            throw new VerbsException(call.name, Errno.EINVAL.number(), toString(),
                    "this identifier has a queue pair already");
        }
        creatingQueuePair = true;
        retainEntered();
    }

    private synchronized void endQueuePair(IbverbsQueuePair made) {
        queuePair = made;
        creatingQueuePair = false;
    }

    /**
     * Takes the queue pair off, so that it can be destroyed: waits for calls in progress, which may use it, and keeps
     * {@code rdma_get_cm_event} from finding it.
     */
    synchronized void detachQueuePair() {
        awaitCalls();
        manager.channelLock.lock();
        try {
            rdma_cm_id.qp(pointer, MemorySegment.NULL);
        } finally {
            manager.channelLock.unlock();
        }
        queuePair = null;
    }

    @Override
    public void connect(ConnectionParameters parameters) throws VerbsException {
        establish(ControlCall.RDMA_CONNECT, parameters);
    }

    @Override
    public void accept(ConnectionParameters parameters) throws VerbsException {
        establish(ControlCall.RDMA_ACCEPT, parameters);
    }

    private void establish(ControlCall call, ConnectionParameters parameters) throws VerbsException {
        try (Entry entry = enter(call)) {
            if (rdma_cm_id.qp(pointer).address() == 0) {
                throw new VerbsException(call.name, Errno.EINVAL.number(), toString(),
                        "make a queue pair for this identifier first");
            }
            int error = call.error(pointer, write(call, parameters, entry.arena));
            if (error != 0) {
                throw call.failure(error, this + ", " + parameters);
            }
        }
    }

    /** Writes an {@code rdma_conn_param} for a C function; throws if the private data is too long. */
    private static MemorySegment write(ControlCall call, ConnectionParameters parameters, Arena arena)
            throws VerbsException {
        MemorySegment param = rdma_conn_param.allocate(arena);
        rdma_conn_param.private_data(param, write(call, parameters.privateData(), arena));
        rdma_conn_param.private_data_len(param, (byte) parameters.privateDataBytes());
        rdma_conn_param.responder_resources(param, (byte) parameters.responderResources());
        rdma_conn_param.initiator_depth(param, (byte) parameters.initiatorDepth());
        rdma_conn_param.flow_control(param, (byte) 1);
        rdma_conn_param.retry_count(param, (byte) parameters.retryCount());
        rdma_conn_param.rnr_retry_count(param, (byte) parameters.receiverNotReadyRetryCount());
        return param;
    }

    /** Writes private data, NULL if there is none. */
    private static MemorySegment write(ControlCall call, byte[] data, Arena arena) throws VerbsException {
        if (data.length > MAX_PRIVATE_DATA_BYTES) {
            throw new VerbsException(call.name, Errno.EINVAL.number(), "privateDataBytes=" + data.length,
                    "private data has at most " + MAX_PRIVATE_DATA_BYTES + " bytes");
        }
        return data.length == 0 ? MemorySegment.NULL : arena.allocateFrom(ValueLayout.JAVA_BYTE, data);
    }

    @Override
    public void listen(int backlog) throws VerbsException {
        try (Entry _ = enter(ControlCall.RDMA_LISTEN)) {
            ControlCall.RDMA_LISTEN.check("address=" + text(localAddress()) + ", backlog=" + backlog, pointer,
                    backlog);
        }
    }

    @Override
    public void reject(byte[] privateData) throws VerbsException {
        try (Entry entry = enter(ControlCall.RDMA_REJECT)) {
            ControlCall.RDMA_REJECT.check(this + ", privateDataBytes=" + privateData.length, pointer,
                    write(ControlCall.RDMA_REJECT, privateData, entry.arena),
                    (byte) privateData.length);
        }
    }

    @Override
    public void disconnect() throws VerbsException {
        try (Entry _ = enter(ControlCall.RDMA_DISCONNECT)) {
            ControlCall.RDMA_DISCONNECT.check(this, pointer);
            IbverbsQueuePair attached = attached();
            if (attached != null) {
                attached.moved(QueuePairState.ERROR);
            }
        }
    }

    @Override
    public InetSocketAddress localAddress() {
        if (!tryEnter()) {
            synchronized (this) {
                return lastLocal;
            }
        }
        try {
            return readLocal();
        } finally {
            leave();
        }
    }

    @Override
    public InetSocketAddress remoteAddress() {
        if (!tryEnter()) {
            synchronized (this) {
                return lastRemote;
            }
        }
        try {
            return readRemote();
        } finally {
            leave();
        }
    }

    private InetSocketAddress readLocal() {
        InetSocketAddress local = SocketAddresses.scopedLocal(SocketAddresses.read(rdma_addr.src_storage(address())));
        return local == null ? UNBOUND : local;
    }

    private InetSocketAddress readRemote() {
        return SocketAddresses.scopedRemote(SocketAddresses.read(rdma_addr.dst_storage(address())), readLocal());
    }

    private MemorySegment address() {
        return rdma_route.addr(rdma_cm_id.route(pointer));
    }

    @Override
    public String toString() {
        return "local=" + text(localAddress()) + ", remote=" + text(remoteAddress());
    }

    private static String text(InetSocketAddress address) {
        if (address == null) {
            return "none";
        }
        InetAddress host = address.getAddress();
        return (host == null ? address.getHostString() : host.getHostAddress()) + ":" + address.getPort();
    }

    @Override
    public void close() {
        synchronized (this) {
            if (!beginClose()) {
                return;
            }
            lastLocal = readLocal();
            lastRemote = readRemote();
        }
        // Posts are refused at once, even while rdma_connect on soft-iWARP keeps the destruction waiting.
        boolean closing = beginCloseQueuePair();
        awaitCallsAndHandler();
        closing |= beginCloseQueuePair();
        if (closing) {
            attached().finishClose();
        }
        finishClose();
    }

    private synchronized IbverbsQueuePair attached() {
        return queuePair;
    }

    /** Whether the queue pair, if there is one, has to be closed by the caller. */
    private boolean beginCloseQueuePair() {
        IbverbsQueuePair attached = attached();
        return attached != null && attached.beginClose();
    }

    /** Waits until no call and no handler uses this; a handler that closes its own identifier is not waited for. */
    private synchronized void awaitCallsAndHandler() {
        awaitCalls();
        boolean interrupted = false;
        while (dispatcher != null && dispatcher != Thread.currentThread()) {
            interrupted |= LibraryThreads.awaitNotify(this);
        }
        LibraryThreads.restore(interrupted);
    }

    @Override
    void destroy() {
        // Returns when every event of this that was taken is acknowledged, so no more requests can come.
        ControlCall.RDMA_DESTROY_ID.destroy(pointer);
        manager.forget(this);
        List<RdmacmIdentifier> unclaimed;
        synchronized (this) {
            unclaimed = requests == null ? List.of() : List.copyOf(requests);
            requests = null;
        }
        unclaimed.forEach(RdmacmIdentifier::close);
        manager.release();
    }
}
