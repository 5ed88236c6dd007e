package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.log.Log;

/** A server's end. One virtual thread reads. It runs quick methods; before a slow one it starts its successor. */
final class ServerConnection extends CallConnection {
    private static final Log LOG = new Log(ServerConnection.class);
    /** A method is quick if it takes no longer. */
    private static final long QUICK_NANOS = 50_000;

    /** Most calls whose answers go together. */
    private static final int MOST_HELD = 64;

    /** The reader reads. */
    private static final int READS = 0;
    /** The reader runs a method. */
    private static final int RUNS = 1;
    /** Stands for no turn. */
    private static final long NOBODY = -1;
    /** How long a server that shuts down waits for clients to hear of it. */
    static final Duration GRACE = Duration.ofMillis(500);

    private final CallServer server;
    /** Its part of the server's room; null before it has one. */
    volatile Shares.AddressPart<ServerConnection> part;
    private ResponseCache.Client client;
    private final Runnable forgetting = this::endForgotten;
    /** When it began, by {@code System.nanoTime}: of two connections of a client the younger counts. */
    final long beganNanos = System.nanoTime();
    /**
     * READS or RUNS in the lowest bit, above it a count of readers and runs: a thread that finds another count is no
     * longer the reader.
     */
    private final AtomicLong reader = new AtomicLong();
    /** The method that the reader runs; written before RUNS. */
    private CallMethod.Unary running;
    /** The state at the last look; the timer's thread only. */
    private long lookedAt;
    private volatile Thread readerThread;
    /** When the first held answer came, or earlier; the reader only. */
    private long heldSince;
    /** Ends of calls that wait for the client to take them. */
    private final AtomicInteger late = new AtomicInteger();
    /** Calls that have not ended. */
    private final AtomicInteger calling = new AtomicInteger();
    /** Calls that have a place: also those that ended, but whose method has not returned. */
    private final AtomicInteger placed = new AtomicInteger();
    /** Racy, but benign: the number of the call that came last. */
    private int lastCall;
    /** The thread that ends this connection when it is too old or idle too long; null if neither is limited. */
    private volatile Thread ager;
    private volatile boolean greeted;
    private volatile boolean leaving;
    /** Whether the client has been told that this end leaves, so that it makes calls elsewhere. */
    private volatile boolean leaveTold;
    private volatile boolean graceOver;
    /** An answer was not sent, so that the client cannot be told that calls without one have not begun. */
    private volatile boolean lacksAnswer;

    ServerConnection(CallServer server, Carrier carrier) {
        super(carrier, server.settings.maxMessage());
        this.server = server;
    }

    /** Greets the client, then reads until the end; on a virtual thread. */
    void serve() {
        try {
            Frame hello = receiveHello(HELLO_NANOS);
            int identity = ClientConnection.IDENTITY_BYTES;
            if (hello.message.length != identity + Long.BYTES) {
                throw new ProtocolViolation("a client's greeting is " + hello);
            }
            client = server.memory.arrive(HexFormat.of().formatHex(hello.message, 0, identity),
                    ByteBuffer.wrap(hello.message).getLong(identity));
            Frame answer = hello(ByteBuffer.allocate(Long.BYTES).putLong(server.instance).array());
            answer.answered = server.settings.maxCallsPerConnection();
            carrier().send(answer, Long.MAX_VALUE);
            server.greeted(this);
            greeted = true; // before leaving is read: pairs with leave
            CallTimer.watch(this);
            if (failure() != null) {
                CallTimer.forget(this);
            }
            if (leaving) {
                sendOrFail(new Frame(Frame.GOAWAY, 0, 0));
            }
            if (!server.aging.isNever()) {
                ager = start("rdma-rpc-age", this::age);
                if (failure() != null) { // pairs with onFailed
                    ager.interrupt();
                }
            }
            read(reader.get());
        } catch (IOException | RuntimeException | Error e) {
            fail("internal error", e);
        }
    }

