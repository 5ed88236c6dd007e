package org.rdmasockets.provider.ibverbs;

import static java.util.Map.entry;

import java.util.Map;
import org.rdmasockets.provider.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.DeviceEvent.Type;

/** What the numbers of {@code enum ibv_event_type} mean, and what an event of each is about. */
final class DeviceEvents {
    /** Which member of the union in {@code ibv_async_event} is valid. */
    enum Element {
        /** {@code element.qp}. */
        QUEUE_PAIR,
        /** {@code element.cq}. */
        COMPLETION_QUEUE,
        /** {@code element.srq}. */
        SHARED_RECEIVE_QUEUE,
        /** {@code element.port_num}. */
        PORT,
        /** None that is known here: the device, a work queue. */
        NONE
    }

    private static final Map<Integer, Type> TYPES = Map.ofEntries(
            entry(rdma_h.IBV_EVENT_CQ_ERR(), Type.COMPLETION_QUEUE_ERROR),
            entry(rdma_h.IBV_EVENT_QP_FATAL(), Type.QUEUE_PAIR_FATAL),
            entry(rdma_h.IBV_EVENT_QP_REQ_ERR(), Type.QUEUE_PAIR_REQUEST_ERROR),
            entry(rdma_h.IBV_EVENT_QP_ACCESS_ERR(), Type.QUEUE_PAIR_ACCESS_ERROR),
            entry(rdma_h.IBV_EVENT_COMM_EST(), Type.COMMUNICATION_ESTABLISHED),
            entry(rdma_h.IBV_EVENT_SQ_DRAINED(), Type.SEND_QUEUE_DRAINED),
            entry(rdma_h.IBV_EVENT_PATH_MIG(), Type.PATH_MIGRATED),
            entry(rdma_h.IBV_EVENT_PATH_MIG_ERR(), Type.PATH_MIGRATION_FAILED),
            entry(rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED(), Type.LAST_SHARED_RECEIVE),
            entry(rdma_h.IBV_EVENT_SRQ_ERR(), Type.SHARED_RECEIVE_QUEUE_ERROR),
            entry(rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED(), Type.SHARED_RECEIVE_QUEUE_LIMIT),
            entry(rdma_h.IBV_EVENT_WQ_FATAL(), Type.WORK_QUEUE_FATAL),
            entry(rdma_h.IBV_EVENT_DEVICE_FATAL(), Type.DEVICE_FATAL),
            entry(rdma_h.IBV_EVENT_PORT_ACTIVE(), Type.PORT_ACTIVE),
            entry(rdma_h.IBV_EVENT_PORT_ERR(), Type.PORT_ERROR),
            entry(rdma_h.IBV_EVENT_LID_CHANGE(), Type.LID_CHANGE),
            entry(rdma_h.IBV_EVENT_PKEY_CHANGE(), Type.PARTITION_KEY_CHANGE),
            entry(rdma_h.IBV_EVENT_SM_CHANGE(), Type.SUBNET_MANAGER_CHANGE),
            entry(rdma_h.IBV_EVENT_CLIENT_REREGISTER(), Type.CLIENT_REREGISTER),
            entry(rdma_h.IBV_EVENT_GID_CHANGE(), Type.GID_CHANGE));

    private DeviceEvents() {}

    /** The kind of an event number. */
    static Type type(int number) {
        return TYPES.getOrDefault(number, Type.UNKNOWN);
    }

    /** What an event of a kind is about. */
    static Element element(Type type) {
        return switch (type) {
            case COMPLETION_QUEUE_ERROR -> Element.COMPLETION_QUEUE;
            case QUEUE_PAIR_FATAL, QUEUE_PAIR_REQUEST_ERROR, QUEUE_PAIR_ACCESS_ERROR, COMMUNICATION_ESTABLISHED,
                    SEND_QUEUE_DRAINED, PATH_MIGRATED, PATH_MIGRATION_FAILED, LAST_SHARED_RECEIVE ->
                    Element.QUEUE_PAIR;
            case SHARED_RECEIVE_QUEUE_ERROR, SHARED_RECEIVE_QUEUE_LIMIT -> Element.SHARED_RECEIVE_QUEUE;
            case PORT_ACTIVE, PORT_ERROR, LID_CHANGE, PARTITION_KEY_CHANGE, SUBNET_MANAGER_CHANGE, CLIENT_REREGISTER,
                    GID_CHANGE -> Element.PORT;
            case WORK_QUEUE_FATAL, DEVICE_FATAL, OTHER, UNKNOWN -> Element.NONE;
        };
    }
}
