package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;
import org.rdmasockets.endpoint.EndpointException;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.Pending;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointBuilder;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.internal.lock.CallerLock;

/**
 * Frames in messages of an endpoint. A short frame is copied into one of a few slots, which are used in turn: a sender
 * waits for a slot only while the peer takes nothing. Short frames that come together go in one message.
 *
 * <p>A long message goes in parts, each of which is one piece of the endpoint. One thread sends the parts of all long
 * messages in turn, and between any two the short frames that have come meanwhile: so none waits for a whole message.
 */
public final class EndpointCarrier implements Carrier {
    private static final int SLOTS = 16;
    /** A page of payload, and the frame around it. */
    private static final int SLOT_BYTES = 4608;
    /** The longest message that goes as one piece: a buffer of the peer, without the endpoint's header. */
    private static final int PIECE_BYTES = 8192 - 56;
    /** Bytes of a message in one part of it. */
    static final int PART_BYTES = PIECE_BYTES - Frame.FIXED_BYTES;
    /** Long messages that are on their way at once, in one direction; others wait. */
    static final int MOST_LONG = 8;
    /** As many bytes as most connections ever need to gather frames. */
    private static final int FIRST_BYTES = 256;
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
    /** How long a peer may take nothing. */
    private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final RdmaEndpoint endpoint;
    private final String transport;
    private final CallerLock sendLock = new CallerLock();
    /** The slots of short frames, and those of parts, null before the first; guarded by sendLock. */
    private final Slots slots;
    private Slots partSlots;
    /** The frames of the next message, as they go; guarded by batch, as where the last begins. */
    private ByteBuffer gathered = ByteBuffer.allocate(FIRST_BYTES);
    private int last;
    /** How many they are, and frames that found no room there; written under batch, after the frame. */
    private volatile int held;
    /** Held for a copy only, within sendLock or alone. */
    private final Object batch = new Object();
    /** Long messages that go, by whose turn it is, and others that wait; null before the first. Guarded by batch. */
    private ArrayDeque<LongMessage> going;
    private ArrayDeque<LongMessage> later;
    /** Words that a message is given up, which found no room among the gathered; guarded by batch. */
    private ArrayDeque<Frame> overflow;
    /** How many threads want sendLock while long messages go; written under batch. */
    private volatile int wanted;
    /** How many parts have gone; written under sendLock. */
    private volatile int partsSent;
    /** The rest of the message that came last; the reader only. */
    private ByteBuffer arrived = NOTHING;
    /** The last long frame, and its memory while it is on its way after its sender has left; null otherwise. */
    private Pending<?> longPending;
    private LocalRegion longRegion;
    /** The peer takes messages in parts; written by the reader. */
    private volatile boolean peerTakesParts;
    /** The longest message that this end takes; 0 before the peer knows it. */
    private volatile long maxMessage;
    /** Messages that come in parts; null before the first. The reader only. */
    private ArrivingParts parts;
    private LongPredicate judge = bytes -> true;

    private EndpointCarrier(RdmaEndpoint endpoint) throws IOException {
        this.endpoint = endpoint;
        transport = endpoint.device().name();
        slots = new Slots(endpoint, SLOT_BYTES);
    }

    /** Memory for messages in slots, which are used in turn. */
    private static final class Slots {
        private final RdmaEndpoint endpoint;
        private final LocalRegion[] memory = new LocalRegion[SLOTS];
        private final Pending<?>[] pending = new Pending<?>[SLOTS];
        private final int slotBytes;
        private int next;

        Slots(RdmaEndpoint endpoint, int slotBytes) throws IOException {
            this.endpoint = endpoint;
            this.slotBytes = slotBytes;
            LocalRegion all = endpoint.allocate((long) SLOTS * slotBytes);
            for (int i = 0; i < SLOTS; i++) {
                memory[i] = all.slice((long) i * slotBytes, slotBytes);
            }
        }

        /** Waits until the message that had the next slot before is with the peer. */
        LocalRegion await(long deadlineNanos) throws IOException {
            if (pending[next] != null) {
                EndpointCarrier.await(pending[next], deadlineNanos);
                pending[next] = null;
            }
            return memory[next];
        }

        /** Sends so many bytes of the next slot, which is free. */
        void send(int size) throws NotSentException {
            LocalRegion slot = memory[next];
            pending[next] = start(endpoint, size == slotBytes ? slot : slot.slice(0, size));
            next = (next + 1) % SLOTS;
        }
    }

