package org.rdmasockets.internal.sharedmemory.link;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A sleeping end is rung: entries, room and receives come at any moment of going to sleep. A missed doorbell ends in
 * "waited in vain". More rounds with {@code -Dorg.rdmasockets.test.wakes=1000000}.
 */
class LinkWakeTest {
    private static final int ROUNDS = Integer.getInteger("org.rdmasockets.test.wakes", 20_000);
    private static final byte[] NOTHING = {};

    private Node.Pair pair;
    private Recorder near;
    private Recorder far;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    @BeforeEach
    void connect() throws Exception {
        pair = Node.Pair.connect();
        near = pair.nearEnd();
        far = pair.farEnd();
        near.deaf = true;
        far.deaf = true;
    }

    @AfterEach
    void disconnect() {
        pair.close();
    }

    /** The work of a test's thread. */
    private interface Part {
        void run() throws InterruptedException;
    }

    private Thread start(Part part) {
        return Thread.ofPlatform().daemon().start(() -> {
            try {
                part.run();
            } catch (InterruptedException | RuntimeException | Error e) {
                failure.compareAndSet(null, e);
            }
        });
    }

    private void finish(Thread thread) throws InterruptedException {
        thread.join();
        if (failure.get() != null) {
            throw new AssertionError(failure.get());
        }
    }

    private static void hesitate(Random random) {
        for (int i = random.nextInt(200); i > 0; i--) {
            Thread.onSpinWait();
        }
    }

    /** Takes all entries, and asks for the next one whenever there is none. */
    private Thread consume(Runnable arm, AtomicInteger seen) {
        return start(() -> {
            while (seen.get() < ROUNDS) {
                arm.run();
                int taken = far.link.drain(16);
                if (taken == 0 && seen.get() < ROUNDS) {
                    far.awaitDoorbell();
                }
                seen.addAndGet(taken);
            }
        });
    }

    /** Sends one entry after the other, each when the one before it was seen. */
    private static void produce(int seed, IntConsumer send, AtomicInteger seen, Thread consumer) {
        Random random = new Random(seed);
        for (int i = 0; i < ROUNDS && consumer.isAlive(); i++) {
            hesitate(random);
            send.accept(i);
            while (seen.get() <= i && consumer.isAlive()) {
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void whoeverArmsAndFindsNothingIsRungForTheNextEntry() throws InterruptedException {
        AtomicInteger seen = new AtomicInteger();
        Thread consumer = consume(far.link::arm, seen);
        produce(1, i -> assertTrue(near.send(1, i, i, NOTHING)), seen, consumer);
        finish(consumer);
    }

    @Test
    void whoeverFindsNoRoomIsRungWhenThereIsSome() throws InterruptedException {
        Thread producer = start(() -> {
            byte[] payload = new byte[RingWriter.MAX_PAYLOAD_BYTES];
            for (int i = 0; i < ROUNDS; i++) {
                while (!near.send(1, i, i, payload)) {
                    near.awaitDoorbell();
                }
            }
        });
        Random random = new Random(2);
        int taken = 0;
        while (taken < ROUNDS && producer.isAlive()) {
            hesitate(random);
            far.link.drain(1 + random.nextInt(16));
            for (; !far.isEmpty(); taken++) {
                far.next();
            }
        }
        finish(producer);
    }

    @Test
    void whoeverStarvesIsRungForTheNextReceive() throws Exception {
        try (LinkSlot nearSlot = near.link.openSlot(); LinkSlot farSlot = far.link.openSlot()) {
            nearSlot.connect(farSlot.index());
            AtomicInteger seen = new AtomicInteger();
            Thread initiator = start(() -> {
                for (int i = 1; i <= ROUNDS; i++) {
                    while (nearSlot.peerReceivesPosted() - i < 0) {
                        nearSlot.starve();
                        if (nearSlot.peerReceivesPosted() - i < 0) {
                            near.awaitDoorbell();
                        }
                    }
                    seen.set(i);
                }
            });
            Random random = new Random(3);
            for (int i = 1; i <= ROUNDS && initiator.isAlive(); i++) {
                hesitate(random);
                farSlot.receivesPosted(i);
                while (seen.get() < i && initiator.isAlive()) {
                    Thread.onSpinWait();
                }
            }
            finish(initiator);
        }
    }
}
