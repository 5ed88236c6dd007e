package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayDeque;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.ReceiveRequest;

/** Identifiers come out as they went in, whatever runs they make. */
class PostedReceivesTest {
    private static final int STEPS = 200_000;
    private static final int MOST = 300;

    private final PostedReceives queue = new PostedReceives(MOST, 1);
    private final ReceiveRequest empty = new ReceiveRequest(1);
    private final ArrayDeque<Long> model = new ArrayDeque<>();

    private void add(long id) {
        queue.add(empty, id);
        model.add(id);
    }

    private void remove() {
        assertEquals(model.remove(), queue.remove());
    }

    @Test
    void runsAndSingleIdentifiersComeOutInOrder() {
        Random random = new Random(5);
        long next = Long.MAX_VALUE - 1000; // so that runs go over the end of the numbers
        for (int i = 0; i < STEPS; i++) {
            boolean fill = random.nextInt(MOST) > model.size();
            for (int n = random.nextInt(8); n >= 0; n--) {
                if (fill) {
                    add(next);
                    next += random.nextInt(4) == 0 ? random.nextLong() : 1;
                } else if (!model.isEmpty()) {
                    remove();
                }
            }
        }
        while (!model.isEmpty()) {
            remove();
        }
    }

    @Test
    void equalAndDescendingIdentifiersAreKeptApart() {
        for (int id = 9; id >= 0; id--) {
            add(id);
            add(id);
        }
        while (!model.isEmpty()) {
            remove();
        }
    }

    @Test
    void anEmptiedQueueBeginsAnew() {
        add(7);
        remove();
        add(8);
        add(9);
        remove();
        remove();
        add(10);
        remove();
    }
}