    /** A long message on its way; guarded by batch. */
    private static final class LongMessage {
        private final Frame frame;
        private int done;
        /** Its sender waits for sendLock, and is one of those who are wanted to have it. */
        private boolean counted;
        /** Its frame has followed, or never will. Read without the lock by the thread that sends it. */
        private volatile boolean over;

        LongMessage(Frame frame) {
            this.frame = frame;
        }
    }

    /**
     * Frames over a connected endpoint, used for nothing else, which ends with the carrier, also if that cannot be
     * made. Throws if the endpoint gives no memory.
     */
    public static EndpointCarrier over(RdmaEndpoint endpoint) throws IOException {
        try {
            return new EndpointCarrier(endpoint);
        } catch (Throwable e) { // also of a field
            endpoint.close();
            throw e;
        }
    }

    /** An endpoint as this wants it. */
    private static RdmaEndpointBuilder builder(int maxMessage) {
        return RdmaEndpoint.builder().maxMessage((long) maxMessage + Frame.MAX_OVERHEAD)
                .operationTimeout(Duration.ofNanos(STALL_NANOS));
    }

    /**
     * Connects within a limit of more than nothing; {@code maxMessage} is of the calls' messages that come back. Throws
     * as {@link RdmaEndpointBuilder#connect(InetSocketAddress)}.
     */
    public static Carrier connect(InetSocketAddress server, int maxMessage, long limitNanos) throws IOException {
        return over(builder(maxMessage).connectTimeout(Duration.ofNanos(limitNanos)).connect(server));
    }

    /**
     * Listens; {@code maxMessage} is of the calls' messages that come in. Throws as
     * {@link RdmaEndpointBuilder#listen(InetSocketAddress)}.
     */
    public static Listener listen(InetSocketAddress local, int maxMessage) throws IOException {
        RdmaEndpointServer server = builder(maxMessage).listen(local);
        return new Listener() {
            @Override
            public Carrier accept() throws IOException {
                return over(server.accept());
            }

            @Override
            public InetSocketAddress localAddress() {
                return server.localAddress();
            }

            @Override
            public void close() {
                server.close();
            }
        };
    }

    @Override
    public void send(Frame frame, long deadlineNanos) throws IOException {
        int size = frame.size();
        if (frame.kind == Frame.HELLO) {
            maxMessage = frame.value;
        }
        if (size > PIECE_BYTES && frame.message != null && size - frame.message.length <= SLOT_BYTES
                && peerTakesParts) {
            sendInParts(frame, deadlineNanos);
            return;
        }
        if (!sendLock.tryLock()) {
            if (gather(frame, size)) {
                return; // the thread that has the lock flushes then: pairs with flush
            }
            lock(deadlineNanos);
        }
        try {
            if (longRegion != null && longPending.isDone()) {
                longRegion.close();
                longRegion = null;
            }
            slots.await(deadlineNanos);
            if (size <= SLOT_BYTES) {
                while (!gather(frame, size)) {
                    post();
                    slots.await(deadlineNanos);
                }
                post();
            } else {
                post();
                sendAlone(frame, size, deadlineNanos);
            }
        } catch (IllegalStateException e) { // its memory is closed with it
            throw size <= SLOT_BYTES ? notSent("the connection is closed", e)
                    : new IOException("the connection is closed", e);
        } catch (Error e) {
            spoil();
            throw e;
        } finally {
            sendLock.unlock();
        }
    }

    private void sendAlone(Frame frame, int size, long deadlineNanos) throws IOException {
        if (size > PIECE_BYTES) {
            sendLong(frame, size, deadlineNanos);
            return;
        }
        LocalRegion slot = partSlots().await(deadlineNanos);
        put(frame, size, slot);
        partSlots.send(size);
    }

    private Slots partSlots() throws IOException {
        if (partSlots == null) {
            partSlots = new Slots(endpoint, PIECE_BYTES);
        }
        return partSlots;
    }

    // Messages in parts.

    /** Sends a long message, and parts of others until it is over: nothing of it counts before its frame has gone. */
    private void sendInParts(Frame frame, long deadlineNanos) throws IOException {
        if (isOver(deadlineNanos)) {
            throw late(deadlineNanos);
        }
        LongMessage own = new LongMessage(frame);
        boolean begun = false;
        try {
            begin(own);
            while (!own.over) {
                lockInTurn(deadlineNanos);
                try {
                    do {
                        sendPart(own, deadlineNanos);
                    } while (!own.over && wanted == 0);
                    postHeld(deadlineNanos);
                } finally {
                    sendLock.unlock();
                }
            }
            begun = true;
        } catch (IllegalStateException e) {
            throw notSent("the connection is closed", e);
        } catch (Error e) {
            spoil();
            throw e;
        } finally {
            leave(own, begun);
        }
    }

