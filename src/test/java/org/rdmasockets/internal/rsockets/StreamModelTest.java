package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.internal.rsockets.StreamPeer.Ending;
import org.rdmasockets.internal.rsockets.StreamPeer.Plan;

/**
 * Two ends on a simulated wire that steps in random order: Java to Java, and Java to a model of C. Every byte is
 * checked, every rule of the wire is watched, and the run must come to its end. A failure names its seed; put that into
 * {@code -Dorg.rdmasockets.test.seed} to run it alone.
 */
class StreamModelTest {
    private static final int RUNS = Integer.getInteger("org.rdmasockets.test.runs", 1000);
    private static final Long SEED = Long.getLong("org.rdmasockets.test.seed");

    private static final int MOST_BYTES = 30_000;
    private static final int MOST_CALLS = 200;

    /** Rounds in which nothing happens before every possible step is tried; if none does anything, the run is stuck. */
    private static final int IDLE_ROUNDS = 60;
    private static final int MOST_STEPS = 50_000_000;
    private static final int FORCED_STEPS = 2000;

    @Test
    void javaTalksToJavaOverInfiniBand() throws Exception {
        runMany(true, false);
    }

    @Test
    void javaTalksToJavaOverIwarp() throws Exception {
        runMany(false, false);
    }

    @Test
    void javaTalksToCOverInfiniBand() throws Exception {
        runMany(true, true);
    }

    @Test
    void javaTalksToCOverIwarp() throws Exception {
        runMany(false, true);
    }

    @ParameterizedTest
    @EnumSource(FlowKind.class)
    void otherFlowsOverInfiniBand(FlowKind wanted) throws Exception {
        runMany(true, false, wanted);
    }

    @ParameterizedTest
    @EnumSource(FlowKind.class)
    void otherFlowsOverIwarp(FlowKind wanted) throws Exception {
        runMany(false, false, wanted);
    }

    @ParameterizedTest
    @EnumSource(FlowKind.class)
    void cKnowsNoOtherFlow(FlowKind wanted) throws Exception {
        runMany(true, true, wanted);
        runMany(false, true, wanted);
    }

    private static void runMany(boolean immediateData, boolean withC) throws Exception {
        runMany(immediateData, withC, FlowKind.CREDIT_RING);
    }

