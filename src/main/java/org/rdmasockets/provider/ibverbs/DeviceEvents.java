package org.rdmasockets.provider.ibverbs;

import org.rdmasockets.provider.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.DeviceEvent;

/** What the numbers of {@code enum ibv_event_type} mean, and what an event of each is about. */
final class DeviceEvents {
    /** Which member of the union in {@code ibv_async_event} is valid. */
    enum Element {
        /** {@code element.qp}. */
        QUEUE_PAIR,
        /** {@code element.cq}. */
        COMPLETION_QUEUE,
        /** {@code element.port_num}. */
        PORT,
        /** None that we know: the device, a shared receive queue, a work queue. */
        NONE
    }

    private DeviceEvents() {
    }

    /** The kind of an event number. */
    static DeviceEvent.Type type(int number) {
        if (number == rdma_h.IBV_EVENT_CQ_ERR()) {
            return DeviceEvent.Type.COMPLETION_QUEUE_ERROR;
        } else if (number == rdma_h.IBV_EVENT_QP_FATAL()) {
            return DeviceEvent.Type.QUEUE_PAIR_FATAL;
        } else if (number == rdma_h.IBV_EVENT_QP_REQ_ERR()) {
            return DeviceEvent.Type.QUEUE_PAIR_REQUEST_ERROR;
        } else if (number == rdma_h.IBV_EVENT_QP_ACCESS_ERR()) {
            return DeviceEvent.Type.QUEUE_PAIR_ACCESS_ERROR;
        } else if (number == rdma_h.IBV_EVENT_COMM_EST()) {
            return DeviceEvent.Type.COMMUNICATION_ESTABLISHED;
        } else if (number == rdma_h.IBV_EVENT_SQ_DRAINED()) {
            return DeviceEvent.Type.SEND_QUEUE_DRAINED;
        } else if (number == rdma_h.IBV_EVENT_DEVICE_FATAL()) {
            return DeviceEvent.Type.DEVICE_FATAL;
        } else if (number == rdma_h.IBV_EVENT_PORT_ACTIVE()) {
            return DeviceEvent.Type.PORT_ACTIVE;
        } else if (number == rdma_h.IBV_EVENT_PORT_ERR()) {
            return DeviceEvent.Type.PORT_ERROR;
        } else if (number == rdma_h.IBV_EVENT_GID_CHANGE()) {
            return DeviceEvent.Type.GID_CHANGE;
        }
        boolean named = number >= 0 && number <= rdma_h.IBV_EVENT_WQ_FATAL();
        return named ? DeviceEvent.Type.OTHER : DeviceEvent.Type.UNKNOWN;
    }

    /** What an event number is about. */
    static Element element(int number) {
        if (number == rdma_h.IBV_EVENT_CQ_ERR()) {
            return Element.COMPLETION_QUEUE;
        } else if (number == rdma_h.IBV_EVENT_QP_FATAL() || number == rdma_h.IBV_EVENT_QP_REQ_ERR()
                || number == rdma_h.IBV_EVENT_QP_ACCESS_ERR() || number == rdma_h.IBV_EVENT_COMM_EST()
                || number == rdma_h.IBV_EVENT_SQ_DRAINED() || number == rdma_h.IBV_EVENT_PATH_MIG()
                || number == rdma_h.IBV_EVENT_PATH_MIG_ERR() || number == rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED()) {
            return Element.QUEUE_PAIR;
        } else if (number == rdma_h.IBV_EVENT_PORT_ACTIVE() || number == rdma_h.IBV_EVENT_PORT_ERR()
                || number == rdma_h.IBV_EVENT_LID_CHANGE() || number == rdma_h.IBV_EVENT_PKEY_CHANGE()
                || number == rdma_h.IBV_EVENT_SM_CHANGE() || number == rdma_h.IBV_EVENT_CLIENT_REREGISTER()
                || number == rdma_h.IBV_EVENT_GID_CHANGE()) {
            return Element.PORT;
        }
        return Element.NONE;
    }
}
