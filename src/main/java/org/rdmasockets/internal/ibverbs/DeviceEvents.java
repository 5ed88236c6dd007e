package org.rdmasockets.internal.ibverbs;

import org.rdmasockets.verbs.DeviceEvent.Type;

/** The kinds behind the numbers of {@code enum ibv_event_type}, and the object that an event of each is about. */
final class DeviceEvents {
    /** The member of the union in {@code ibv_async_event} that is valid. */
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

    /** By number, from {@code IBV_EVENT_CQ_ERR}, which is 0. */
    private static final Type[] TYPES = {Type.COMPLETION_QUEUE_ERROR, Type.QUEUE_PAIR_FATAL,
        Type.QUEUE_PAIR_REQUEST_ERROR, Type.QUEUE_PAIR_ACCESS_ERROR, Type.COMMUNICATION_ESTABLISHED,
        Type.SEND_QUEUE_DRAINED, Type.PATH_MIGRATED, Type.PATH_MIGRATION_FAILED, Type.DEVICE_FATAL, Type.PORT_ACTIVE,
        Type.PORT_ERROR, Type.LID_CHANGE, Type.PARTITION_KEY_CHANGE, Type.SUBNET_MANAGER_CHANGE,
        Type.SHARED_RECEIVE_QUEUE_ERROR, Type.SHARED_RECEIVE_QUEUE_LIMIT, Type.LAST_SHARED_RECEIVE,
        Type.CLIENT_REREGISTER, Type.GID_CHANGE, Type.WORK_QUEUE_FATAL};

    private DeviceEvents() {}

    /** The kind of an event number. */
    static Type type(int number) {
        return number >= 0 && number < TYPES.length ? TYPES[number] : Type.UNKNOWN;
    }

    /** The object that an event of a kind is about. */
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
