package org.rdmasockets.provider.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.provider.ibverbs.generated.rdma_h;
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
