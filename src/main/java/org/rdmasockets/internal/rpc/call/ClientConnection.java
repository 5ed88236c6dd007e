package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.rdmasockets.internal.lock.LibraryThreads;

/**
 * A client's end. Callers that wait take turns reading; while none does, a virtual thread reads for listeners and for
 * threads that wait for a place.
 */
public final class ClientConnection extends CallConnection {
    /** How many bytes name a client. */
    public static final int IDENTITY_BYTES = 16;

    /** If no thread has read for so long, the background thread does until the connection ends or a caller waits. */
    private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** More places than any client takes, yet few enough that the semaphore does not overflow. */
    private static final int MOST_PLACES = 1 << 28;

    private final AtomicInteger nextCall = new AtomicInteger();
    /** How many calls the server takes at a time. */
    private final Semaphore places;
    private final long serverInstance;
    private volatile boolean leaving;
    /**
     * The waiter or background thread whose turn it is, or null; guarded by turns. A thread that gets the turn looks
     * once more before it reads.
     */
    private Object reading;
    /** The waiters without the turn, in order; guarded by turns. */
    private final Set<CallStream.Waiter> standing = new LinkedHashSet<>();
    /** Calls with a listener; guarded by turns. */
    private final Set<CallStream> listened = new LinkedHashSet<>();
    final Object turns = new Object();
    /** How many frames have come in the last message; the reader only. */
    private int together;
    /** How often a thread has read, and how often one had to wait; changed by the reader, and under turns. */
    private int readCount;
    private int standCount;
    /** Is told when no new call begins here, null for none; guarded by turns, as the next. */
    private Consumer<ClientConnection> watcher;
    /** How many threads wait for a place; guarded by turns. */
    private int placeless;
    /** Reads for listeners, for threads that wait for a place, and when no other does; null while there is none. */
    private Thread background;

    /**
     * A call to be made: a method, headers and the first message, both null for none, whether that is the
     * {@code last}, a deadline of {@code System.nanoTime}, {@code Long.MAX_VALUE} for none, and for a call that runs at
     * most once its number, else 0, the number below which all are over, and whether it was sent before.
     */
    public record Start(String method, byte[] metadata, byte[] message, boolean last, long deadlineNanos, long number,
            long answered, boolean repeat) {
    }

    /**
     * Greets the server, in the name of a client that has used numbers up to {@code sentUpTo}. Fails if the server does
     * not answer well within {@code limitNanos}: one that has just started loads its code first.
     */
    public ClientConnection(Carrier carrier, int maxMessage, byte[] identity, long sentUpTo, long limitNanos)
            throws IOException {
        super(carrier, maxMessage);
        boolean greeted = false;
        try {
            carrier.send(hello(ByteBuffer.allocate(IDENTITY_BYTES + Long.BYTES).put(identity).putLong(sentUpTo)
                    .array()), System.nanoTime() + limitNanos);
            Frame answer = receiveHello(limitNanos);
            if (answer.message.length != Long.BYTES || answer.answered < 1 || answer.answered > Integer.MAX_VALUE) {
                throw new ProtocolViolation("a server's greeting is " + answer);
            }
            serverInstance = ByteBuffer.wrap(answer.message).getLong();
            places = new Semaphore((int) Math.min(answer.answered, MOST_PLACES), true);
            greeted = true;
        } finally {
            if (!greeted) {
                LibraryThreads.close(carrier);
            }
        }
    }

    /** A random number that the server drew when it started: another number means another start, or another server. */
    public long serverInstance() {
        return serverInstance;
    }

    /** Whether new calls may begin here: not when the server leaves, or the connection is over. */
    public boolean isOpen() {
        return !leaving && failure() == null;
    }

    /** Whether the connection is over, and with it all its calls. */
    public boolean isLost() {
        return failure() != null;
    }

    /**
     * Begins a call. Waits while the server has as many as it takes, and throws {@code InterruptedIOException} if this
     * thread is interrupted meanwhile. The call has ended already if the connection or the call's time is over.
     *
     * @param listener told of news; null if a thread will wait
     */
    public CallStream begin(Start start, Runnable listener) throws IOException {
        checkLength(start.message());
        CallStream call = made(start);
        if (!takePlace(start.deadlineNanos())) {
            call.end(Code.DEADLINE_EXCEEDED, Code.TOO_LATE + " before the server could take one more call", null,
                    unbegun(call));
            return call;
        }
        if (!sendPlaced(call, start, listener, start.deadlineNanos())) {
            call.end(Code.DEADLINE_EXCEEDED, Code.TOO_LATE + " before the connection could take one more call", null,
                    unbegun(call));
            call.signal();
        }
        return call;
    }

