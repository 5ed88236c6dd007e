package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.endpoint.EndpointException;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.Pending;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointBuilder;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.internal.lock.CallerLock;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.NanoTimes;

/**
 * Frames in messages of an endpoint. A short frame is copied into one of a few slots, which are used in turn: a sender
 * waits for a slot only while the peer takes nothing. Short frames that come together go in one message.
 */
public final class EndpointCarrier implements Carrier {
    private static final int SLOTS = 16;
    /** A page of payload, and the frame around it. */
    private static final int SLOT_BYTES = 4608;
    /** Bytes to gather frames in: most connections never need more. */
    private static final int FIRST_BYTES = 256;
    /** A longer message is not taken to an array of its own before it is known what it is. */
    private static final int MOST_ARRAY_BYTES = 64 << 10;
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
    /** How long a peer may take nothing before it is given up. */
    static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final RdmaEndpoint endpoint;
    private final String transport;
    private final CallerLock sendLock = new CallerLock();
    /** Slots, what is in progress in each, and the next; guarded by sendLock. */
    private final LocalRegion[] slots = new LocalRegion[SLOTS];
    private final Pending<?>[] pending = new Pending<?>[SLOTS];
    private int next;
    /** The frames of the next message, encoded; guarded by batch, as is where the last begins. */
    private ByteBuffer gathered = ByteBuffer.allocate(FIRST_BYTES);
    private int last;
    /** How many frames these are; written under batch, after the frame. */
    private volatile int held;
    /** Held for a copy only, within sendLock or alone. */
    private final Object batch = new Object();
    /** The unread rest of the last message; the reader only. */
    private ByteBuffer arrived = NOTHING;
    /** Collects arriving parts of messages; null before the greetings. The reader only. */
    private ArrivingParts parts;
    /** Sends parts; null if the peer takes none. */
    private volatile PartSender partSender;
    /** Written before the last look at partSender. */
    private volatile boolean closed;
    /** The last long message and its memory, if it is on its way and its sender has left; null otherwise. */
    private Pending<?> longPending;
    private LocalRegion longRegion;

    private EndpointCarrier(RdmaEndpoint endpoint) throws IOException {
        this.endpoint = endpoint;
        transport = endpoint.device().name();
        LocalRegion memory = endpoint.allocate((long) SLOTS * SLOT_BYTES);
        for (int i = 0; i < SLOTS; i++) {
            slots[i] = memory.slice((long) i * SLOT_BYTES, SLOT_BYTES);
        }
    }

    /**
     * Frames over a connected endpoint that is used for nothing else and ends with the carrier, also if that cannot be
     * made. Throws if the endpoint gives no memory.
     */
    public static EndpointCarrier over(RdmaEndpoint endpoint) throws IOException {
        try {
            return new EndpointCarrier(endpoint);
        } catch (Throwable e) { // also in a field's initializer
            LibraryThreads.close(endpoint);
            throw e;
        }
    }

    /** The settings of an endpoint for this. */
    private static RdmaEndpointBuilder builder(int maxMessage) {
        return RdmaEndpoint.builder().maxMessage((long) maxMessage + Frame.MAX_OVERHEAD)
                .operationTimeout(Duration.ofNanos(STALL_NANOS));
    }

    /**
     * Connects within a limit of more than 0; {@code maxMessage} bounds the calls' messages that come back. Throws as
     * {@link RdmaEndpointBuilder#connect(InetSocketAddress)}.
     */
    public static Carrier connect(InetSocketAddress server, int maxMessage, long limitNanos) throws IOException {
        return over(builder(maxMessage).connectTimeout(Duration.ofNanos(limitNanos)).connect(server));
    }