    /** Waits until the connection is too old, or has had no call for too long, and lets it end then. */
    private void age() {
        CallServer.Aging aging = server.aging;
        long spread = Math.min(aging.ageNanos() / 10, Long.MAX_VALUE / 4);
        long old = aging.ageNanos() == Long.MAX_VALUE ? Long.MAX_VALUE
                : aging.ageNanos() - spread + ThreadLocalRandom.current().nextLong(2 * spread + 1);
        long looks = Math.max(1_000_000, Math.min(aging.idleNanos() / 8, old));
        long idleSince = System.nanoTime();
        int seen = lastCall;
        try {
            while (failure() == null) {
                long now = System.nanoTime();
                if (calling.get() > 0 || lastCall != seen) {
                    seen = lastCall;
                    idleSince = now;
                }
                long left = Math.min(old - (now - beganNanos), aging.idleNanos() - (now - idleSince));
                if (left <= 0) {
                    leave();
                    TimeUnit.NANOSECONDS.sleep(aging.graceNanos());
                    fail(new IOException("the server ends connections of this age"));
                    return;
                }
                TimeUnit.NANOSECONDS.sleep(Math.min(left, looks));
            }
        } catch (InterruptedException e) {
            return; // the connection is over
        }
    }

    /** Reads until another thread does, or the connection fails. */
    private void read(long turn) {
        readerThread = Thread.currentThread();
        try {
            long mine = turn;
            while (failure() == null && mine != NOBODY) {
                Frame frame = null;
                try {
                    frame = receive(Long.MAX_VALUE, MOST_HELD);
                } catch (InterruptedIOException e) {
                    Thread.interrupted(); // the interrupt was meant for a call that has ended
                }
                if (frame != null && frame.kind == Frame.CALL) {
                    mine = call(frame, mine);
                } else if (frame != null) {
                    apply(frame);
                }
            }
        } catch (RuntimeException e) {
            LOG.error("a connection from {} ends by a fault of this library", carrier().remoteAddress(), e);
            fail("internal error", e);
        } catch (IOException | Error e) {
            fail("internal error", e);
        }
    }

    @Override
    void applyOther(Frame frame) throws IOException {
        if (frame.kind != Frame.ANSWERED) {
            throw new ProtocolViolation("a server got " + frame);
        }
        server.memory.answered(client, frame.answered);
    }

    private long call(Frame frame, long turn) throws IOException {
        if (frame.message != null && frame.message.length > server.settings.maxMessage() || frame.has(Frame.HEADERS)
                || calls.containsKey(frame.call) || frame.has(Frame.NUMBERED) && !isWhole(frame)) {
            throw new ProtocolViolation("a call is begun by " + frame);
        }
        long deadlineNanos = frame.value <= 0 || frame.value > Long.MAX_VALUE / 4000 ? Long.MAX_VALUE
                : System.nanoTime() + frame.value * 1000;
        lastCall = frame.call;
        CallStream call = new CallStream(this, frame.call, frame.text, deadlineNanos);
        if (frame.metadata != null) {
            call.headersArrived(frame.metadata);
        }
        int over = CallStream.METHOD;
        try {
            if (!admit(call, frame)) {
                return turn;
            }
            CallMethod method = server.method(frame.text);
            if (method == null) {
                call.finish(Code.UNIMPLEMENTED, "the server has no method " + frame.text, null, null);
                return turn;
            }
            call.needsWhole = method.needsWhole();
            if (!frame.has(Frame.LAST) && (frame.message == null || call.needsWhole)) {
                server.waitsFor(call);
            }
            if (deadlineNanos != Long.MAX_VALUE) {
                call.timer(CallTimer.at(deadlineNanos, () -> start("rdma-rpc-end",
                        () -> call.finish(Code.DEADLINE_EXCEEDED, Code.TOO_LATE, null, null))));
            }
            call.methodThread = Thread.currentThread();
            return run(method, call, frame, turn);
        } catch (Throwable e) { // it does not run: a client that repeats it is told so
            over |= CallStream.CALLBACKS; // there are none
            for (int tries = 1; !endUnbegun(call) && tries < LibraryThreads.MOST_TRIES; tries++) {
                LibraryThreads.pause();
            }
            throw e;
        } finally {
            if (call.hasPlace) {
                call.methodThread = null;
                left(call, over);
            }
        }
    }

    /** False if there is no memory for it: a client that repeats the call would wait for one that never ran. */
    private static boolean endUnbegun(CallStream call) {
        try {
            call.finish(Code.INTERNAL, "the server could not begin the call; its log says more", null, null);
            return true;
        } catch (OutOfMemoryError e) {
            return false;
        }
    }

    /**
     * A call that has ended keeps its place until its method has returned: else a client could have any number run. Not
     * if the method has ended it, before its client hears of that: an honest one makes its next call then.
     */
    @Override
    void left(CallStream call, int reasons) {
        if (call.isOver(reasons)) {
            placed.decrementAndGet();
            server.left(this);
        }
    }

