package org.rdmasockets.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;

/** Who is visited when. */
class RosterTest {
    private final Roster roster = new Roster();
    private long now;

    /** Counts visits. */
    private static final class Visited extends VerbsConnection {
        private boolean busy;
        private int visits;

        Visited() {
            super(null);
        }

        @Override
        public boolean tick(long time) {
            visits++;
            return busy;
        }

        @Override
        public ConnectionParameters parameters() {
            throw new AssertionError();
        }

        @Override
        public void start(byte[] peer, boolean accepted) {
            throw new AssertionError();
        }

        @Override
        public void onConnectionEvent(ConnectionEvent event) {
            throw new AssertionError();
        }

        @Override
        public void fail(boolean reset, String reason) {
            throw new AssertionError();
        }

        @Override
        public void abort() {
            throw new AssertionError();
        }

        @Override
        public boolean uses(Device other) {
            return false;
        }

        @Override
        public boolean uses(Device other, int queuePairNumber) {
            return false;
        }

        @Override
        public boolean isDelivered() {
            return true;
        }

        @Override
        public long registeredBytes() {
            return 0;
        }
    }

    private List<Visited> add(int count) {
        List<Visited> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Visited one = new Visited();
            all.add(one);
            roster.add(one);
        }
        return all;
    }

    private void tick(int times) {
        for (int i = 0; i < times; i++) {
            roster.tick(now++);
        }
    }

    @Test
    void whoIsBusyIsVisitedAtEachTickAndWhoIsQuietOnceInARound() {
        List<Visited> all = add(10 * Roster.ROUND + 1);
        all.get(50).busy = true;
        tick(2);
        all.forEach(one -> assertEquals(2, one.visits));
        tick(3 * Roster.ROUND);
        for (Visited one : all) {
            assertEquals(one.busy ? 2 + 3 * Roster.ROUND : 2 + 3, one.visits);
        }
    }

    @Test
    void aRoundIsSpreadEvenlyOverItsTicks() {
        List<Visited> all = add(10 * Roster.ROUND);
        tick(2);
        for (int i = 1; i <= Roster.ROUND; i++) {
            tick(1);
            assertEquals((2L * Roster.ROUND + i) * 10, all.stream().mapToLong(one -> one.visits).sum());
        }
    }

    @Test
    void whoAttendsIsVisitedAtTheNextTickUntilItWasQuietAtTwo() {
        Visited one = add(40).get(7);
        tick(2 + Roster.ROUND);
        int before = one.visits;
        roster.attend(one);
        tick(2);
        assertEquals(before + 2, one.visits);
        tick(Roster.ROUND);
        assertEquals(before + 2 + 1, one.visits);
    }

    /** Its note may still have been on its way at the first of the two. */
    @Test
    void whoBecomesBusyAfterTheFirstQuietTickStays() {
        Visited one = add(1).getFirst();
        tick(1);
        one.busy = true;
        roster.tick(now);
        assertTrue(one.attending);
    }

    @Test
    void whoIsFoundBusyInARoundIsVisitedAtEachTick() {
        Visited one = add(40).get(7);
        tick(2);
        one.busy = true;
        tick(Roster.ROUND);
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
        tick(2 + Roster.ROUND);
        assertEquals(0, all.get(1).visits);
        assertEquals(Set.of(all.get(0), all.get(2)), Set.of(roster.all()));
    }

    /** Whatever is done in whatever order: all that are in are there once, and those who attend are visited. */
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
}
