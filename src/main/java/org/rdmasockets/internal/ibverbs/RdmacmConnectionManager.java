package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.ibverbs.generated.rdma_cm_event;
import org.rdmasockets.internal.ibverbs.generated.rdma_cm_id;
import org.rdmasockets.internal.ibverbs.generated.rdma_conn_param;
import org.rdmasockets.internal.ibverbs.generated.rdma_event_channel;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * A connection manager over one {@code rdma_event_channel}.
 *
 * <p>An identifier is found by the number in its {@code context} field. Numbers are never used twice, and an identifier
 * leaves the table only after {@code rdma_destroy_id} returned, which waits until its events are acknowledged: so an
 * event never finds another identifier than its own.
 */
final class RdmacmConnectionManager extends NativeHandle implements ConnectionManager, Pollable {
    final DeviceTable devices;
    private final MemorySegment channel;
    private final int descriptor;
    /** Number to identifier, from before its first event until after its last. */
    private final Map<Long, RdmacmIdentifier> identifiers = new ConcurrentHashMap<>();
    private final AtomicLong lastNumber = new AtomicLong();
    /**
     * Held during {@code rdma_get_cm_event}, which moves the queue pair of an identifier when its peer answers, and
     * while a queue pair is taken off its identifier: so it never moves one that is being destroyed.
     */
    final SmallMutex channelLock = new SmallMutex();

    /** Makes a channel; throws if none can be had. */
    RdmacmConnectionManager(DeviceTable devices) throws VerbsException {
        super("connection manager");
        this.devices = devices;
        channel = ControlCall.RDMA_CREATE_EVENT_CHANNEL.pointer("");
        descriptor = rdma_event_channel.fd(channel);
        Pollable.makeNonBlocking(descriptor);
    }

