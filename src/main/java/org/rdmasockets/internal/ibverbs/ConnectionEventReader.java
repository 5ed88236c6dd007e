package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.ibverbs.generated.rdma_cm_event;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionEvent.Failed;
import org.rdmasockets.verbs.ConnectionEvent.Rejected;

/** {@code rdma_cm_event} to {@link ConnectionEvent}. */
final class ConnectionEventReader {
    private ConnectionEventReader() {}

    /** Whether the event brings a new identifier. */
    static boolean isRequest(MemorySegment event) {
        return rdma_cm_event.event(event) == rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST();
    }

    /** Copies an {@code rdma_cm_event} that is no request and not yet acknowledged. */
    static ConnectionEvent copy(MemorySegment event) {
        int number = rdma_cm_event.event(event);
        int error = Math.abs(rdma_cm_event.status(event));
        if (number == rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED()) {
            return new ConnectionEvent.AddressResolved();
        } else if (number == rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED()) {
            return new ConnectionEvent.RouteResolved();
        } else if (number == rdma_h.RDMA_CM_EVENT_ADDR_ERROR()) {
            return new Failed(ControlCall.RDMA_RESOLVE_ADDR.name, error);
        } else if (number == rdma_h.RDMA_CM_EVENT_ROUTE_ERROR()) {
            return new Failed(ControlCall.RDMA_RESOLVE_ROUTE.name, error);
        } else if (number == rdma_h.RDMA_CM_EVENT_CONNECT_ERROR()) {
            return new Failed(ControlCall.RDMA_CONNECT.name, error);
        } else if (number == rdma_h.RDMA_CM_EVENT_UNREACHABLE()) {
            return new ConnectionEvent.Unreachable(error);
        }
        return copyConnected(event, number);
    }

    private static ConnectionEvent copyConnected(MemorySegment event, int number) {
        MemorySegment param = parameters(event);
        if (number == rdma_h.RDMA_CM_EVENT_ESTABLISHED() || number == rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE()) {
            return new ConnectionEvent.Established(ConnectionParameterCodec.read(param));
        } else if (number == rdma_h.RDMA_CM_EVENT_REJECTED()) {
            // InfiniBand's reason is positive; iWARP gives an errno, negated.
            return new Rejected(rdma_cm_event.status(event), ConnectionParameterCodec.privateData(param));
        } else if (number == rdma_h.RDMA_CM_EVENT_DISCONNECTED()) {
            return new ConnectionEvent.Disconnected();
        } else if (number == rdma_h.RDMA_CM_EVENT_DEVICE_REMOVAL()) {
            return new ConnectionEvent.DeviceRemoved();
        } else if (number == rdma_h.RDMA_CM_EVENT_ADDR_CHANGE()) {
            return new ConnectionEvent.AddressChanged();
        } else if (number == rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT()) {
            return new ConnectionEvent.TimewaitExited();
        }
        return new ConnectionEvent.Unknown(number, rdma_cm_event.status(event));
    }

    /** The {@code rdma_conn_param} of an event. */
    static MemorySegment parameters(MemorySegment event) {
        return rdma_cm_event.param.conn(rdma_cm_event.param(event));
    }
}