    /**
     * Begins a call as {@link #begin}, if there is a place for it, and with a listener if there is room in the
     * connection, too: null if it would have to wait, and then nothing has begun.
     */
    public CallStream tryBegin(Start start, Runnable listener) {
        checkLength(start.message());
        if (places.hasQueuedThreads() || !places.tryAcquire()) { // waiting threads come first
            return null;
        }
        CallStream call = made(start);
        if (sendPlaced(call, start, listener, listener == null ? start.deadlineNanos() : System.nanoTime())) {
            return call;
        }
        call.end(Code.UNAVAILABLE, "the connection could not take one more call at once", null, unbegun(call));
        return null;
    }

    /** Sends a call that has a place, until a time; false if it was not sent, and has no place any more. */
    private boolean sendPlaced(CallStream call, Start start, Runnable listener, long untilNanos) {
        try {
            calls.put(call.id, call);
            if (isOpen()) { // after the call can be seen: pairs with over
                return send(call, start, listener, untilNanos);
            }
            over(call);
            call.end(Code.UNAVAILABLE, "the server leaves", null, unbegun(call));
        } catch (Throwable e) {
            over(call);
            throw e;
        }
        return true;
    }

    private CallStream made(Start start) {
        CallStream call = new CallStream(this, nextCall.incrementAndGet(), start.method(), start.deadlineNanos());
        call.repeats = start.repeat();
        return call;
    }

    /** How a call ends that did not begin: so, unless it repeats a lost call, which may have run before. */
    private static int unbegun(CallStream call) {
        return call.repeats ? -1 : Frame.NOT_BEGUN;
    }

    private boolean send(CallStream call, Start start, Runnable listener, long untilNanos) {
        if (listener != null) {
            call.listen(listener);
        }
        if (start.deadlineNanos() != Long.MAX_VALUE && listener != null) {
            call.timer(CallTimer.at(start.deadlineNanos(), () -> start("rdma-rpc-end", () -> call.cancel(
                    Code.DEADLINE_EXCEEDED, Code.TOO_LATE))));
        }
        boolean numbered = start.number() > 0;
        Frame frame = new Frame(Frame.CALL, (start.last() ? Frame.LAST : 0) | (numbered ? Frame.NUMBERED : 0)
                | (start.repeat() ? Frame.REPEAT : 0), call.id, start.message());
        frame.text = start.method();
        frame.metadata = start.metadata();
        frame.number = start.number();
        frame.answered = start.answered();
        frame.value = call.microsLeft();
        call.sentWithCall(start.message(), start.last());
        if (!sendOrFail(frame, call, untilNanos)) {
            over(call);
            if (carrier().goesInParts(frame)) {
                sendSoon(new Frame(Frame.CANCEL, 0, call.id)); // some parts may have gone
            }
            return false;
        }
        if (call.code() >= 0 && carrier().goesInParts(frame)) {
            sendSoon(new Frame(Frame.CANCEL, 0, call.id)); // again: the first has overtaken the call
        }
        if (failure() != null) {
            lose(call, failure());
        }
        return true;
    }

