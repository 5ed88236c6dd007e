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
    private static final int LARGE_BYTES = 260 << 10;
    /** Memory of each size that is kept for the next messages. */
    private static final int KEPT_BYTES = 2 << 20;
    /** Messages on their way at once; further ones wait. */
    private static final int MOST = 8;
    /** So much of a message a peer has to take in {@link EndpointCarrier#STALL_NANOS}. */
    private static final int STEP_BYTES = 1 << 20;

    private final RdmaEndpoint endpoint;
    private final Semaphore places = new Semaphore(MOST, true);
    private final AtomicInteger lastNumber = new AtomicInteger();
    private final PartSize small = new PartSize(PIECE_BYTES, 8, Set.of(AccessFlag.LOCAL_WRITE));
    private final PartSize large;

    /** How a message is cut, and the slots that no message uses, guarded by these. */
    private record PartSize(int bytes, int slots, Set<AccessFlag> access, ArrayDeque<Slots> free) {
        private PartSize(int bytes, int slots, Set<AccessFlag> access) {
            this(bytes, slots, access, new ArrayDeque<>(1));
        }

        private Slots take(RdmaEndpoint endpoint) throws IOException {
            Slots taken;
            synchronized (free) {
                taken = free.poll();
            }
            return taken != null ? taken
                    : new Slots(endpoint.allocate((long) slots * bytes, 1, access), new Pending<?>[slots]);
        }

        private void giveBack(Slots taken) {
            synchronized (free) {
                if ((free.size() + 1) * slots * bytes <= KEPT_BYTES) {
                    free.push(taken);
                    return;
                }
            }
            taken.memory.close();
        }
    }

    /** The slots of one message at a time, and what is in progress in each. */
    private static final class Slots {
        private final LocalRegion memory;
        private final Pending<?>[] pending;
        private int next;

        private Slots(LocalRegion memory, Pending<?>[] pending) {
            this.memory = memory;
            this.pending = pending;
        }
    }

    /** Any number of messages, one after the other or at once, over an endpoint. */
    PartSender(RdmaEndpoint endpoint) {
        this.endpoint = endpoint;
        // Some iWARP adapters cannot read into the memory of messages: see RdmaEndpoint.startRead.
        large = endpoint.device().transport() == TransportType.IWARP ? small
                : new PartSize(LARGE_BYTES, 4, Set.of(AccessFlag.REMOTE_READ));
    }

    /**
     * Sends the parts of the message of a frame, which has to follow with the number that this gives: without it they
     * count for nothing. Waits until the deadline, unless the peer takes too little.
     *
     * @throws IOException as {@link Carrier#send}
     */
    int send(Frame frame, long deadlineNanos) throws IOException {
        PartSize size = frame.message.length > MOST_IN_SMALL_BYTES ? large : small;
        boolean placed = false;
        Slots slots = null;
        try {
            // Each that has a place gives it up in its time, also if the peer takes nothing.
            placed = places.tryAcquire(deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE
                    : deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (!placed) {
                throw EndpointCarrier.late(deadlineNanos);
            }
            slots = size.take(endpoint);
            int number = lastNumber.incrementAndGet();
            send(frame, number, size, slots, deadlineNanos);
            return number;
        } catch (InterruptedException e) {
            throw EndpointCarrier.interrupted();
        } finally {
            if (slots != null) {
                size.giveBack(slots);
            }
            if (placed) {
                places.release();
            }
        }
    }

    private void send(Frame frame, int number, PartSize cut, Slots slots, long deadlineNanos) throws IOException {
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
            size = Math.min(cut.bytes - head.length, message.length - done);
            Frame part = new Frame(Frame.PART, Frame.HAS_MESSAGE | (done == 0 ? Frame.BEGINS : 0), frame.call);
            part.value = (long) number << 32 | message.length;
            part.encode(ByteBuffer.wrap(head));
            long at = (long) slot * cut.bytes;
            slots.memory.put(at, head, head.length);
            slots.memory.put(at + head.length, message, done, size);
            LocalRegion bytes = slots.memory.slice(at, head.length + size);
            slots.pending[slot] = cut == small ? endpoint.startSend(bytes) : endpoint.startRendezvous(bytes);
            slots.next = (slot + 1) % cut.slots;
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