    @Override
    public ConnectionIdentifier createIdentifier(ConnectionHandler handler) throws VerbsException {
        return makeChild(ControlCall.RDMA_CREATE_ID, () -> {
            long number = lastNumber.incrementAndGet();
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
                ControlCall.RDMA_CREATE_ID.check("", channel, pointer, MemorySegment.ofAddress(number),
                        rdma_h.RDMA_PS_TCP());
                RdmacmIdentifier identifier = new RdmacmIdentifier(this, number, IbverbsCalls.pointer(pointer, 0));
                identifier.handler(handler);
                identifiers.put(number, identifier);
                return identifier;
            }
        });
    }

    @Override
    public Optional<InetAddress> sourceOf(InetSocketAddress destination) {
        try {
            return Optional.of(SocketAddresses.sourceOf(destination));
        } catch (VerbsException e) {
            return Optional.empty(); // the caller asks elsewhere, and gets the reason from there
        }
    }

    /** Forgets an identifier that was destroyed. */
    void forget(RdmacmIdentifier identifier) {
        identifiers.remove(identifier.number);
    }

    @Override
    public int drainEvents() throws VerbsException {
        int events = 0;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pointer = arena.allocate(ValueLayout.JAVA_LONG);
            while (true) {
                if (!tryEnter()) {
                    return events;
                }
                Delivery delivery;
                try {
                    if (!take(pointer)) {
                        return events;
                    }
                    delivery = copyAndAcknowledge(IbverbsCalls.pointer(pointer, 0));
                } finally {
                    leave();
                }
                events++;
                if (delivery != null) {
                    delivery.identifier().deliver(delivery.event());
                }
            }
        }
    }

    /** An event on its way to its identifier. */
    private record Delivery(RdmacmIdentifier identifier, ConnectionEvent event) {}

    /** Takes one event; false if there is none. */
    private boolean take(MemorySegment pointer) throws VerbsException {
        while (true) {
            int error;
            channelLock.lock();
            try {
                error = ControlCall.RDMA_GET_CM_EVENT.error(channel, pointer);
            } finally {
                channelLock.unlock();
            }
            if (error == 0) {
                return true;
            }
            if (error == Errno.EAGAIN.number()) {
                return false;
            }
            // The library passes errors of one identifier's event on as its own; ENOENT and the like end nothing.
            if (error != Errno.EINTR.number()) {
                throw ControlCall.RDMA_GET_CM_EVENT.failure(error, "");
            }
        }
    }

    /** Copies an event and acknowledges it; null if no identifier may get it any more. */
    private Delivery copyAndAcknowledge(MemorySegment event) throws VerbsException {
        boolean request = rdma_cm_event.event(event) == rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST();
        MemorySegment about = request ? rdma_cm_event.listen_id(event) : rdma_cm_event.id(event);
        RdmacmIdentifier identifier = identifiers.get(rdma_cm_id.context(about).address());
        ConnectionEvent copy = null;
        if (request) {
            copy = copyRequest(identifier, event);
        } else if (identifier != null) {
            copy = copy(event);
        }
        ControlCall.RDMA_ACK_CM_EVENT.check("", event);
        return copy == null ? null : new Delivery(identifier, copy);
    }

    /**
     * Takes the new identifier of a request into the table and gives it into the listener's care. If that is closing,
     * its closing thread is waiting in rdma_destroy_id for this event to be acknowledged, and closes the request, which
     * can block, after that.
     */
    private ConnectionEvent copyRequest(RdmacmIdentifier listener, MemorySegment event) {
        ConnectionParameters parameters = parameters(event);
        MemorySegment pointer = rdma_cm_event.id(event);
        long number = lastNumber.incrementAndGet();
        rdma_cm_id.context(pointer, MemorySegment.ofAddress(number));
        retainEntered();
        RdmacmIdentifier child = new RdmacmIdentifier(this, number, pointer);
        identifiers.put(number, child);
        listener.adopt(child);
        return new ConnectionEvent.ConnectRequest(child, parameters);
    }

    /** Copies an {@code rdma_cm_event} that is no request and not yet acknowledged. */
    private static ConnectionEvent copy(MemorySegment event) {
        int number = rdma_cm_event.event(event);
        int status = rdma_cm_event.status(event);
        int error = Math.abs(status);
        if (number == rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED()) {
            return new ConnectionEvent.AddressResolved();
        } else if (number == rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED()) {
            return new ConnectionEvent.RouteResolved();
        } else if (number == rdma_h.RDMA_CM_EVENT_ADDR_ERROR()) {
            return new ConnectionEvent.Failed(ControlCall.RDMA_RESOLVE_ADDR.name, error);
        } else if (number == rdma_h.RDMA_CM_EVENT_ROUTE_ERROR()) {
            return new ConnectionEvent.Failed(ControlCall.RDMA_RESOLVE_ROUTE.name, error);
        } else if (number == rdma_h.RDMA_CM_EVENT_CONNECT_ERROR()) {
            return new ConnectionEvent.Failed(ControlCall.RDMA_CONNECT.name, error);
        } else if (number == rdma_h.RDMA_CM_EVENT_UNREACHABLE()) {
            return new ConnectionEvent.Unreachable(error);
        } else if (number == rdma_h.RDMA_CM_EVENT_ESTABLISHED() || number == rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE()) {
            return new ConnectionEvent.Established(parameters(event));
        } else if (number == rdma_h.RDMA_CM_EVENT_REJECTED()) {
            // InfiniBand's reason is positive; iWARP gives an errno, negated.
            return new ConnectionEvent.Rejected(status, parameters(event).privateData());
        } else if (number == rdma_h.RDMA_CM_EVENT_DISCONNECTED()) {
            return new ConnectionEvent.Disconnected();
        } else if (number == rdma_h.RDMA_CM_EVENT_DEVICE_REMOVAL()) {
            return new ConnectionEvent.DeviceRemoved();
        } else if (number == rdma_h.RDMA_CM_EVENT_ADDR_CHANGE()) {
            return new ConnectionEvent.AddressChanged();
        } else if (number == rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT()) {
            return new ConnectionEvent.TimewaitExited();
        }
        return new ConnectionEvent.Unknown(number, status);
    }

    /** Copies the {@code rdma_conn_param} of an event; of private data no more than its length field says. */
    private static ConnectionParameters parameters(MemorySegment event) {
        MemorySegment param = rdma_cm_event.param.conn(rdma_cm_event.param(event));
        MemorySegment data = rdma_conn_param.private_data(param);
        int length = Byte.toUnsignedInt(rdma_conn_param.private_data_len(param));
        return new ConnectionParameters(
                data.address() == 0 ? new byte[0] : data.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE),
                Byte.toUnsignedInt(rdma_conn_param.responder_resources(param)),
                Byte.toUnsignedInt(rdma_conn_param.initiator_depth(param)),
                Byte.toUnsignedInt(rdma_conn_param.retry_count(param)),
                Byte.toUnsignedInt(rdma_conn_param.rnr_retry_count(param)));
    }

    @Override
    public int descriptor() {
        return descriptor;
    }

    @Override
    void destroy() {
        ControlCall.RDMA_DESTROY_EVENT_CHANNEL.run(channel);
    }
}