    /** Whether the call may run: it is answered otherwise. */
    private boolean admit(CallStream call, Frame frame) throws IOException {
        calling.incrementAndGet(); // before the look whether the grace is over: pairs with closeIfDone
        try {
            return take(call, frame);
        } finally {
            if (!call.hasPlace) {
                calling.decrementAndGet();
                closeIfDone();
            }
        }
    }

    private boolean take(CallStream call, Frame frame) throws IOException {
        if (frame.has(Frame.NUMBERED)) {
            ResponseCache.Finding found = server.memory.find(client, frame, this);
            switch (found.verdict()) {
                case KNOWN -> {
                    if (found.answer() != null) {
                        answer(frame.call, found.answer());
                    }
                    return false;
                }
                case FORGOTTEN -> {
                    reply(refusal(call, Code.UNAVAILABLE, "the server has no memory of this call any more: it may have "
                            + "run", frame.has(Frame.REPEAT) ? 0 : Frame.NOT_BEGUN));
                    return false;
                }
                default -> call.remembered = found.entry();
            }
        }
        // A call that crosses the word that a connection is old runs; a server that shuts down takes none.
        boolean left = leaveTold && (graceOver || server.isLeaving());
        String why = left ? "the server is shutting down" : frame.lacksMessage ? ArrivingParts.DROPPED : lackFor(call);
        if (why != null) {
            Frame refusal = refusal(call, left ? Code.UNAVAILABLE : Code.RESOURCE_EXHAUSTED, why, Frame.NOT_BEGUN);
            if (call.remembered == null) {
                reply(refusal);
            } else { // repeated calls get the same refusal: the call must not run for one of them
                ResponseCache.Address to = server.memory.answered(call.remembered, refusal);
                to.connection().answer(to.callId(), refusal);
            }
            return false;
        }
        boolean counted = false;
        try {
            calls.put(call.id, call);
            server.begun(call);
            counted = true;
        } finally {
            if (!counted) {
                calls.remove(call.id, call);
                server.left(this);
            }
        }
        placed.incrementAndGet();
        call.hasPlace = true;
        if (frame.message != null) {
            call.messageArrived(frame.message);
        }
        if (frame.has(Frame.LAST)) {
            call.inputArrived();
        }
        if (failure() != null) { // the connection failed meanwhile, without a look at this call
            clientGone(call);
            if (client != null) {
                endForgotten();
            }
        }
        return true;
    }

    /** Why there is no room for a call; null if the server has taken it. */
    private String lackFor(CallStream call) {
        if (call.remembered != null && !server.memory.hasRoom(client)) {
            return "too many answers that this client has not acknowledged";
        }
        if (late.get() >= 2L * server.settings.maxCallsPerConnection()) { // some may be taken, and not counted off yet
            return "the client has not taken " + late.get() + " answers";
        }
        return server.admit(this, placed.get());
    }

    private static Frame refusal(CallStream call, int code, String text, int flags) {
        Frame frame = new Frame(Frame.MESSAGE, Frame.LAST | flags, call.id);
        frame.code = code;
        frame.text = text;
        return frame;
    }

    private static boolean isWhole(Frame frame) {
        return frame.message != null && frame.has(Frame.LAST);
    }

    /** Runs a method. Returns the turn with which this thread reads next, -1 if another thread reads. */
    private long run(CallMethod method, CallStream call, Frame frame, long turn) {
        boolean whole = isWhole(frame);
        return switch (method) {
            case CallMethod.Begun begun -> {
                guarded(call, begun.body());
                yield turn;
            }
            case CallMethod.Unary unary when !whole && unary.otherwise != null -> {
                guarded(call, unary.otherwise);
                yield turn;
            }
            case CallMethod.Unary unary when whole && unary.isQuick() -> runHere(unary, call, turn);
            case CallMethod.Unary unary -> {
                startReader(turn);
                long begun = System.nanoTime();
                answer(unary, call);
                unary.ran(System.nanoTime() - begun <= QUICK_NANOS);
                yield NOBODY;
            }
            case CallMethod.Streaming streaming -> {
                startReader(turn);
                call.runBegins();
                try {
                    guarded(call, streaming.body());
                } finally {
                    call.runEnds();
                }
                yield NOBODY;
            }
        };
    }

