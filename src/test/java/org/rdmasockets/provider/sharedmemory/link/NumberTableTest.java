package org.rdmasockets.provider.sharedmemory.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A table by numbers does what a map does. */
class NumberTableTest {
    private static final int STEPS = 200_000;
    private static final int NUMBERS = 700;

    @Test
    void numbersFindWhatWasPutInLast() {
        Random random = new Random(5);
        NumberTable<String> table = new NumberTable<>();
        Map<Integer, String> model = new HashMap<>();
        for (int i = 0; i < STEPS; i++) {
            // Neighbours, and numbers that differ in their high bits only.
            int number = random.nextInt(NUMBERS) << (random.nextBoolean() ? 0 : 20);
            if (random.nextInt(NUMBERS) > model.size()) {
                assertEquals(model.put(number, "" + i), table.put(number, "" + i));
            } else {
                assertEquals(model.remove(number), table.remove(number));
            }
            assertEquals(model.size(), table.size());
        }
        model.forEach((number, object) -> assertEquals(object, table.get(number)));
        Set<String> all = new HashSet<>();
        table.forEach(all::add);
        assertEquals(Set.copyOf(model.values()), all);
        for (int number : model.keySet()) {
            table.remove(number);
            assertNull(table.get(number));
        }
        assertEquals(0, table.size());
    }
}
