package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.DeviceEvent.Type;

/** Every number of {@code enum ibv_event_type} has a type of its own. */
class DeviceEventsTest {
    @Test
    void everyNumberOfTheHeaderHasATypeOfItsOwn() {
        Set<Type> types = EnumSet.noneOf(Type.class);
        for (int number = rdma_h.IBV_EVENT_CQ_ERR(); number <= rdma_h.IBV_EVENT_WQ_FATAL(); number++) {
            assertTrue(types.add(DeviceEvents.type(number)), "event " + number);
        }
        types.add(Type.OTHER); // for numbers of later headers that need no action
        assertEquals(EnumSet.complementOf(EnumSet.of(Type.UNKNOWN)), types);
    }

    @Test
    void numbersOfTheHeaderMeanWhatTheirNamesSay() {
        assertEquals(Type.COMPLETION_QUEUE_ERROR, DeviceEvents.type(rdma_h.IBV_EVENT_CQ_ERR()));
        assertEquals(Type.QUEUE_PAIR_FATAL, DeviceEvents.type(rdma_h.IBV_EVENT_QP_FATAL()));
        assertEquals(Type.QUEUE_PAIR_REQUEST_ERROR, DeviceEvents.type(rdma_h.IBV_EVENT_QP_REQ_ERR()));
        assertEquals(Type.QUEUE_PAIR_ACCESS_ERROR, DeviceEvents.type(rdma_h.IBV_EVENT_QP_ACCESS_ERR()));
        assertEquals(Type.COMMUNICATION_ESTABLISHED, DeviceEvents.type(rdma_h.IBV_EVENT_COMM_EST()));
        assertEquals(Type.SEND_QUEUE_DRAINED, DeviceEvents.type(rdma_h.IBV_EVENT_SQ_DRAINED()));
        assertEquals(Type.PATH_MIGRATED, DeviceEvents.type(rdma_h.IBV_EVENT_PATH_MIG()));
        assertEquals(Type.PATH_MIGRATION_FAILED, DeviceEvents.type(rdma_h.IBV_EVENT_PATH_MIG_ERR()));
        assertEquals(Type.DEVICE_FATAL, DeviceEvents.type(rdma_h.IBV_EVENT_DEVICE_FATAL()));
        assertEquals(Type.PORT_ACTIVE, DeviceEvents.type(rdma_h.IBV_EVENT_PORT_ACTIVE()));
        assertEquals(Type.PORT_ERROR, DeviceEvents.type(rdma_h.IBV_EVENT_PORT_ERR()));
        assertEquals(Type.LID_CHANGE, DeviceEvents.type(rdma_h.IBV_EVENT_LID_CHANGE()));
        assertEquals(Type.PARTITION_KEY_CHANGE, DeviceEvents.type(rdma_h.IBV_EVENT_PKEY_CHANGE()));
        assertEquals(Type.SUBNET_MANAGER_CHANGE, DeviceEvents.type(rdma_h.IBV_EVENT_SM_CHANGE()));
        assertEquals(Type.SHARED_RECEIVE_QUEUE_ERROR, DeviceEvents.type(rdma_h.IBV_EVENT_SRQ_ERR()));
        assertEquals(Type.SHARED_RECEIVE_QUEUE_LIMIT, DeviceEvents.type(rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED()));
        assertEquals(Type.LAST_SHARED_RECEIVE, DeviceEvents.type(rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED()));
        assertEquals(Type.CLIENT_REREGISTER, DeviceEvents.type(rdma_h.IBV_EVENT_CLIENT_REREGISTER()));
        assertEquals(Type.GID_CHANGE, DeviceEvents.type(rdma_h.IBV_EVENT_GID_CHANGE()));
        assertEquals(Type.WORK_QUEUE_FATAL, DeviceEvents.type(rdma_h.IBV_EVENT_WQ_FATAL()));
    }

    @Test
    void otherNumbersAreUnknown() {
        assertEquals(Type.UNKNOWN, DeviceEvents.type(-1));
        assertEquals(Type.UNKNOWN, DeviceEvents.type(rdma_h.IBV_EVENT_WQ_FATAL() + 1));
        assertEquals(DeviceEvents.Element.NONE, DeviceEvents.element(Type.UNKNOWN));
    }

    @Test
    void whatAnEventIsAboutFollowsFromItsType() {
        assertEquals(DeviceEvents.Element.QUEUE_PAIR, DeviceEvents.element(Type.LAST_SHARED_RECEIVE));
        assertEquals(DeviceEvents.Element.COMPLETION_QUEUE, DeviceEvents.element(Type.COMPLETION_QUEUE_ERROR));
        assertEquals(DeviceEvents.Element.SHARED_RECEIVE_QUEUE, DeviceEvents.element(Type.SHARED_RECEIVE_QUEUE_LIMIT));
        assertEquals(DeviceEvents.Element.PORT, DeviceEvents.element(Type.GID_CHANGE));
        assertNotEquals(DeviceEvents.Element.PORT, DeviceEvents.element(Type.DEVICE_FATAL));
    }
}