    /** The reader runs a method, after which it may no longer be the reader. */
    private long runHere(CallMethod.Unary unary, CallStream call, long turn) {
        running = unary;
        reader.set(turn | RUNS);
        CallTimer.wake();
        long begun = System.nanoTime();
        if (!carrier().holds()) {
            heldSince = begun;
        } else if (begun - heldSince > QUICK_NANOS) {
            flushSoon(); // answers wait for those that come next, but not for long
            heldSince = begun;
        }
        answer(unary, call);
        if (!reader.compareAndSet(turn | RUNS, turn + 2)) {
            return NOBODY;
        }
        unary.ran(System.nanoTime() - begun <= QUICK_NANOS);
        return turn + 2;
    }

    private void startReader(long turn) {
        reader.set(turn + 2);
        start("rdma-rpc-server", () -> read(turn + 2));
    }

    /** The timer: starts another reader if this one runs the same method as at the last look. True if one runs. */
    boolean look() {
        long now = reader.get();
        boolean runs = (now & RUNS) != READS;
        CallMethod.Unary slow = running;
        if (runs && now == lookedAt && reader.compareAndSet(now, now + 1)) {
            slow.wasSlow();
            start("rdma-rpc-server", () -> read(now + 1));
        }
        lookedAt = now;
        return runs;
    }

    private void answer(CallMethod.Unary unary, CallStream call) {
        if (unary.interrupted) {
            call.runBegins();
        }
        try {
            guarded(call, one -> {
                one.await(CallStream.INPUT, one.deadlineNanos());
                byte[] request = one.poll();
                if (request == null) {
                    one.finish(Code.INTERNAL, "a unary call without a request", null, null);
                    return;
                }
                byte[] answer = unary.body.answer(one, request);
                if (answer != null) {
                    one.finish(Code.OK, "", null, answer);
                }
            });
        } finally {
            call.runEnds();
        }
    }

    private void guarded(CallStream call, CallMethod.Running body) {
        try {
            body.run(call);
        } catch (MessageTooLong e) {
            call.finish(Code.RESOURCE_EXHAUSTED, e.getMessage(), null, null);
        } catch (Throwable e) {
            try {
                if (call.code() < 0) {
                    server.failures.warn("{} of {} failed", call.method(), carrier().remoteAddress(), e);
                }
            } finally {
                call.finish(Code.UNKNOWN, call.method() + " failed at the server by " + e.getClass().getName()
                        + "; its log says more", null, null);
            }
        }
    }

    @Override
    void finished(CallStream call, Frame frame) {
        boolean lives = calls.remove(call.id) != null;
        if (!lives && call.remembered == null) {
            return;
        }
        boolean replied = false;
        try {
            if (lives) {
                server.ended(call);
                left(call, CallStream.LIVES | (call.methodThread == Thread.currentThread() ? CallStream.METHOD : 0));
            }
            ResponseCache.Address to = call.remembered == null ? null : server.memory.answered(call.remembered, frame);
            if (to == null || to.connection() == this && to.callId() == call.id) {
                reply(frame);
            } else {
                to.connection().answer(to.callId(), frame);
            }
            replied = true;
        } finally {
            lacksAnswer |= !replied; // before the count: pairs with closeIfDone
            if (lives) {
                calling.decrementAndGet(); // after the answer, which may be late: a shutdown waits for both
            }
            closeIfDone();
        }
    }

    /** Sends an answer to the call that asks for it, whatever number the call had when it ran. */
    private void answer(int callId, Frame answer) {
        Frame frame = new Frame(answer.kind, answer.flags & ~Frame.HAS_MESSAGE, callId, answer.message);
        frame.code = answer.code;
        frame.text = answer.text;
        frame.metadata = answer.metadata;
        reply(frame);
    }

    /**
     * Sends the end of a call: later, in parts, if it is long; later, too, if it finds no room. The reader waits for
     * room only for a client that takes nothing and has more calls than it may: others may be sending calls. Answers
     * that wait count as held; a client that lets too many wait gets no further call.
     */
    private void reply(Frame frame) {
        if (!carrier().goesInParts(frame) && sendOrFail(frame, null, System.nanoTime())) {
            return;
        }
        boolean begun = false;
        long bytes = frame.size();
        late.incrementAndGet();
        server.held(this, bytes);
        try {
            if (late.get() > 1 && server.isFull(this)) { // one may have to wait because of others
                fail(new IOException("the client takes no answers, and far too many bytes of them wait"));
            }
            if (Thread.currentThread() == readerThread && late.get() <= server.settings.maxCallsPerConnection()) {
                start("rdma-rpc-send", () -> replyLate(frame, bytes));
                begun = true;
            }
        } finally {
            if (!begun) {
                replyLate(frame, bytes);
            }
        }
    }