    private void begin(LongMessage own) {
        synchronized (batch) {
            if (going == null) {
                later = new ArrayDeque<>();
                overflow = new ArrayDeque<>();
                going = new ArrayDeque<>();
            }
            (going.size() < MOST_LONG ? going : later).add(own);
        }
    }

    /** sendLock held: sends what was gathered, then a part of the message whose turn it is. */
    private void sendPart(LongMessage own, long deadlineNanos) throws IOException {
        LocalRegion slot = partSlots().await(deadlineNanos);
        postHeld(deadlineNanos);
        int size = 0;
        synchronized (batch) {
            LongMessage next = going.peek();
            if (next == null) {
                return; // it was given up
            }
            byte[] message = next.frame.message;
            if (next.done < message.length) {
                size = Math.min(PART_BYTES, message.length - next.done);
                put(next, size, slot);
                next.done += size;
                going.add(going.poll());
            }
            if (next.done == message.length) {
                finish(next, own);
            }
        }
        if (size > 0) {
            partSlots.send(Frame.FIXED_BYTES + size);
            partsSent = partsSent + 1;
        }
    }

    /** Puts a part of a message and its head into a slot; batch held. */
    private static void put(LongMessage one, int size, LocalRegion slot) {
        Frame part = new Frame(Frame.PART, Frame.HAS_MESSAGE, one.frame.call);
        part.value = one.frame.message.length;
        byte[] head = new byte[Frame.FIXED_BYTES];
        part.encodeHead(ByteBuffer.wrap(head));
        slot.put(0, head, head.length);
        slot.put(head.length, one.frame.message, one.done, size);
    }

    /** Lets the frame of a message follow its last part, now or when there is room; batch held. */
    private void finish(LongMessage one, LongMessage own) {
        Frame frame = one.frame.inParts();
        if (gather(frame, frame.size())) {
            end(one, one != own);
        } else {
            going.remove(one);
            going.addFirst(one);
        }
    }

    /** A message is over, and its sender is {@code waiting} to see that; batch held. */
    private void end(LongMessage one, boolean waiting) {
        one.over = true;
        one.counted = waiting;
        wanted = wanted + (waiting ? 1 : 0);
        if (!later.remove(one) && going.remove(one) && !later.isEmpty()) {
            going.add(later.poll());
        }
    }

    /** The sender of a message leaves; one that is not over is given up. */
    private void leave(LongMessage own, boolean well) {
        synchronized (batch) {
            wanted = wanted - (own.counted ? 1 : 0);
            if (!own.over && !well && going != null) {
                giveUp(own, false);
            }
        }
    }

    /** Has the peer forget the parts that have gone; batch held. */
    private void giveUp(LongMessage one, boolean waiting) {
        end(one, waiting);
        if (one.done > 0) {
            Frame word = new Frame(Frame.PART, 0, one.frame.call);
            if (!gather(word, word.size())) {
                overflow.add(word);
                held = held + 1;
            }
        }
    }

    /** A call is given up: its message, if that is on its way, need not go on; batch held. */
    private void giveUp(int call) {
        for (ArrayDeque<LongMessage> row : List.of(going, later)) {
            for (LongMessage one : row) {
                if (one.frame.call == call) {
                    giveUp(one, true);
                    return; // a call has one at a time
                }
            }
        }
    }

    private void postHeld(long deadlineNanos) throws IOException {
        while (held > 0) {
            slots.await(deadlineNanos);
            post();
        }
    }

