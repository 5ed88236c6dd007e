package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Pending;
import org.rdmasockets.endpoint.RdmaEndpoint;

/**
 * Sends the parts of long messages over an endpoint, each by the thread that sends the message. Each of a few has a few
 * slots for its parts, and waits for them: so they take turns, and a short frame goes behind those in the slots only.
 */
final class PartSender {
    /** The longest message that goes as one piece: a buffer of the peer, without the endpoint's header. */
    static final int PIECE_BYTES = 8192 - 56;
    private static final int PART_BYTES = PIECE_BYTES - Frame.FIXED_BYTES;
    /** Messages on their way at once; further ones wait. */
    private static final int MOST = 8;
    private static final int SLOTS = 8;
    /** So much of a message a peer has to take in {@link EndpointCarrier#STALL_NANOS}. */
    private static final int STEP_BYTES = 1 << 20;

    private final RdmaEndpoint endpoint;
    private final Semaphore places = new Semaphore(MOST, true);
    private final AtomicInteger lastNumber = new AtomicInteger();
    /** Those that no message uses; guarded by itself. */
    private final ArrayDeque<Slots> free = new ArrayDeque<>(1);

    /** The slots of one message at a time, and what is in progress in each. */
    private static final class Slots {
        private final LocalRegion memory;
        private final Pending<?>[] pending = new Pending<?>[SLOTS];
        private int next;

        private Slots(RdmaEndpoint endpoint) throws IOException {
            memory = endpoint.allocate((long) SLOTS * PIECE_BYTES);
        }
    }

    /** Any number of messages, one after the other or at once, over an endpoint. */
    PartSender(RdmaEndpoint endpoint) {
        this.endpoint = endpoint;
    }

    /**
     * Sends the parts of the message of a frame, which has to follow with the number that this gives: without it they
     * count for nothing. Waits until the deadline, unless the peer takes too little.
     *
     * @throws IOException as {@link Carrier#send}
     */
    int send(Frame frame, long deadlineNanos) throws IOException {
        boolean placed = false;
        Slots slots = null;
        try {
            // Each that has a place gives it up in its time, also if the peer takes nothing.
            placed = places.tryAcquire(deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE
                    : deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (!placed) {
                throw EndpointCarrier.late(deadlineNanos);
            }
            synchronized (free) {
                slots = free.poll();
            }
            if (slots == null) {
                slots = new Slots(endpoint);
            }
            int number = lastNumber.incrementAndGet();
            send(frame, number, slots, deadlineNanos);
            return number;
        } catch (InterruptedException e) {
            throw EndpointCarrier.interrupted();
        } finally {
            if (slots != null) {
                synchronized (free) {
                    free.push(slots);
                }
            }
            if (placed) {
                places.release();
            }
        }
    }

    private void send(Frame frame, int number, Slots slots, long deadlineNanos) throws IOException {
        byte[] message = frame.message;
        byte[] head = new byte[Frame.FIXED_BYTES];
        long stepNanos = 0;
        int step = 0;
        for (int done = 0; done < message.length; done += PART_BYTES) {
            if (done >= step) {
                step += STEP_BYTES;
                stepNanos = System.nanoTime() + EndpointCarrier.STALL_NANOS;
            }
            int slot = slots.next;
            if (slots.pending[slot] != null) {
                await(slots.pending[slot], stepNanos, deadlineNanos);
                slots.pending[slot] = null;
            }
            int size = Math.min(PART_BYTES, message.length - done);
            Frame part = new Frame(Frame.PART, Frame.HAS_MESSAGE | (done == 0 ? Frame.BEGINS : 0), frame.call);
            part.value = (long) number << 32 | message.length;
            part.encode(ByteBuffer.wrap(head));
            long at = (long) slot * PIECE_BYTES;
            slots.memory.put(at, head, head.length);
            slots.memory.put(at + head.length, message, done, size);
            slots.pending[slot] = endpoint.startSend(slots.memory.slice(at, head.length + size));
            slots.next = (slot + 1) % SLOTS;
        }
    }

    /** Waits for what is in a slot. */
    private static void await(Pending<?> before, long stepNanos, long deadlineNanos) throws IOException {
        if (before.isDone()) {
            before.await();
            return;
        }
        long until = deadlineNanos == Long.MAX_VALUE || stepNanos - deadlineNanos < 0 ? stepNanos : deadlineNanos;
        try {
            before.await(Duration.ofNanos(Math.max(0, until - System.nanoTime())));
        } catch (SocketTimeoutException e) {
            throw EndpointCarrier.late(deadlineNanos);
        }
    }
}