    private void replyLate(Frame frame, long bytes) {
        boolean sent = false;
        try {
            sendOrFail(frame);
            sent = true;
        } finally {
            lacksAnswer |= !sent; // likewise
            late.decrementAndGet();
            server.held(this, -bytes);
            closeIfDone();
        }
    }

    @Override
    boolean await(CallStream call, int what, long untilNanos) throws IOException {
        CallStream.Waiter waiter = call.waits(what);
        try {
            while (!waiter.isReady()) {
                if (!park(call, untilNanos)) {
                    return waiter.isReady();
                }
            }
            return true;
        } finally {
            waiter.end();
        }
    }

    @Override
    void lastArrived(CallStream call, Frame frame) {
        server.heardOf(call);
        call.inputArrived();
    }

    @Override
    void cancelArrived(CallStream call, Frame frame) {
        call.finish(frame.code == Code.OK ? Code.CANCELLED : frame.code, "the client has given the call up", null,
                null);
    }

    @Override
    void notSent(CallStream call) {
        call.finish(Code.DEADLINE_EXCEEDED, Code.TOO_LATE, null, null);
    }

    @Override
    void onFailed(IOException reason) {
        CallTimer.forget(this);
        Thread waits = ager;
        if (waits != null) {
            waits.interrupt();
        }
        calls.values().forEach(this::clientGone);
        if (client != null) {
            endForgotten();
        }
        server.gone(this);
        if (client != null) { // last: after an Error all before this is done again
            server.memory.leave(client);
        }
    }

    private void clientGone(CallStream call) {
        if (call.remembered == null || call.hasStreamed()) { // else its client may come back for the answer
            call.clientGone();
        }
    }

    /** When the client is forgotten, ends calls for whose answers it might have come back. */
    private void endForgotten() {
        long left = calls.isEmpty() ? Long.MAX_VALUE : server.memory.keepsFor(client);
        if (left > Long.MAX_VALUE / 2) {
            return;
        }
        if (left <= 0) {
            start("rdma-rpc-end", () -> calls.values().forEach(CallStream::clientGone));
        }
        // Also if it was forgotten before: an Error may have kept calls from their end.
        CallTimer.at(System.nanoTime() + Math.max(left, HELLO_NANOS / 10), () -> LibraryThreads.insist(forgetting));
    }

    /** Takes no new calls; the connection ends when those that run have ended. */
    void leave() {
        if (leaving) {
            return;
        }
        leaving = true;
        boolean waits = false;
        try {
            if (greeted) {
                sendSoon(new Frame(Frame.GOAWAY, 0, 0)); // the client may take nothing
            }
            leaveTold = true;
            Runnable over = this::endGrace; // here, where a lack of memory does no harm
            CallTimer.at(System.nanoTime() + GRACE.toNanos(), () -> start("rdma-rpc-grace", over));
            waits = true;
        } finally {
            if (!waits) {
                leaveTold = true;
                endGrace();
            }
        }
    }

    private void endGrace() {
        graceOver = true;
        closeIfDone();
    }

    /**
     * Ends the connection if the grace is over and no call runs. Calls that clients sent before they heard of it have
     * come meanwhile, or do not begin: the client is told so, if it has all answers.
     */
    private void closeIfDone() {
        if (graceOver && calling.get() == 0 && late.get() == 0) {
            if (greeted && !lacksAnswer) {
                sendSoon(new Frame(Frame.GOAWAY, Frame.LAST, 0));
            }
            flushSoon();
            fail(new IOException("the server is shut down"));
        }
    }

    /** Its threads may run methods, or listeners of calls. */
    @Override
    ClassLoader context() {
        return server.context;
    }

    @Override
    void onHeld(long bytes) {
        server.held(this, bytes);
    }

    @Override
    boolean isFull() {
        return server.isFull(this);
    }

    @Override
    void onMessage(CallStream call) {
        if (!call.needsWhole) {
            server.heardOf(call);
        }
        if (server.isFull(this)) {
            call.finish(Code.RESOURCE_EXHAUSTED, "the server has far too many bytes of requests that it has not read",
                    null, null);
        }
    }
}
