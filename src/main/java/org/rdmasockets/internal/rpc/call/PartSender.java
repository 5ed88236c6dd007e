package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.io.InterruptedIOException;
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
    /** A part that the peer reads: no more than its buffers hold, so that it takes no budget there. */
    private static final int LARGE_BYTES = 256 << 10;
    /** Sets of large slots that this process may have, 1.25 MiB each: an eighth of the heap's limit, or 40 MiB. */
    private static final int MOST_LARGE = Math.clamp(Runtime.getRuntime().maxMemory() / 10 >> 20, 32, 1 << 14);
    /** Those that it does not have. */
    static final Semaphore LARGE = new Semaphore(MOST_LARGE);
    /** Messages on their way at once; further ones wait. */
    private static final int MOST = 8;
    /** So much of a message a peer has to take in {@link EndpointCarrier#STALL_NANOS}. */
    private static final int STEP_BYTES = 1 << 20;

    private final RdmaEndpoint endpoint;
    private final Semaphore places = new Semaphore(MOST, true);
    private final AtomicInteger lastNumber = new AtomicInteger();
    /** Slots that no message uses; guarded by this, as are the next two. No more than places, so no push allocates. */
    private final ArrayDeque<Slots> free = new ArrayDeque<>(MOST);
    private final ArrayDeque<Slots> freeLarge = new ArrayDeque<>(MOST);
    private boolean closed;

    /** Sends the frame that follows the parts of a message. */
    @FunctionalInterface
    interface Follower {
        /** The parts have such a number. */
        void send(int number) throws IOException;
    }

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
            pending = new Pending<?>[large ? 5 : 8]; // five large ones take a message of 1 MiB and what is around it
            memory = endpoint.allocate((long) pending.length * partBytes, 1,
                    Set.of(large ? AccessFlag.REMOTE_READ : AccessFlag.LOCAL_WRITE));
        }

        private boolean isIdle() {
            for (Pending<?> one : pending) {
                if (one != null && !one.isDone()) {
                    return false;
                }
            }
            return true;
        }
    }

    /** Any number of messages, one after the other or at once, over an endpoint. */
    PartSender(RdmaEndpoint endpoint) {
        this.endpoint = endpoint;
    }

    /**
     * Sends the parts of the message of a frame that have not gone yet, and then its frame, without which they count
     * for nothing. Waits until the deadline, unless the peer takes too little, then until the peer has read what it has
     * to read; only parts that wait can be interrupted.
     *
     * @throws IOException as {@link Carrier#send}
     */
    void send(Frame frame, long deadlineNanos, Follower follower) throws IOException {
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
            if (frame.inLargeParts && !slots.large) {
                frame.partsBytes(0); // it begins again: else it would leave before the peer has read the large ones
            }
            frame.inLargeParts = slots.large;
            int number = frame.numberForParts(lastNumber);
            sendParts(frame, number, slots, deadlineNanos);
            insist(() -> follower.send(number));
            if (slots.large) {
                awaitRead(slots, deadlineNanos);
            }
        } catch (InterruptedException e) {
            throw EndpointCarrier.interrupted();
        } finally {
            try {
                if (slots != null) {
                    giveBack(slots);
                }
            } finally {
                places.release(placed ? 1 : 0); // last: all slots together are no more than the places
            }
        }
    }

    private Slots take(boolean large) throws IOException {
        synchronized (this) {
            Slots taken = (large ? freeLarge : free).poll();
            if (taken != null) {
                return taken;
            }
        }
        if (!large) {
            return new Slots(endpoint, false);
        }
        // Some iWARP adapters cannot read into the memory of messages: see RdmaEndpoint.startRead.
        if (endpoint.device().transport() == TransportType.IWARP || !LARGE.tryAcquire()) {
            return take(false);
        }
        Slots made = null;
        try {
            made = new Slots(endpoint, true);
        } catch (IOException e) {
            if (Thread.currentThread().isInterrupted()) {
                throw e;
            }
        } finally {
            LARGE.release(made == null ? 1 : 0);
        }
        return made != null ? made : take(false); // perhaps the process may lock no more memory
    }

    /** Keeps slots for the next message; large ones of which nothing is in progress only while half of all are left. */
    private void giveBack(Slots slots) {
        boolean kept = !slots.large || LARGE.availablePermits() >= MOST_LARGE / 2 || !slots.isIdle();
        synchronized (this) {
            kept &= !closed;
            if (kept) {
                (slots.large ? freeLarge : free).push(slots);
            }
        }
        if (!kept) {
            LARGE.release(slots.large ? 1 : 0); // first: if the close fails, its memory ends with the endpoint
            slots.memory.close();
        }
    }

    /** The endpoint is closed, and its memory goes with it. */
    synchronized void close() {
        closed = true;
        LARGE.release(freeLarge.size());
        freeLarge.clear();
    }

    private void sendParts(Frame frame, int number, Slots slots, long deadlineNanos) throws IOException {
        byte[] message = frame.message;
        byte[] head = new byte[Frame.FIXED_BYTES];
        long stepNanos = 0;
        int step = frame.partsBytes();
        int size;
        for (int done = step; done < message.length; done += size) {
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
            frame.partHead(number, done).encodeHead(ByteBuffer.wrap(head));
            long at = (long) slot * slots.partBytes;
            slots.memory.put(at, head, head.length);
            slots.memory.put(at + head.length, message, done, size);
            LocalRegion bytes = slots.memory.slice(at, head.length + size);
            slots.pending[slot] = slots.large ? endpoint.startRendezvous(bytes) : endpoint.startSend(bytes);
            slots.next = (slot + 1) % slots.pending.length;
            frame.partsBytes(done + size); // the endpoint sends in order, from whichever slots the rest goes
        }
    }

    /** Waits until the peer has read all, as a close would take that away; the message itself was sent. */
    private static void awaitRead(Slots slots, long deadlineNanos) throws IOException {
        long stepNanos = System.nanoTime() + EndpointCarrier.STALL_NANOS;
        try {
            Pending<?> last = slots.pending[(slots.next + slots.pending.length - 1) % slots.pending.length];
            insist(() -> await(last, stepNanos, deadlineNanos));
        } catch (SocketTimeoutException e) {
            return; // the next message waits for these slots
        }
    }

    /** Something that an interrupted thread does again. */
    @FunctionalInterface
    interface Step {
        /** Throws {@code InterruptedIOException} if it has done nothing. */
        void run() throws IOException;
    }

    /** Goes on although this thread is interrupted, which it is afterwards; throws as the step, of other causes. */
    static void insist(Step step) throws IOException {
        boolean interrupted = false;
        boolean done = false;
        try {
            while (!done) {
                try {
                    step.run();
                    done = true;
                } catch (SocketTimeoutException e) {
                    throw e;
                } catch (InterruptedIOException e) {
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
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