    private static void runMany(boolean immediateData, boolean withC, FlowKind wanted) throws Exception {
        if (SEED != null) {
            run(SEED, immediateData, withC, wanted);
            return;
        }
        long first = new Random().nextInt(1 << 30) * 100_000L;
        int growths = 0;
        int moves = 0;
        int placements = 0;
        int reads = 0;
        int words = 0;
        int joined = 0;
        for (long seed = first; seed < first + RUNS; seed++) {
            try {
                int[] events = run(seed, immediateData, withC, wanted);
                growths += events[0];
                moves += events[1];
                placements += events[2];
                reads += events[3];
                words += events[4];
                joined += events[5];
            } catch (Exception | AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
        assertTrue(withC || wanted != FlowKind.READ_RING || reads > RUNS / 2 && words > RUNS / 20,
                reads + " reads of positions, " + words + " words of who waits");
        assertTrue(withC || wanted != FlowKind.SEND_RECEIVE || words > RUNS, words + " messages with a payload");
        assertTrue(!immediateData || wanted != FlowKind.CREDIT_RING || joined > RUNS / 4, joined + " writes joined");
        if (wanted != FlowKind.CREDIT_RING) {
            return;
        }
        assertTrue(growths > RUNS / 4, "hardly anything grew: " + growths + " times");
        assertTrue(withC ? moves == 0 : moves > RUNS / 20, moves + " offers were taken");
        assertTrue(withC ? placements == 0 : placements > RUNS / 20, placements + " times something was placed");
    }

    /**
     * Returns how often something grew, a peer moved to an offered chunk, something was placed, a position was read, a
     * word was said that only other flows have, or a message sent, and a write joined the one before it.
     */
    private static int[] run(long seed, boolean immediateData, boolean withC, FlowKind wanted)
            throws Exception {
        Random random = new Random(seed);
        try (Arena arena = Arena.ofConfined()) {
            Run run = new Run(random, immediateData, withC, wanted, arena);
            run.play();
            run.verify();
            return new int[] {run.left.growths(), run.wire.moves(), run.left.placements(), run.wire.reads(),
                run.wire.words(), run.left.joined()};
        }
    }

    /** One run. */
    private static final class Run {
        private final Random random;
        private final boolean withC;
        private FlowKind wanted;
        private final SimulatedWire wire;
        private final JavaPeer left;
        private final StreamPeer right;
        private final Plan leftPlan;
        private final Plan rightPlan;
        private final int laziness;
        private final boolean roomForControls;

        Run(Random random, boolean immediateData, boolean withC, FlowKind wanted, Arena arena)
                throws Exception {
            this.random = random;
            this.wanted = wanted;
            this.withC = withC;
            Ending leftEnding = Ending.values()[random.nextInt(3)];
            Ending rightEnding = Ending.values()[random.nextInt(3)];
            if (leftEnding == Ending.WAIT_FOR_END && rightEnding == Ending.WAIT_FOR_END) {
                rightEnding = Ending.HALF_CLOSE;
            } else if (withC && leftEnding != Ending.WAIT_FOR_END) {
                // C loses its tail when both half-close, or when we close while it closes.
                rightEnding = Ending.WAIT_FOR_END;
            }
            int leftPerCall = 1 + random.nextInt(pick(2, 20, 300, 3000, 20_000));
            int rightPerCall = 1 + random.nextInt(pick(2, 20, 300, 3000, 20_000));
            int mostBytes = Math.min(MOST_BYTES, MOST_CALLS * Math.min(leftPerCall, rightPerCall));
            leftPlan = new Plan(random.nextInt(mostBytes + 1) / pick(1, 10, 1000), leftPerCall, leftEnding);
            rightPlan = new Plan(random.nextInt(mostBytes + 1) / pick(1, 10, 1000), rightPerCall, rightEnding);
            laziness = pick(1, 2, 8, 30);
            StreamSettings leftSettings = settings(immediateData, immediateData && random.nextBoolean());
            left = new JavaPeer(arena, leftSettings, pick(0, 4, 16, 64), leftPlan, random, 1);
            if (withC) {
                StreamSettings rightSettings = cSettings(immediateData, leftSettings);
                CPeer c = new CPeer(arena, rightSettings, pick(2, 2, 4), rightPlan, random, -1);
                wire = new SimulatedWire(immediateData, left.queuePair, c.queuePair);
                c.attach(wire.right);
                right = c;
                roomForControls = rightSettings.maxReceives() >= 64;
            } else {
                wanted = random.nextInt(8) == 0 ? FlowKind.CREDIT_RING : wanted;
                JavaPeer java = new JavaPeer(arena, settings(immediateData, immediateData && random.nextBoolean()),
                        pick(0, 4, 16, 64), rightPlan, random, -1);
                wire = new SimulatedWire(immediateData, left.queuePair, java.queuePair);
                java.attach(wire.right);
                java.partner(left);
                left.partner(java);
                right = java;
                roomForControls = true;
            }
            left.attach(wire.left);
            connect();
        }

        private void connect() throws Exception {
            left.prepare();
            right.prepare();
            ConnectData leftData = ConnectData.decode(left.localData().encode());
            ConnectData rightData = ConnectData.decode(right.localData().encode());
            wire.connect(leftData, rightData);
            left.start(rightData);
            // The right end learns late that the connection is up, and what came before counts.
            for (int i = random.nextInt(50); i > 0 && !withC; i--) {
                step(2 * random.nextInt(4));
                right.deliver();
            }
            right.start(leftData);
        }

        private int pick(int... choices) {
            return choices[random.nextInt(choices.length)];
        }

        private StreamSettings settings(boolean immediateData, boolean emptyReceive) {
            int send = pick(1024, 1500, 4096, 16_384);
            int receive = pick(1024, 1026, 2050, 4096, 16_384);
            int chunk = receive / 2 / pick(1, 2, 8, 64);
            return new StreamSettings(immediateData, emptyReceive, immediateData, copiesAtPost(immediateData),
                    pick(16, 17, 20, 64), pick(16, 17, 23, 40, 128), send, receive, send / pick(1, 2, 8, 64),
                    withC ? Math.max(512, chunk) : chunk, pick(100, 1024, 65_536, 1 << 20), pick(0, 0, 1, 5),
                    FlowKind.CREDIT_RING, 4096).withFlow(wanted, pick(1, 7, 64, 700, 5000));
        }

        /** Where there is no immediate data, messages have a header, which needs memory. */
        private boolean copiesAtPost(boolean immediateData) {
            return random.nextInt(3) == 0 && (immediateData || wanted != FlowKind.SEND_RECEIVE);
        }

        /** C reads chunks straight from memory, so a send buffer larger than a few of our chunks starves receives. */
        private StreamSettings cSettings(boolean immediateData, StreamSettings ours) {
            int send = Math.max(4096, Math.min(16_384, 2 * ours.firstChunkBytes()));
            return new StreamSettings(immediateData, immediateData, immediateData, false, pick(16, 64, 384),
                    pick(16, 16, 17, 40, 64, 384), send, pick(1024, 1026, 4096, 16_384), 1, 1, 1 << 16, 0,
                    FlowKind.CREDIT_RING, 4096);
        }

        void play() throws Exception {
            int idle = 0;
            int steps = 0;
            while (!(left.isDone() && right.isDone())) {
                assertTrue(steps++ < MOST_STEPS, () -> "no end in sight: left " + left + "\nright " + right);
                boolean changed = step(random.nextInt(8));
                idle = changed ? 0 : idle + 1;
                if (idle > IDLE_ROUNDS * laziness) {
                    boolean any = false;
                    for (int i = 0; i < FORCED_STEPS && !any; i++) {
                        any = left.act() || step(1 + i % 7);
                    }
                    assertTrue(any, () -> "stuck: left " + left + "\nright " + right + "\nwire " + wire.left.activity()
                            + " / " + wire.right.activity());
                    idle = 0;
                }
            }
        }

        private boolean step(int action) throws Exception {
            return switch (action) {
                case 0 -> random.nextInt(laziness) == 0 && left.act();
                case 1 -> right.act();
                case 2 -> wire.left.transmit();
                case 3 -> wire.right.transmit();
                case 4 -> wire.left.proceed();
                case 5 -> wire.right.proceed();
                case 6 -> left.deliver();
                default -> right.deliver();
            };
        }

        void verify() {
            left.verifyNothingIsLeft();
            if (right instanceof JavaPeer java) {
                java.verifyNothingIsLeft();
            }
            verify(left, right, leftPlan, rightPlan);
            verify(right, left, rightPlan, leftPlan);
            if (roomForControls) {
                assertEquals(0, wire.receiverNotReady(), () -> "receiver not ready: " + left + "\n" + right);
            }
        }

        private void verify(StreamPeer writer, StreamPeer reader, Plan writing, Plan reading) {
            if (reading.ending() != Ending.CLOSE) {
                assertEquals(writer.written(), reader.read(), () -> "bytes of " + writer + "\nto " + reader);
                assertTrue(reader.sawEnd(), () -> "no end of stream at " + reader);
                if (writing.ending() == Ending.CLOSE) {
                    return;
                }
            }
            if (reading.ending() != Ending.CLOSE) {
                assertEquals(writing.bytes(), writer.written(), () -> "cut off: " + writer + "\n" + reader);
            }
        }
    }
}
