package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The members that are visited, and when. */
class ConnectionRegistryTest {
    private final ConnectionRegistry roster = new ConnectionRegistry();
    private long now;

    /** Counts visits. */
    private static final class Visited extends ConnectionRegistry.Member {
        private boolean busy;
        private int visits;
        private long read;

        @Override
        boolean tick(long time) {
            visits++;
            return busy;
        }

        @Override
        long receivedBytes() {
            return read;
        }
    }

    private List<Visited> add(int count) {
        return addTo(roster, count);
    }

    private void tick(int times) {
        for (int i = 0; i < times; i++) {
            roster.tick(now++);
        }
    }

    @Test
    void whoIsBusyIsVisitedAtEachTickAndWhoIsQuietOnceInARound() {
        List<Visited> all = add(10 * ConnectionRegistry.ROUND + 1);
        all.get(50).busy = true;
        tick(2);
        all.forEach(one -> assertEquals(2, one.visits));
        tick(3 * ConnectionRegistry.ROUND);
        for (Visited one : all) {
            assertEquals(one.busy ? 2 + 3 * ConnectionRegistry.ROUND : 2 + 3, one.visits);
        }
    }

    @Test
    void aRoundIsSpreadEvenlyOverItsTicks() {
        List<Visited> all = add(10 * ConnectionRegistry.ROUND);
        tick(2);
        for (int i = 1; i <= ConnectionRegistry.ROUND; i++) {
            tick(1);
            assertEquals((2L * ConnectionRegistry.ROUND + i) * 10, all.stream().mapToLong(one -> one.visits).sum());
        }
    }

    @Test
    void whoAttendsIsVisitedAtTheNextTickUntilItWasQuietAtTwo() {
        Visited one = add(40).get(7);
        tick(2 + ConnectionRegistry.ROUND);
        int before = one.visits;
        roster.attend(one);
        tick(2);
        assertEquals(before + 2, one.visits);
        tick(ConnectionRegistry.ROUND);
        assertEquals(before + 2 + 1, one.visits);
    }

    /** Its note may still have been on its way at the first of the two. */
    @Test
    void whoBecomesBusyAfterTheFirstQuietTickStays() {
        Visited one = add(1).getFirst();
        tick(1);
        one.busy = true;
        tick(1);
        one.busy = false;
        tick(3);
        assertEquals(2 + 2, one.visits);
    }

    @Test
    void whoIsFoundBusyInARoundIsVisitedAtEachTick() {
        Visited one = add(40).get(7);
        tick(2);
        one.busy = true;
        tick(ConnectionRegistry.ROUND);
        int before = one.visits;
        tick(5);
        assertEquals(before + 5, one.visits);
    }

    @Test
    void whoWasTakenOutIsNotVisitedAnyMore() {
        List<Visited> all = add(3);
        roster.remove(all.get(1));
        roster.remove(all.get(1));
        roster.attend(all.get(1));
        tick(2 + ConnectionRegistry.ROUND);
        assertEquals(0, all.get(1).visits);
        assertEquals(Set.of(all.get(0), all.get(2)), Set.of(roster.all()));
    }

    @Test
    void bytesOfThoseThatAreGoneCount() {
        List<Visited> all = add(3);
        all.forEach(one -> one.read = 10);
        assertEquals(30, roster.receivedBytes());
        roster.remove(all.get(1));
        roster.remove(all.get(1));
        roster.remove(new Visited());
        all.get(0).read += 5;
        assertEquals(35, roster.receivedBytes());
        assertEquals(0, roster.sentBytes());
    }

    /** After any order of calls, each member is there once, and those that attend are visited. */
    @Test
    void itIsASetOfWhichSomeAttend() {
        Random random = new Random(1);
        List<Visited> in = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            int size = in.size();
            boolean growing = i / 4_000 % 2 == 0;
            if (size == 0 || random.nextInt(growing ? 3 : 5) == 0) {
                in.addAll(add(1));
            } else if (random.nextInt(3) == 0) {
                roster.remove(in.remove(random.nextInt(size)));
            } else if (random.nextInt(3) == 0) {
                Visited one = in.get(random.nextInt(size));
                roster.attend(one);
                int before = one.visits;
                tick(1);
                assertEquals(before + 1, one.visits);
            } else {
                in.get(random.nextInt(size)).busy = random.nextBoolean();
                tick(1);
            }
            assertEquals(in.size(), roster.size());
        }
        assertEquals(Set.copyOf(in), Set.of(roster.all()));
    }

    /** Members that come, attend, fall silent and go, also in step with the round, do not make it skip any other. */
    @Test
    void whoIsQuietIsVisitedInEachRoundWhateverOthersDo() {
        for (int beat : new int[] {1, 3, ConnectionRegistry.ROUND / 2, ConnectionRegistry.ROUND,
                ConnectionRegistry.ROUND + 1}) {
            ConnectionRegistry fresh = new ConnectionRegistry();
            Random random = new Random(beat);
            List<Visited> restless = addTo(fresh, 30);
            List<Visited> quiet = addTo(fresh, 160);
            int[] seen = new int[quiet.size()];
            int[] seenAt = new int[quiet.size()];
            for (int tick = 0; tick < 60 * ConnectionRegistry.ROUND; tick++) {
                if (tick % beat == 0) {
                    restless.forEach(fresh::attend);
                    fresh.remove(restless.remove(random.nextInt(restless.size())));
                    restless.addAll(addTo(fresh, 1));
                }
                fresh.tick(tick);
                for (int i = 0; i < seen.length; i++) {
                    int visits = quiet.get(i).visits;
                    seenAt[i] = visits > seen[i] ? tick : seenAt[i];
                    seen[i] = visits;
                    assertTrue(tick - seenAt[i] <= 2 * ConnectionRegistry.ROUND,
                            "missed for more than two rounds, beat " + beat);
                }
            }
        }
    }

    private static List<Visited> addTo(ConnectionRegistry roster, int count) {
        List<Visited> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(new Visited());
            roster.add(all.getLast());
        }
        return all;
    }
}