    /** Waits for a place; false if the time is over. Meanwhile a thread reads: calls without a waiter may end. */
    private boolean takePlace(long deadlineNanos) throws IOException {
        if (places.tryAcquire()) {
            return true;
        }
        synchronized (turns) {
            placeless++;
        }
        try {
            if (places.tryAcquire()) {
                return true; // a place was freed since the first look: perhaps nothing more comes to read
            }
            letBackgroundRead();
            return places.tryAcquire(deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE
                    : deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted before the call began");
        } finally {
            synchronized (turns) {
                placeless--;
            }
        }
    }

    /** No new call begins here: wakes the threads that wait for a place, which find that out. */
    private void openPlaces() {
        places.release(MOST_PLACES);
    }

    @Override
    boolean await(CallStream call, int what, long untilNanos) throws IOException {
        CallStream.Waiter waiter = call.waits(what);
        try {
            while (!waiter.isReady()) {
                boolean reads = takeTurn(waiter);
                if (reads && waiter.isReady()) {
                    return true; // the previous reader has read it meanwhile, and perhaps nothing follows
                }
                if (!(reads ? readSome(untilNanos) : park(call, untilNanos))) {
                    return waiter.isReady();
                }
                if (failure() != null) {
                    lose(call, failure()); // an Error may have kept the thread that failed from that
                } else if (reads && !waiter.isReady()) {
                    if (untilNanos != Long.MAX_VALUE && untilNanos - System.nanoTime() <= 0) {
                        return false; // the call's time is over, although frames of others come
                    }
                    letOthersCall();
                }
            }
            return true;
        } finally {
            waiter.end();
            leaveTurn(waiter);
        }
    }

    private boolean takeTurn(CallStream.Waiter who) {
        synchronized (turns) {
            if (reading == null || reading == who) {
                reading = who;
                standing.remove(who);
                return true;
            }
            standCount++;
            standing.add(who);
            return false;
        }
    }

    /**
     * Ends a wait. If it had the turn, hands that to the waiter that has waited longest, else to the background thread
     * if that is needed. If this is cut short, perhaps no thread reads: then the connection ends.
     */
    private void leaveTurn(Object who) {
        try {
            handTurnOn(who);
        } catch (RuntimeException | Error e) {
            fail("the next thread could not be told to read", e);
        }
    }

    private void handTurnOn(Object who) {
        Thread next = null;
        synchronized (turns) {
            standing.remove(who);
            if (reading != who) {
                return;
            }
            reading = null;
            for (Iterator<CallStream.Waiter> all = standing.iterator(); reading == null && all.hasNext();) {
                CallStream.Waiter waiter = all.next();
                all.remove();
                if (!waiter.isReady()) { // a ready one was told, and leaves by itself
                    reading = waiter;
                    next = waiter.thread;
                }
            }
            if (reading == null && needsBackground()) {
                reading = background;
                next = background;
            }
        }
        if (next == null || !next.isVirtual()) {
            nobodyComes(); // a platform thread may take long to wake up
        }
        LockSupport.unpark(next);
    }

    /** Reads frames, which may be any call's, as many as have come together; false if none has come in time. */
    private boolean readSome(long untilNanos) throws IOException {
        try {
            int count = 0;
            for (Frame frame = receive(untilNanos, 0); frame != null; frame = carrier().poll(false)) {
                apply(frame);
                count++;
            }
            together = count;
            readCount++;
        } catch (SocketTimeoutException e) {
            return untilNanos - System.nanoTime() > 0; // it was woken up, perhaps in place of the previous reader
        } catch (InterruptedIOException e) {
            throw e;
        } catch (IOException | RuntimeException | Error e) {
            fail("cannot receive", e);
        }
        return true;
    }

    /** Callers that were answered together often call again at once: if the reader yields, their calls go together. */
    private void letOthersCall() {
        if (together > 1 && Thread.currentThread().isVirtual()) {
            Thread.yield(); // to behind those that were woken
        }
    }

    @Override
    void onListener(CallStream call) {
        synchronized (turns) {
            if (call.code() < 0) {
                listened.add(call);
            }
        }
        letBackgroundRead();
    }

    /** Turns held: whether threads wait or listen without reading themselves. */
    private boolean needsBackground() {
        return !listened.isEmpty() || placeless > 0;
    }

    private void letBackgroundRead() {
        Thread idle = null;
        synchronized (turns) {
            if (background == null) {
                background = LibraryThreads.start("rdma-rpc-reader", this::readForListeners);
            } else if (reading == null) {
                idle = background; // it has parked, as it was not needed
            }
        }
        LockSupport.unpark(idle);
    }

    private void readForListeners() {
        try {
            readWhileOpen(Thread.currentThread());
        } catch (RuntimeException | Error e) {
            fail("no thread reads for listeners any more", e);
        } finally {
            leaveTurn(Thread.currentThread());
        }
    }

    private void readWhileOpen(Thread me) {
        int seen = -1;
        int seenStanding = 0;
        while (failure() == null) {
            boolean mine;
            boolean handedOn;
            boolean watches;
            synchronized (turns) {
                watches = watcher != null;
                // While callers come it leaves the turn to them: their answers need no other thread then.
                boolean quiet = watches && (reading == me ? standCount == seenStanding : readCount == seen);
                mine = (reading == null || reading == me) && (needsBackground() || quiet);
                handedOn = !mine && reading == me; // this got the turn when it was no longer needed
                if (mine) {
                    reading = me;
                }
                seen = handedOn ? readCount - 1 : readCount; // not quiet: callers come
                seenStanding = standCount;
            }
            try {
                if (mine) {
                    readSome(Long.MAX_VALUE);
                    letOthersCall();
                } else if (handedOn) {
                    leaveTurn(me); // and looks again: that may wait for a lock, and use up the permit of an unpark
                } else if (watches) {
                    LockSupport.parkNanos(this, QUIET_NANOS);
                } else {
                    LockSupport.park(this);
                }
            } catch (IOException e) {
                Thread.interrupted(); // an interrupt of this thread has no meaning
            }
        }
    }

    /**
     * Has a thread read from now on whenever no other does for a while, so that the end of the connection is noticed
     * between calls. {@code told} runs, perhaps twice, when no new call begins here, on the thread that finds that out:
     * it must neither block nor throw.
     */
    public void watch(Consumer<ClientConnection> told) {
        synchronized (turns) {
            watcher = told;
        }
        letBackgroundRead();
    }

    private void tellWatcher() {
        Consumer<ClientConnection> told;
        synchronized (turns) {
            told = watcher;
        }
        if (told != null) {
            told.accept(this);
        }
    }

    @Override
    void applyOther(Frame frame) throws IOException {
        if (frame.kind != Frame.GOAWAY) {
            throw new ProtocolViolation("a client got " + frame);
        }
        leave();
        if (frame.has(Frame.LAST)) {
            calls.values().forEach(call -> endUnbegun(call, "the server has ended the connection before the call"));
        }
    }

    /** Begins no more calls, and ends the connection when the running ones have ended. Idempotent. */
    public void leave() {
        boolean first = !leaving;
        leaving = true;
        if (first) {
            openPlaces();
            tellWatcher();
        }
        closeIfDone();
    }

    /** Tells the server that it may forget answers to all numbers below one. */
    public void answered(long below) {
        Frame frame = new Frame(Frame.ANSWERED, Frame.NUMBERED, 0);
        frame.answered = below;
        sendSoon(frame);
    }

    private void closeIfDone() {
        if (leaving && calls.isEmpty()) {
            fail(new IOException("the server has shut down"));
        }
    }

    @Override
    void lastArrived(CallStream call, Frame frame) {
        call.end(frame.code, frame.text, frame.metadata, frame.flags & Frame.NOT_BEGUN);
        over(call);
    }

    @Override
    boolean awaitsParts(int call) {
        return calls.containsKey(call);
    }

    private void over(CallStream call) {
        if (calls.remove(call.id) != null) {
            parts().drop(call.id); // after the removal: pairs with awaitsParts
            places.release();
            if (call.isListened()) {
                synchronized (turns) {
                    listened.remove(call);
                }
            }
            closeIfDone();
        }
    }

    @Override
    void cancelArrived(CallStream call, Frame frame) throws IOException {
        throw new ProtocolViolation("a server got rid of call " + call.id + " without an end");
    }

    @Override
    void cancelled(CallStream call, int status) {
        over(call);
        Frame frame = new Frame(Frame.CANCEL, 0, call.id);
        frame.code = status;
        sendSoon(frame);
        boolean wakes;
        synchronized (turns) { // pairs with takeTurn: the call's reader has not looked at it yet, or waits
            wakes = reading instanceof CallStream.Waiter waiter && waiter.call == call
                    && waiter.thread != Thread.currentThread();
        }
        if (wakes) {
            carrier().wakeup(); // the server may never say anything more
        }
    }

    @Override
    void notSent(CallStream call) {
        call.cancel(Code.DEADLINE_EXCEEDED, Code.TOO_LATE);
        sendSoon(new Frame(Frame.CANCEL, 0, call.id)); // parts may have gone, and a call that was over says no more
    }

    @Override
    void onFailed(IOException reason) {
        Thread reader;
        synchronized (turns) {
            reader = background;
        }
        openPlaces();
        LockSupport.unpark(reader);
        Throwable thrown = null;
        try {
            tellWatcher(); // first: a caller that hears of the end finds the state changed
        } catch (RuntimeException | Error e) {
            thrown = e; // the calls must hear of the end all the same
        }
        for (CallStream call : calls.values()) {
            try {
                lose(call, reason);
            } catch (RuntimeException | Error e) {
                thrown = thrown instanceof Error ? thrown : e; // the other calls must hear of it as well
            }
        }
        if (thrown instanceof Error e) {
            throw e; // there is a further try
        }
    }

    @Override
    void neverSent(CallStream call, Frame frame) {
        if (frame.kind == Frame.CALL) {
            endUnbegun(call, "the connection was lost before the call");
        }
    }

    /** Ends a call that the server never begins over this connection; a repeated one may run, and is lost with it. */
    private void endUnbegun(CallStream call, String text) {
        if (!call.repeats) {
            call.end(Code.UNAVAILABLE, text, null, Frame.NOT_BEGUN);
            over(call);
            call.signal();
        }
    }

    private void lose(CallStream call, IOException reason) {
        call.end(Code.UNAVAILABLE, "the connection to the server was lost: " + reason.getMessage(), null, -1);
        call.signal();
        over(call); // last: an Error leaves it to a further try
    }

    /** Ends the connection, and all calls. Idempotent. */
    public void close() {
        fail(new IOException("the client is closed"));
    }
}