    /**
     * Listens; {@code maxMessage} bounds the calls' messages that come in. Throws as
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
        if (goesInParts(frame, size) && !isOver(deadlineNanos)) {
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
            awaitSlot(deadlineNanos);
            if (size <= SLOT_BYTES) {
                while (!gather(frame, size)) {
                    post();
                    awaitSlot(deadlineNanos);
                }
                post();
            } else {
                post();
                sendLong(frame, size, deadlineNanos);
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

    @Override
    public void useParts(boolean peerTakesParts, ArrivingParts arriving) {
        parts = arriving;
        PartSender sender = peerTakesParts ? new PartSender(endpoint) : null;
        partSender = sender;
        if (closed && sender != null) { // pairs with close
            sender.close();
        }
    }

    @Override
    public boolean goesInParts(Frame frame) {
        return goesInParts(frame, frame.size());
    }

    /** Whether a frame goes in parts; without its message it must be short. */
    private boolean goesInParts(Frame frame, int size) {
        return size > PartSender.PIECE_BYTES && partSender != null && frame.message != null
                && size - frame.message.length <= SLOT_BYTES;
    }

    private void sendInParts(Frame frame, long deadlineNanos) throws IOException {
        long begun = System.nanoTime();
        boolean[] followed = {false};
        try {
            partSender.send(frame, deadlineNanos, number -> {
                followed[0] = true;
                send(frame.behindParts(number, TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - begun)),
                        deadlineNanos);
            });
        } catch (EndpointException | IllegalStateException e) { // its memory is closed with it
            String reason = e instanceof EndpointException ? e.getMessage() : "the connection is closed";
            throw followed[0] ? new IOException(reason, e) : notSent(reason, e);
        }
    }

    /** Ends the connection, as frames of other calls may be lost; on a thread with stack to spare. */
    private void spoil() {
        LibraryThreads.start("rdma-rpc-end", LibraryThreads.insisting(endpoint::close, LibraryThreads::report));
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
                awaitSlot(deadlineNanos);
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

    /** Adds a frame to the next message, if it has room there. */
    private boolean gather(Frame frame, int size) {
        synchronized (batch) {
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
        int slot = next;
        int size;
        synchronized (batch) {
            size = gathered.position();
            if (size == 0) {
                return;
            }
            slots[slot].put(0, gathered.array(), size);
            gathered.clear();
            held = 0;
        }
        pending[slot] = start(size == SLOT_BYTES ? slots[slot] : slots[slot].slice(0, size));
        next = (slot + 1) % SLOTS;
    }

    private Pending<?> start(LocalRegion message) throws NotSentException {
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

    /** sendLock held: waits until the peer has the message that last used the next slot. */
    private void awaitSlot(long deadlineNanos) throws IOException {
        if (pending[next] != null) {
            await(pending[next], deadlineNanos);
            pending[next] = null;
        }
    }

    /** The time until a deadline, or until a peer that takes nothing is given up. */
    private static long patience(long deadlineNanos) {
        return deadlineNanos == Long.MAX_VALUE ? STALL_NANOS
                : Math.clamp(deadlineNanos - System.nanoTime(), 0, STALL_NANOS);
    }

    private static Duration left(long deadlineNanos) {
        return Duration.ofNanos(NanoTimes.remaining(deadlineNanos));
    }

    private static boolean isOver(long deadlineNanos) {
        return deadlineNanos != Long.MAX_VALUE && deadlineNanos - System.nanoTime() <= 0;
    }

    /** The failure after such a time. */
    static IOException late(long deadlineNanos) {
        return isOver(deadlineNanos)
                ? new SocketTimeoutException("there was no room in time")
                : new IOException("the peer has taken nothing for " + TimeUnit.NANOSECONDS.toSeconds(STALL_NANOS)
                        + " s");
    }

    /** Each that has the lock gives it up in its time, also if the peer takes nothing. */
    private void lock(long deadlineNanos) throws IOException {
        try {
            if (!sendLock.tryLock(deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE
                    : deadlineNanos - System.nanoTime())) {
                throw late(deadlineNanos);
            }
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    static InterruptedIOException interrupted() {
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

    /** Sends, and waits until the peer has the message or the deadline is over: then the next long one waits for it. */
    private void sendLong(Frame frame, int size, long deadlineNanos) throws IOException {
        if (longRegion != null) {
            await(longPending, deadlineNanos);
            longRegion.close();
            longRegion = null;
        }
        LocalRegion region = endpoint.allocate(size);
        boolean goesOn = false;
        try {
            byte[] head = new byte[frame.message == null ? size : size - frame.message.length];
            frame.encodeHead(ByteBuffer.wrap(head));
            region.put(0, head, head.length);
            if (frame.message != null) {
                region.put(head.length, frame.message, frame.message.length);
            }
            longPending = start(region);
            goesOn = !isSent(deadlineNanos);
        } finally {
            if (goesOn) {
                longRegion = region;
            } else {
                region.close();
            }
        }
    }

    /** The message has begun, and has to become whole. */
    private boolean isSent(long deadlineNanos) throws IOException {
        try {
            PartSender.insist(() -> await(longPending, deadlineNanos));
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        }
    }

    @Override
    public Frame receive(long deadlineNanos) throws IOException {
        Frame next = poll(false);
        boolean late = false;
        while (next == null) {
            if (late) {
                throw new SocketTimeoutException("only parts of a message have come in time");
            }
            try {
                byte[] message = endpoint.receiveArray(MOST_ARRAY_BYTES, left(deadlineNanos));
                next = message == null ? firstOfLong(left(deadlineNanos)) : firstOf(message);
            } catch (IllegalStateException e) {
                throw new IOException("the connection is closed", e);
            }
            late = isOver(deadlineNanos);
        }
        return next;
    }

    @Override
    public Frame poll(boolean further) throws IOException {
        if (arrived.hasRemaining()) {
            return nextArrived();
        }
        try {
            byte[] message = further ? endpoint.pollArray(MOST_ARRAY_BYTES) : null;
            return message == null ? null : firstOf(message);
        } catch (IllegalStateException e) {
            throw new IOException("the connection is closed", e);
        }
    }

    @Override
    public void wakeup() {
        endpoint.wakeup();
    }

    /** Likewise of a message that is not worth a copy of its own if it is a part. */
    private Frame firstOfLong(Duration limit) throws IOException {
        try (Message message = endpoint.receive(limit)) {
            LocalRegion bytes = message.region();
            ByteBuffer head = ByteBuffer.allocate(Frame.FIXED_BYTES);
            bytes.get(0, head.array(), 0, head.capacity());
            if (parts == null || !Frame.isPart(head)) {
                return firstOf(message.toArray());
            }
            int size = (int) Math.min(bytes.length(), Integer.MAX_VALUE) - Frame.FIXED_BYTES;
            parts.add(head, size, (to, at) -> bytes.get(Frame.FIXED_BYTES, to, at, size));
            return null;
        }
    }

    /** Null if it was a part. */
    private Frame firstOf(byte[] message) throws ProtocolViolation {
        arrived = ByteBuffer.wrap(message);
        return nextArrived();
    }

    private Frame nextArrived() throws ProtocolViolation {
        Frame frame = parts == null ? Frame.decodeNext(arrived) : parts.read(arrived);
        if (!arrived.hasRemaining()) {
            arrived = NOTHING; // frees it: it may be long
        }
        return frame;
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

    /** Over shared memory the peer's user, by the kernel's word: the peer names its address itself. */
    @Override
    public Object countedAs() {
        OptionalInt user = endpoint.peerUser();
        return user.isPresent() ? user : Shares.address(remoteAddress());
    }

    /** First sends held frames, if there is room: perhaps the last answer. */
    @Override
    public void close() {
        try {
            flush(System.nanoTime());
        } catch (IOException | RuntimeException e) {
            // It is over, or the peer takes nothing.
        } finally {
            endpoint.close();
            closed = true;
            PartSender sender = partSender;
            if (sender != null) {
                sender.close();
            }
        }
    }
}
