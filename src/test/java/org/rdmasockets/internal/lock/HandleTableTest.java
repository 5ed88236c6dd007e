package org.rdmasockets.internal.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Numbers find what they were put with, and late ones nothing. */
class HandleTableTest {
    private static final int STEPS = 100_000;
    private static final int MOST = 700;

    private final HandleTable<String> table = new HandleTable<>(8, MOST);

    @Test
    void numbersFindWhatWasPutInLast() {
        Random random = new Random(5);
        Map<Integer, String> model = new HashMap<>();
        Set<Integer> late = new HashSet<>();
        for (int i = 0; i < STEPS; i++) {
            if (random.nextInt(MOST) >= model.size()) {
                int number = table.reserve();
                assertNotEquals(0, number);
                assertNull(table.find(number), "nothing was put in");
                table.put(number, "" + i);
                assertNull(model.put(number, "" + i), "a number is not used twice at a time");
                late.remove(number);
            } else {
                int number = model.keySet().iterator().next();
                model.remove(number);
                table.remove(number);
                late.add(number);
            }
        }
        model.forEach((number, object) -> assertEquals(object, table.find(number)));
        late.forEach(number -> assertNull(table.find(number)));
        assertEquals(Set.copyOf(model.values()), Set.copyOf(table.all()));
    }

    @Test
    void itTakesAsManyAsItSaysAndThenAgain() {
        int[] numbers = new int[MOST];
        for (int i = 0; i < MOST; i++) {
            numbers[i] = table.reserve();
            assertNotEquals(0, numbers[i]);
        }
        assertEquals(0, table.reserve());
        table.remove(numbers[7]);
        int again = table.reserve();
        assertTrue(again != numbers[7] && again >> 8 == numbers[7] >> 8, "the same index in another generation");
    }

    @Test
    void whatWasTakenBackStaysSo() {
        int number = table.reserve();
        table.put(number, "first");
        table.put(number, "second");
        assertEquals("second", table.find(number));
        table.remove(number);
        table.remove(number);
        table.put(number, "late");
        int next = table.reserve();
        table.put(next, "next");
        int other = table.reserve();
        table.put(other, "other");
        assertNull(table.find(number));
        assertEquals(List.of("next", "other"), table.all());
    }

    @Test
    void generationChangesWithEachUseAndIsNeverZero() {
        int first = table.reserve();
        int last = first;
        for (int i = 0; i < 70_000; i++) {
            table.remove(last);
            int next = table.reserve();
            assertNotEquals(last, next);
            assertNotEquals(0, next);
            assertEquals(first >>> 8, next >>> 8, "the same index");
            last = next;
        }
    }

    @Test
    void oldestFreeIndexIsUsedFirst() {
        int a = table.reserve();
        int b = table.reserve();
        table.remove(b);
        table.remove(a);
        assertEquals(b >>> 8, table.reserve() >>> 8);
        assertEquals(a >>> 8, table.reserve() >>> 8);
    }

    @Test
    void strangeNumbersFindNothing() {
        int number = table.reserve();
        table.put(number, "one");
        table.put(0, "of a full table");
        for (int strange : new int[] {0, 1, number + 1, number ^ 1 << 23, -1, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
            assertNull(table.find(strange), () -> "number " + strange);
        }
    }
}
