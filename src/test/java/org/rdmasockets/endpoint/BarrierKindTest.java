package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** ibverbs-rs: the topology of each algorithm, played through for many sizes. */
class BarrierKindTest {
    @Test
    void whoPassesHasHeardOfAllAndAllPass() {
        for (BarrierKind kind : BarrierKind.values()) {
            for (int count = 1; count <= 40; count++) {
                play(kind, count);
            }
        }
    }

    /** A node tells another the set of nodes that it has heard of; the set waits there until that node listens. */
    private static void play(BarrierKind kind, int count) {
        List<Deque<BarrierKind.Step>> left = new ArrayList<>();
        List<BitSet> known = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            left.add(new ArrayDeque<>(kind.steps(i, count)));
            BitSet own = new BitSet();
            own.set(i);
            known.add(own);
        }
        Map<Long, Deque<BitSet>> under = new HashMap<>();
        boolean moved = true;
        while (moved) {
            moved = false;
            for (int i = 0; i < count; i++) {
                moved |= move(i, left.get(i), known.get(i), under);
            }
        }
        for (int i = 0; i < count; i++) {
            int place = i;
            assertTrue(left.get(i).isEmpty(), () -> kind + " of " + count + ": " + place + " waits for ever");
            assertEquals(count, known.get(i).cardinality(), () -> kind + " of " + count + ": " + place);
        }
        assertTrue(under.values().stream().allMatch(Deque::isEmpty), () -> kind + " of " + count + " tells too much");
    }

    private static boolean move(int place, Deque<BarrierKind.Step> left, BitSet known, Map<Long, Deque<BitSet>> under) {
        BarrierKind.Step step = left.peek();
        if (step == null) {
            return false;
        }
        if (step.tell()) {
            under.computeIfAbsent(key(place, step.place()), k -> new ArrayDeque<>()).add((BitSet) known.clone());
        } else {
            Deque<BitSet> told = under.get(key(step.place(), place));
            if (told == null || told.isEmpty()) {
                return false;
            }
            known.or(told.poll());
        }
        left.poll();
        return true;
    }

    private static long key(int from, int to) {
        return 1000L * from + to;
    }
}
