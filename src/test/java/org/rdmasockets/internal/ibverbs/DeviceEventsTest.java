package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.ibverbs.generated.ibv_async_event;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.DeviceEvent.Type;
import org.rdmasockets.verbs.SharedReceiveQueue;

/** Every number of {@code enum ibv_event_type} has a type of its own. */
class DeviceEventsTest {
    private final MemorySegment event = ibv_async_event.allocate(Arena.ofAuto());
    private final MemorySegment element = ibv_async_event.element(event);
    private final MemorySegment pair = ibv_qp.allocate(Arena.ofAuto());

    @Test
    void everyNumberOfTheHeaderHasATypeOfItsOwn() {
        Set<Type> types = EnumSet.noneOf(Type.class);
        for (int number = rdma_h.IBV_EVENT_CQ_ERR(); number <= rdma_h.IBV_EVENT_WQ_FATAL(); number++) {
            assertTrue(types.add(type(number)), "event " + number);
        }
        types.add(Type.OTHER); // for numbers of later headers that need no action
        assertEquals(EnumSet.complementOf(EnumSet.of(Type.UNKNOWN)), types);
    }

    @Test
    void numbersOfTheHeaderMeanWhatTheirNamesSay() {
        assertEquals(Type.COMPLETION_QUEUE_ERROR, type(rdma_h.IBV_EVENT_CQ_ERR()));
        assertEquals(Type.QUEUE_PAIR_FATAL, type(rdma_h.IBV_EVENT_QP_FATAL()));
        assertEquals(Type.QUEUE_PAIR_REQUEST_ERROR, type(rdma_h.IBV_EVENT_QP_REQ_ERR()));
        assertEquals(Type.QUEUE_PAIR_ACCESS_ERROR, type(rdma_h.IBV_EVENT_QP_ACCESS_ERR()));
        assertEquals(Type.COMMUNICATION_ESTABLISHED, type(rdma_h.IBV_EVENT_COMM_EST()));
        assertEquals(Type.SEND_QUEUE_DRAINED, type(rdma_h.IBV_EVENT_SQ_DRAINED()));
        assertEquals(Type.PATH_MIGRATED, type(rdma_h.IBV_EVENT_PATH_MIG()));
        assertEquals(Type.PATH_MIGRATION_FAILED, type(rdma_h.IBV_EVENT_PATH_MIG_ERR()));
        assertEquals(Type.DEVICE_FATAL, type(rdma_h.IBV_EVENT_DEVICE_FATAL()));
        assertEquals(Type.PORT_ACTIVE, type(rdma_h.IBV_EVENT_PORT_ACTIVE()));
        assertEquals(Type.PORT_ERROR, type(rdma_h.IBV_EVENT_PORT_ERR()));
        assertEquals(Type.LID_CHANGE, type(rdma_h.IBV_EVENT_LID_CHANGE()));
        assertEquals(Type.PARTITION_KEY_CHANGE, type(rdma_h.IBV_EVENT_PKEY_CHANGE()));
        assertEquals(Type.SUBNET_MANAGER_CHANGE, type(rdma_h.IBV_EVENT_SM_CHANGE()));
        assertEquals(Type.SHARED_RECEIVE_QUEUE_ERROR, type(rdma_h.IBV_EVENT_SRQ_ERR()));
        assertEquals(Type.SHARED_RECEIVE_QUEUE_LIMIT, type(rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED()));
        assertEquals(Type.LAST_SHARED_RECEIVE, type(rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED()));
        assertEquals(Type.CLIENT_REREGISTER, type(rdma_h.IBV_EVENT_CLIENT_REREGISTER()));
        assertEquals(Type.GID_CHANGE, type(rdma_h.IBV_EVENT_GID_CHANGE()));
        assertEquals(Type.WORK_QUEUE_FATAL, type(rdma_h.IBV_EVENT_WQ_FATAL()));
    }

    @Test
    void otherNumbersAreUnknown() {
        assertEquals(Type.UNKNOWN, type(-1));
        assertEquals(Type.UNKNOWN, type(rdma_h.IBV_EVENT_WQ_FATAL() + 1));
    }

    @Test
    void whatAnEventIsAboutFollowsFromItsType() {
        CompletionQueue queue = proxy(CompletionQueue.class);
        SharedReceiveQueue receives = proxy(SharedReceiveQueue.class);
        ibv_qp.qp_num(pair, 77);
        ibv_async_event.element.qp(element, pair);
        assertEquals(77, event(rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED(), Map.of(), Map.of()).queuePairNumber());
        ibv_async_event.element.cq(element, MemorySegment.ofAddress(4096));
        Map<Long, CompletionQueue> queues = Map.of(4096L, queue);
        Map<Long, SharedReceiveQueue> shared = Map.of(4096L, receives);
        assertSame(queue, event(rdma_h.IBV_EVENT_CQ_ERR(), queues, shared).completionQueue());
        DeviceEvent limit = event(rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED(), queues, shared);
        assertSame(receives, limit.sharedReceiveQueue());
        assertNull(limit.completionQueue());
        ibv_async_event.element.port_num(element, 2);
        assertEquals(2, event(rdma_h.IBV_EVENT_GID_CHANGE(), queues, shared).portNumber());
        assertEquals(new DeviceEvent(Type.DEVICE_FATAL, 0, null, 0, rdma_h.IBV_EVENT_DEVICE_FATAL()),
                event(rdma_h.IBV_EVENT_DEVICE_FATAL(), queues, shared));
        assertEquals(new DeviceEvent(Type.UNKNOWN, 0, null, 0, -1), event(-1, queues, shared));
    }

    private static <T> T proxy(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
                (self, method, arguments) -> null));
    }

    private DeviceEvent event(int number, Map<Long, CompletionQueue> queues, Map<Long, SharedReceiveQueue> shared) {
        ibv_async_event.event_type(event, number);
        return IbverbsDevice.event(event, queues, shared);
    }

    private Type type(int number) {
        ibv_async_event.element.qp(element, pair);
        return event(number, Map.of(), Map.of()).type();
    }
}
