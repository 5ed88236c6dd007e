package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Pending;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.TransportType;

/**
 * Sends the parts of long messages over an endpoint, each by the thread that sends the message. Each of a few has a few
 * slots for its parts, and waits for them: so they take turns, and a short frame goes behind those in the slots only.
 * Small parts go into buffers of the peer; large ones, of very long messages, it reads out of the slots.
 */
final class PartSender {
    /** The longest message that goes as one piece: a buffer of the peer, without the endpoint's header. */
    static final int PIECE_BYTES = 8192 - 56;
    /** The longest message that goes in small parts. */
    private static final int MOST_IN_SMALL_BYTES = 64 << 10;
    /** Four of these take a message of 1 MiB and a little more. */
    private static final int LARGE_BYTES = 260 << 10;
    /** Messages on their way at once; further ones wait. */
    private static final int MOST = 8;
    /** So much of a message a peer has to take in {@link EndpointCarrier#STALL_NANOS}. */
    private static final int STEP_BYTES = 1 << 20;

    /** Large slots that this process may still have, a MiB each: an eighth of the heap's limit, at least 32 MiB. */
    private static final Semaphore LARGE = new Semaphore(Math.clamp(Runtime.getRuntime().maxMemory() >> 23, 32,
            1 << 14));

    private final RdmaEndpoint endpoint;
    private final Semaphore places = new Semaphore(MOST, true);
    private final AtomicInteger lastNumber = new AtomicInteger();
    /** Slots that no message uses; guarded by free, as is the next. */
    private final ArrayDeque<Slots> free = new ArrayDeque<>(1);
    private final ArrayDeque<Slots> freeLarge = new ArrayDeque<>(0);
    private boolean closed;

    /** The slots of one message at a time, and what is in progress in each. */
    private static final class Slots {
        private final boolean large;
        private final int partBytes;
        private final LocalRegion memory;
        private final Pending<?>[] pending;
        private int next;

        private Slots(RdmaEndpoint endpoint, boolean large) throws IOException {
            this.large = large;
            partBytes = large ? LARGE_BYTES : PIECE_BYTES;
            pending = new Pending<?>[large ? 4 : 8];
            memory = endpoint.allocate((long) pending.length * partBytes, 1,
                    Set.of(large ? AccessFlag.REMOTE_READ : AccessFlag.LOCAL_WRITE));
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
            slots = take(frame.message.length > MOST_IN_SMALL_BYTES);
            int number = lastNumber.incrementAndGet();
            send(frame, number, slots, deadlineNanos);
            return number;
        } catch (InterruptedException e) {
            throw EndpointCarrier.interrupted();
        } finally {
            if (slots != null) {
                giveBack(slots);
            }
            if (placed) {
                places.release();
            }
        }
    }

    private Slots take(boolean large) throws IOException {
        synchronized (free) {
            Slots taken = (large ? freeLarge : free).poll();
            if (taken != null) {
                return taken;
            }
        }
        // Some iWARP adapters cannot read into the memory of messages: see RdmaEndpoint.startRead.
        if (!large || endpoint.device().transport() == TransportType.IWARP || !LARGE.tryAcquire()) {
            return large ? take(false) : new Slots(endpoint, false);
        }
        try {
            return new Slots(endpoint, true);
        } catch (Throwable e) {
            LARGE.release();
            throw e;
        }
    }

    private void giveBack(Slots slots) {
        synchronized (free) {
            if (!closed) {
                (slots.large ? freeLarge : free).push(slots);
                return;
            }
        }
        if (slots.large) {
            LARGE.release();
        }
    }

    /** The endpoint is closed, and the memory of the slots with it. */
    void close() {
        synchronized (free) {
            closed = true;
            LARGE.release(freeLarge.size());
            freeLarge.clear();
        }
    }

    private void send(Frame frame, int number, Slots slots, long deadlineNanos) throws IOException {
        byte[] message = frame.message;
        byte[] head = new byte[Frame.FIXED_BYTES];
        long stepNanos = 0;
        int step = 0;
        int size;
        for (int done = 0; done < message.length; done += size) {
            if (done >= step) {
                step += STEP_BYTES;
                stepNanos = System.nanoTime() + EndpointCarrier.STALL_NANOS;
            }
            int slot = slots.next;
            if (slots.pending[slot] != null) {
                await(slots.pending[slot], stepNanos, deadlineNanos);
                slots.pending[slot] = null;
            }
            size = Math.min(slots.partBytes - head.length, message.length - done);
            Frame part = new Frame(Frame.PART, Frame.HAS_MESSAGE | (done == 0 ? Frame.BEGINS : 0), frame.call);
            part.value = (long) number << 32 | message.length;
            part.encode(ByteBuffer.wrap(head));
            long at = (long) slot * slots.partBytes;
            slots.memory.put(at, head, head.length);
            slots.memory.put(at + head.length, message, done, size);
            LocalRegion bytes = slots.memory.slice(at, head.length + size);
            slots.pending[slot] = slots.large ? endpoint.startRendezvous(bytes) : endpoint.startSend(bytes);
            slots.next = (slot + 1) % slots.pending.length;
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