    /** As {@link #lock}, after others that wait, as long as long messages go on. */
    private void lockInTurn(long deadlineNanos) throws IOException {
        try {
            int seen;
            do {
                seen = partsSent;
                if (sendLock.tryLockInTurn(patience(deadlineNanos))) {
                    return;
                }
            } while (seen != partsSent && !isOver(deadlineNanos));
            throw late(deadlineNanos);
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    /** Frames of other calls may be lost: a thread with stack to spare ends the connection. */
    private void spoil() {
        Thread.ofVirtual().name("rdma-rpc-end").start(endpoint::close);
    }

    @Override
    public boolean hold(Frame frame) {
        return gather(frame, frame.size());
    }

    @Override
    public boolean holds() {
        return held > 0;
    }

    @Override
    public void flush(long deadlineNanos) throws IOException {
        while (held > 0 && sendLock.tryLock()) {
            try {
                slots.await(deadlineNanos);
                post();
            } catch (IllegalStateException e) {
                throw new IOException("the connection is closed", e);
            } catch (Error e) {
                spoil();
                throw e;
            } finally {
                sendLock.unlock();
            }
        }
    }

    /** Puts a frame behind those that go next, if it has room in the same message. */
    private boolean gather(Frame frame, int size) {
        synchronized (batch) {
            if (frame.kind == Frame.CANCEL && going != null) {
                giveUp(frame.call);
            }
            int at = gathered.position();
            if (at + size > SLOT_BYTES) {
                return false;
            }
            if (gathered.remaining() < size) {
                int larger = Math.min(SLOT_BYTES, Math.max(2 * gathered.capacity(), at + size));
                gathered = ByteBuffer.allocate(larger).put(gathered.flip());
            }
            frame.encode(gathered);
            if (at > 0) {
                gathered.putShort(last + Frame.LENGTH_OFFSET, (short) (at - last));
            }
            last = at;
            held = held + 1;
            return true;
        }
    }

    /** sendLock held, and the next slot is free: sends what was gathered, if anything, as one message. */
    private void post() throws IOException {
        int size;
        synchronized (batch) {
            size = gathered.position();
            if (size == 0) {
                return;
            }
            slots.memory[slots.next].put(0, gathered.array(), size);
            gathered.clear();
            held = 0;
            while (overflow != null && !overflow.isEmpty() && gather(overflow.peek(), overflow.peek().size())) {
                overflow.poll();
            }
        }
        slots.send(size);
    }

    private static Pending<?> start(RdmaEndpoint endpoint, LocalRegion message) throws NotSentException {
        try {
            return endpoint.startSend(message);
        } catch (EndpointException e) {
            throw notSent(e.getMessage(), e);
        }
    }

    private static NotSentException notSent(String reason, Exception cause) {
        NotSentException over = new NotSentException(reason);
        over.initCause(cause);
        return over;
    }

    /** The time until a deadline, or until a peer that takes nothing is given up. */
    private static long patience(long deadlineNanos) {
        return deadlineNanos == Long.MAX_VALUE ? STALL_NANOS
                : Math.clamp(deadlineNanos - System.nanoTime(), 0, STALL_NANOS);
    }

    private static boolean isOver(long deadlineNanos) {
        return deadlineNanos != Long.MAX_VALUE && deadlineNanos - System.nanoTime() <= 0;
    }

    /** The failure after such a time. */
    private static IOException late(long deadlineNanos) {
        return isOver(deadlineNanos)
                ? new SocketTimeoutException("there was no room in time")
                : new IOException("the peer has taken nothing for " + TimeUnit.NANOSECONDS.toSeconds(STALL_NANOS)
                        + " s");
    }

    private void lock(long deadlineNanos) throws IOException {
        want(1);
        try {
            if (!sendLock.tryLock(patience(deadlineNanos))) {
                throw late(deadlineNanos);
            }
        } catch (InterruptedException e) {
            throw interrupted();
        } finally {
            want(-1);
        }
    }

    private void want(int threads) {
        synchronized (batch) {
            wanted = wanted + threads;
        }
    }

    private static InterruptedIOException interrupted() {
        Thread.currentThread().interrupt();
        return new InterruptedIOException("interrupted before a frame was sent");
    }

    private static void await(Pending<?> before, long deadlineNanos) throws IOException {
        if (before.isDone()) {
            before.await();
            return;
        }
        try {
            before.await(Duration.ofNanos(patience(deadlineNanos)));
        } catch (SocketTimeoutException e) {
            throw late(deadlineNanos);
        }
    }

    /** Waits until the message is with the peer, or the deadline is over: then the next long one waits for that. */
    private void sendLong(Frame frame, int size, long deadlineNanos) throws IOException {
        if (longRegion != null) {
            await(longPending, deadlineNanos);
            longRegion.close();
            longRegion = null;
        }
        LocalRegion region = endpoint.allocate(size);
        boolean goesOn = false;
        try {
            put(frame, size, region);
            longPending = start(endpoint, region);
            goesOn = !isSent(deadlineNanos);
        } finally {
            if (goesOn) {
                longRegion = region;
            } else {
                region.close();
            }
        }
    }

    private static void put(Frame frame, int size, LocalRegion into) {
        byte[] head = new byte[frame.message == null ? size : size - frame.message.length];
        frame.encodeHead(ByteBuffer.wrap(head));
        into.put(0, head, head.length);
        if (frame.message != null) {
            into.put(head.length, frame.message, frame.message.length);
        }
    }

    private boolean isSent(long deadlineNanos) throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    await(longPending, deadlineNanos);
                    return true;
                } catch (SocketTimeoutException e) {
                    return false;
                } catch (InterruptedIOException e) {
                    interrupted |= Thread.interrupted(); // it has begun, and has to be whole
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public Frame receive(long deadlineNanos) throws IOException {
        Frame next = poll(false);
        while (next == null) {
            try (Message message = deadlineNanos == Long.MAX_VALUE ? endpoint.receive()
                    : endpoint.receive(Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime())))) {
                take(message);
            } catch (IllegalStateException e) {
                throw new IOException("the connection is closed", e);
            }
            next = nextArrived();
        }
        return next;
    }

