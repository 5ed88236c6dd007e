package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.internal.rsockets.FlowKind;
import org.rdmasockets.verbs.CompletionQueue;

/** Records that compare themselves by hand, so that a first connect need not wait until the JVM has made that code. */
class EqualityByHandTest {
    /** A size that each component may have, and another one. */
    private static final List<Integer> SIZES = List.of(1024, 2048);

    @ParameterizedTest
    @ValueSource(strings = {"internal.rsockets.StreamSettings", "verbs.QueuePairConfig",
        "internal.sharedmemory.link.PeerId",
        "Transport"})
    void eachComponentMatters(String name) throws ReflectiveOperationException {
        Class<?> type = Class.forName("org.rdmasockets." + name);
        RecordComponent[] components = type.getRecordComponents();
        Constructor<?> constructor = type.getDeclaredConstructor(
                Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
        constructor.setAccessible(true);
        CompletionQueue[] queues = {queue(), queue()};
        Object[] values = Arrays.stream(components).map(c -> value(c, 0, queues)).toArray();
        Object one = constructor.newInstance(values);
        assertEquals(one, constructor.newInstance(values));
        assertEquals(one.hashCode(), constructor.newInstance(values).hashCode());
        assertNotEquals(one, null);
        assertNotEquals(one, "another type");
        for (int i = 0; i < components.length; i++) {
            Object[] changed = values.clone();
            changed[i] = value(components[i], 1, queues);
            Object other = constructor.newInstance(changed);
            assertNotEquals(one, other, components[i].getName());
            assertNotEquals(one.hashCode(), other.hashCode(), "a poor hash code: " + components[i].getName());
        }
    }

    private static Object value(RecordComponent component, int which, CompletionQueue[] queues) {
        Class<?> type = component.getType();
        if (type == boolean.class) {
            return which == 1;
        }
        if (type == FlowKind.class) {
            return FlowKind.values()[which];
        }
        if (type == String.class) {
            return List.of("auto", "tcp").get(which);
        }
        if (type == CompletionQueue.class) {
            return queues[which];
        }
        // Half a buffer must hold a chunk, and the wire has but some numbers for maps.
        int size = switch (component.getName()) {
            case "sendBufferBytes", "receiveBufferBytes" -> SIZES.get(which) * 4;
            case "maps" -> which * 128;
            default -> SIZES.get(which);
        };
        return type == long.class ? (Object) (long) size : (Object) size;
    }

    private static CompletionQueue queue() {
        return (CompletionQueue) Proxy.newProxyInstance(CompletionQueue.class.getClassLoader(),
                new Class<?>[] {CompletionQueue.class}, (proxy, method, arguments) -> switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    default -> null;
                });
    }
}
