package org.rdmasockets.internal.rpc.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.lock.Losses;

/**
 * Two ends over a network that loses, repeats, reorders, delays and damages packets, in simulated time. Nothing is
 * lost, nothing comes twice or out of order, and nothing grows. {@code -Dorg.rdmasockets.test.packets} says how many
 * packets.
 */
@Timeout(600)
class SessionModelTest {
    private static final long PACKETS = Long.getLong("org.rdmasockets.test.packets", 200_000);
    private static final Long SEED = Long.getLong("org.rdmasockets.test.seed");
    private static final int PAYLOAD = 200;
    private static final int MAX_MESSAGE = 20_000;
    private static final int WAITING = 4_000;
    private static final long MOST_QUEUED = 10_000;

    private record Flight(long at, long order, int to, byte[] packet) {
    }

    /** One end, and what its application has done. */
    private static final class End {
        private final Session session;
        private final Random sends;
        private final Random expects;
        private long sent;
        private long received;
        private boolean lazy;

        End(Session session, long sendSeed, long expectSeed) {
            this.session = session;
            sends = new Random(sendSeed);
            expects = new Random(expectSeed);
        }
    }

    private static byte[] message(Random random) {
        byte[] message = new byte[random.nextInt(8) == 0 ? random.nextInt(MAX_MESSAGE + 1) : random.nextInt(300)];
        random.nextBytes(message);
        return message;
    }

    @Test
    void nothingIsLostRepeatedOrReordered() {
        long seed = SEED == null ? new Random().nextLong() : SEED;
        try {
            run(seed, PACKETS, 10, 5, 1);
        } catch (AssertionError e) {
            throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
        }
    }

    @Test
    void manyShortRuns() {
        long first = SEED == null ? new Random().nextLong() : SEED;
        long lostBefore = Losses.packets();
        for (long seed = first; seed < first + (SEED == null ? 100 : 1); seed++) {
            Random random = new Random(seed);
            try {
                run(seed, 2_000, random.nextInt(40), random.nextInt(20), random.nextInt(5));
            } catch (AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
        assertTrue(Losses.packets() > lostBefore, "each packet that is sent again is counted");
    }

    /** A process that slept finds its peer silent before a message is queued, which therefore never goes out. */
    @Test
    void aPeerThatWasSilentForTooLongIsGone() {
        Session session = new Session(1, 2, PAYLOAD, MAX_MESSAGE, WAITING, 0);
        session.expire(19_999_999_999L);
        assertNull(session.failure());
        session.expire(20_000_000_000L);
        assertEquals("the peer has said nothing for 20 s", session.failure());
    }

    /** Plays one run; SessionMutantsTest does so with a Session that is wrong. */
    static void run(long seed, long packets, int loss, int repeats, int damage) {
        Random random = new Random(seed);
        End[] ends = {new End(new Session(1, 2, PAYLOAD, MAX_MESSAGE, WAITING, 0), seed, seed + 1),
            new End(new Session(2, 1, PAYLOAD, MAX_MESSAGE, WAITING, 0), seed + 1, seed)};
        PriorityQueue<Flight> network = new PriorityQueue<>(Comparator.comparingLong(Flight::at)
                .thenComparingLong(Flight::order));
        ByteBuffer buffer = ByteBuffer.allocate(Packet.HEADER_BYTES + PAYLOAD);
        Packet packet = new Packet();
        long now = 0;
        long order = 0;
        long steps = 0;
        while (true) {
            boolean sending = order < packets;
            boolean settled = !sending;
            for (int i = 0; i < 2; i++) {
                End end = ends[i];
                assertNull(end.session.failure());
                act(end, random, sending);
                while (end.session.next(buffer, now)) {
                    byte[] bytes = new byte[buffer.remaining()];
                    buffer.get(bytes);
                    assertTrue(bytes.length <= Packet.HEADER_BYTES + PAYLOAD);
                    order++;
                    if (random.nextInt(100) >= loss) {
                        network.add(new Flight(now + 20_000 + random.nextInt(200_000), order, 1 - i, bytes));
                    }
                    if (random.nextInt(100) < repeats) {
                        network.add(new Flight(now + 20_000 + random.nextInt(2_000_000), order, 1 - i, bytes.clone()));
                    }
                }
                receive(end);
                settled &= end.session.isSettled() && end.session.hasPeerEnded();
                assertTrue(end.session.waitingBytes() <= WAITING + 2L * MAX_MESSAGE + 64 * PAYLOAD,
                        () -> "memory: " + end.session.waitingBytes());
            }
            if (settled) {
                break;
            }
            assertTrue(++steps < 100 * packets + 100_000, "it does not end");
            long next = Math.min(ends[0].session.deadline(), ends[1].session.deadline());
            if (!network.isEmpty() && network.peek().at <= Math.max(now, next)) {
                Flight flight = network.poll();
                now = Math.max(now, flight.at);
                if (random.nextInt(100) < damage) {
                    flight.packet[random.nextInt(flight.packet.length)] ^= (byte) (1 << random.nextInt(8));
                }
                if (packet.read(ByteBuffer.wrap(flight.packet))) {
                    ends[flight.to].session.receive(packet, now);
                }
            } else {
                now = Math.max(now + 1, next);
            }
        }
        for (int i = 0; i < 2; i++) {
            receive(ends[i]);
            assertEquals(ends[1 - i].sent, ends[i].received);
        }
    }

    private static void act(End end, Random random, boolean sending) {
        if (random.nextInt(200) == 0) {
            end.lazy = sending && !end.lazy;
        }
        while (sending && end.session.queuedBytes() < MOST_QUEUED && random.nextInt(4) > 0) {
            end.session.send(message(end.sends));
            end.sent++;
        }
        if (!sending && !end.lazy) {
            end.session.end();
        }
        end.lazy &= sending;
    }

    private static void receive(End end) {
        if (end.lazy) {
            return;
        }
        for (byte[] got = end.session.poll(); got != null; got = end.session.poll()) {
            byte[] expected = message(end.expects);
            assertTrue(Arrays.equals(expected, got), "message " + end.received + " has " + got.length
                    + " bytes, not " + expected.length + ", or others");
            end.received++;
        }
    }
}