    @Override
    public Frame poll(boolean further) throws IOException {
        Frame next = nextArrived();
        boolean looks = further;
        while (next == null && looks) {
            try (Message message = endpoint.poll()) {
                looks = message != null;
                if (looks) {
                    take(message);
                }
            } catch (IllegalStateException e) {
                throw new IOException("the connection is closed", e);
            }
            next = nextArrived();
        }
        return next;
    }

    @Override
    public void wakeup() {
        endpoint.wakeup();
    }

    /** Takes in a part of a message, or lets {@link #nextArrived} have what else has come. */
    private void take(Message message) throws IOException {
        if (message.length() > SLOT_BYTES) {
            byte[] head = new byte[Frame.FIXED_BYTES];
            message.copyTo(0, head, 0, head.length);
            ByteBuffer words = ByteBuffer.wrap(head);
            if (Frame.isPartAlone(words)) {
                Frame part = Frame.decode(words);
                int size = Math.toIntExact(message.length()) - head.length;
                ArrivingParts.Arriving one = parts().room(part.call, part.value, size);
                message.copyTo(head.length, one.bytes, one.done, size);
                one.done += size;
                return;
            }
        }
        arrived = ByteBuffer.wrap(message.toArray());
    }

    private ArrivingParts parts() throws ProtocolViolation {
        if (parts == null) {
            if (maxMessage == 0) {
                throw new ProtocolViolation("a part of a message before the greeting");
            }
            parts = new ArrivingParts(judge, maxMessage);
        }
        return parts;
    }

    @Override
    public void onParts(LongPredicate newJudge) {
        judge = newJudge;
    }

    /** The next frame of what has come, null if there is no other. */
    private Frame nextArrived() throws IOException {
        while (arrived.hasRemaining()) {
            Frame frame = Frame.decodeNext(arrived);
            if (!arrived.hasRemaining()) {
                arrived = NOTHING; // it may have been long
            }
            if (frame.kind != Frame.PART) {
                if (frame.kind == Frame.HELLO) {
                    peerTakesParts = frame.has(Frame.TAKES_PARTS);
                } else if (frame.has(Frame.IN_PARTS)) {
                    complete(frame);
                }
                return frame;
            }
            addPart(frame);
        }
        return null;
    }

    private void addPart(Frame part) throws IOException {
        if (part.message == null) {
            parts().drop(part.call);
            return;
        }
        ArrivingParts.Arriving one = parts().room(part.call, part.value, part.message.length);
        System.arraycopy(part.message, 0, one.bytes, one.done, part.message.length);
        one.done += part.message.length;
    }

    private void complete(Frame frame) throws ProtocolViolation {
        if (frame.message == null || frame.message.length > 0) {
            throw new ProtocolViolation("a message in parts that is not empty: " + frame);
        }
        frame.message = parts().finish(frame.call);
    }

    @Override
    public String transport() {
        return transport;
    }

    @Override
    public InetSocketAddress localAddress() {
        return endpoint.localAddress();
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return endpoint.remoteAddress();
    }

    /** Over shared memory the peer's user, which the kernel names: the peer names its address itself. */
    @Override
    public Object countedAs() {
        OptionalInt user = endpoint.peerUser();
        return user.isPresent() ? user : Shares.address(remoteAddress());
    }

    /** Held frames go before, if there is room: an answer that was the last, perhaps. */
    @Override
    public void close() {
        try {
            flush(System.nanoTime());
        } catch (IOException | RuntimeException e) {
            // It is over, or the peer takes nothing.
        } finally {
            endpoint.close();
        }
    }
}
