package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.lock.LibraryThreads;

/** The common part of both ends of a connection. */
abstract class CallConnection {
    /** Bytes of a call that may be sent before its receiver has consumed any, one message more. */
    static final int WINDOW = 256 << 10;
    /** How long an unknown client may take for its first frame. */
    static final long HELLO_NANOS = 10_000_000_000L;
    /** The version of the protocol, the same at both ends. */
    static final int VERSION = 2;
    private static final int LEAST_WINDOW = 1024;
    /** Says so where there is no memory to say more. */
    private static final IOException CUT_SHORT = new IOException("the connection was cut short by an error");

    private final Carrier carrier;
    /** The longest message that this end takes. */
    private final int maxMessage;
    /** Calls that have not ended, by their number. */
    final ConcurrentHashMap<Integer, CallStream> calls = new ConcurrentHashMap<>();
    /** The limits that the peer has announced; set before the first call. */
    private long peerMaxMessage;
    long peerWindow;
    /** A thread has read; it, or the next reader, flushes what is held before it waits. Changed by the reader. */
    private volatile boolean readerComes;
    /** Frames that were taken while something was held, since the last wait; the reader only. */
    private int further;
    /** Why it is over; null while it is not. */
    private volatile IOException failure;
    private final ArrivingParts parts = new ArrivingParts(this);
    /** Made before it is needed. */
    private final Runnable end = this::end;

    CallConnection(Carrier carrier, int maxMessage) {
        this.carrier = carrier;
        this.maxMessage = maxMessage;
    }

    /** Where frames go. */
    public final Carrier carrier() {
        return carrier;
    }

    /** Why this is over, null while it is not. */
    final IOException failure() {
        return failure;
    }

    /** Messages that come in parts, and are not whole. */
    final ArrivingParts parts() {
        return parts;
    }

    /** The longest message that this end takes. */
    final int maxMessage() {
        return maxMessage;
    }

    /** A HELLO with this end's limits. */
    final Frame hello(byte[] identity) {
        Frame frame = new Frame(Frame.HELLO, Frame.NUMBERED | Frame.TAKES_PARTS, 0, identity);
        frame.code = VERSION;
        frame.value = maxMessage;
        frame.number = WINDOW;
        return frame;
    }

    /** Waits for the peer's HELLO, so long at most. */
    final Frame receiveHello(long limitNanos) throws IOException {
        Frame frame = carrier.receive(System.nanoTime() + limitNanos);
        if (frame.kind != Frame.HELLO || frame.code != VERSION || !frame.has(Frame.NUMBERED) || frame.message == null
                || frame.value < 1 || frame.value > Integer.MAX_VALUE || frame.number < LEAST_WINDOW
                || frame.number > Integer.MAX_VALUE) {
            throw new ProtocolViolation("version " + VERSION + " is spoken here, and the first frame was " + frame);
        }
        peerMaxMessage = frame.value;
        peerWindow = frame.number;
        carrier.useParts(frame.has(Frame.TAKES_PARTS), parts);
        return frame;
    }

    /** Refuses what the peer does not take. */
    final void checkLength(byte[] message) {
        if (message != null && message.length > peerMaxMessage) {
            throw new MessageTooLong(message.length, peerMaxMessage);
        }
    }

    final void apply(Frame frame) throws IOException {
        if (frame.message != null && frame.message.length > maxMessage) {
            throw new ProtocolViolation("a message of " + frame.message.length + " bytes; this end has said "
                    + maxMessage);
        }
        switch (frame.kind) {
            case Frame.MESSAGE, Frame.WINDOW, Frame.CANCEL -> {
                CallStream call = calls.get(frame.call);
                if (call != null) { // else it has ended here, and the peer does not know yet
                    applyTo(call, frame);
                    call.signal();
                }
            }
            default -> applyOther(frame);
        }
    }

    private void applyTo(CallStream call, Frame frame) throws IOException {
        switch (frame.kind) {
            case Frame.WINDOW -> call.roomArrived(frame.value);
            case Frame.CANCEL -> cancelArrived(call, frame);
            default -> {
                if (frame.lacksMessage) {
                    call.finish(Code.RESOURCE_EXHAUSTED, ArrivingParts.DROPPED, null, null);
                    return;
                }
                if (frame.has(Frame.HEADERS)) {
                    call.headersArrived(frame.metadata);
                }
                if (frame.message != null) {
                    call.messageArrived(frame.message);
                    onMessage(call);
                }
                if (frame.has(Frame.LAST)) {
                    lastArrived(call, frame);
                }
            }
        }
    }

    /**
     * The reader: waits for the next frame, after it has flushed what is held; first takes up to {@code more} frames
     * that have come.
     */
    final Frame receive(long deadlineNanos, int more) throws IOException {
        boolean looks = further < more && carrier.holds();
        Frame frame = carrier.poll(looks);
        if (frame != null) {
            further += looks ? 1 : 0;
            return frame;
        }
        further = 0;
        nobodyComes();
        frame = carrier.receive(deadlineNanos);
        readerComes = true;
        return frame;
    }

    /** The reader: is about to wait, or leaves and no other reader comes soon. */
    final void nobodyComes() {
        readerComes = false; // before the look at what is held: pairs with sendOrFail
        flushSoon();
    }

    /** Sends what is held without a wait: what finds no room goes later, on a thread of its own. */
    final void flushSoon() {
        if (carrier.holds() && !flush(System.nanoTime())) {
            start("rdma-rpc-send", () -> flush(Long.MAX_VALUE));
        }
    }

    /** Sends what is held; false if it could not in time. */
    private boolean flush(long deadlineNanos) {
        try {
            carrier.flush(deadlineNanos);
            return true;
        } catch (InterruptedIOException e) {
            return false; // a timeout, or this thread is to stop for the sake of its call
        } catch (IOException | RuntimeException | Error e) {
            fail("cannot send", e);
            return true;
        }
    }

    /** Starts a virtual thread for what the peer, or others here, wait for: without it the connection is over. */
    final Thread start(String name, Runnable task) {
        try {
            return LibraryThreads.start(name, context(), LibraryThreads.once(task, this::lacking));
        } catch (RuntimeException | Error e) {
            failBy("no thread goes on", e);
            throw e;
        }
    }

    /** The context class loader of its threads. */
    ClassLoader context() {
        return ClassLoader.getSystemClassLoader();
    }

    private void lacking(Throwable cause) {
        failBy("a thread that it needs has ended", cause);
        LibraryThreads.report(cause);
    }

    /**
     * Something may be lost that others wait for: the connection is over, also if there is no memory to say why. An
     * {@code Error} goes on to the caller.
     */
    final void fail(String what, Throwable cause) {
        failBy(what, cause);
        if (cause instanceof Error e) {
            throw e;
        }
    }

    private void failBy(String what, Throwable cause) {
        IOException reason = CUT_SHORT;
        try {
            reason = cause instanceof IOException e ? e : new IOException(what + ": " + cause, cause);
        } finally {
            fail(reason);
        }
    }

    /** Sends; a failure ends the connection, and the caller learns it from its call. */
    final void sendOrFail(Frame frame) {
        if (!sendOrFail(frame, null, Long.MAX_VALUE)) { // the system was too slow with memory for it
            fail(new IOException("a frame was not sent in time, and others wait for it: " + frame));
        }
    }

    /**
     * The same until a time, or until a call, null for none, is over and this thread is interrupted; false if nothing
     * was sent. While a reader is about to come, the frame may be left to it: so what is ready at once goes as one.
     */
    final boolean sendOrFail(Frame frame, CallStream call, long deadlineNanos) {
        boolean interrupted = false;
        try {
            if (readerComes && failure == null && carrier.hold(frame)) {
                return true;
            }
            while (failure == null) {
                try {
                    carrier.send(frame, deadlineNanos);
                    return true;
                } catch (SocketTimeoutException e) {
                    return false;
                } catch (InterruptedIOException e) {
                    interrupted |= Thread.interrupted();
                    if (call != null && call.code() >= 0) {
                        return false;
                    }
                }
            }
            return true; // the call has heard of the failure
        } catch (IOException | RuntimeException | Error e) {
            try {
                if (call != null && e instanceof Carrier.NotSentException) {
                    neverSent(call, frame);
                }
            } finally {
                fail("cannot send", e);
            }
            return true;
        } finally {
            if (!readerComes) { // after the frame is held, or others' were: pairs with nobodyComes
                flushSoon();
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Sends without a wait: what finds no room goes later, on a thread of its own. */
    final void sendSoon(Frame frame) {
        if (!sendOrFail(frame, null, System.nanoTime())) {
            start("rdma-rpc-send", () -> sendOrFail(frame));
        }
    }

    /** The connection is over: all its calls end. Any thread, idempotent. */
    final void fail(IOException reason) {
        boolean first;
        synchronized (calls) {
            first = failure == null;
            failure = first ? reason : failure;
        }
        if (first) {
            LibraryThreads.insist(end);
        } else {
            carrier.close(); // the first one may be on its way
        }
    }

    private void end() {
        try {
            carrier.close();
        } finally {
            try {
                parts.close();
            } finally {
                onFailed(failure);
            }
        }
    }

    /** Parks once, unless it is too late; an unpark leads to another look. */
    static boolean park(Object blocker, long untilNanos) throws InterruptedIOException {
        if (untilNanos == Long.MAX_VALUE) {
            LockSupport.park(blocker);
        } else {
            long left = untilNanos - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            LockSupport.parkNanos(blocker, left);
        }
        if (Thread.currentThread().isInterrupted()) {
            throw new InterruptedIOException("interrupted");
        }
        return true;
    }

    /** See {@link CallStream#await}. */
    abstract boolean await(CallStream call, int what, long untilNanos) throws IOException;

    /** A frame that is none of a call that has begun. */
    abstract void applyOther(Frame frame) throws IOException;

    abstract void lastArrived(CallStream call, Frame frame) throws IOException;

    abstract void cancelArrived(CallStream call, Frame frame) throws IOException;

    /** A message of a call was not sent before its deadline. */
    abstract void notSent(CallStream call);

    /** A call of a server has ended and has an answer. */
    void finished(CallStream call, Frame answer) {
        throw new IllegalStateException("a client does not finish a call: " + call);
    }

    /** A call of a server does not keep its place any more for such reasons. */
    void left(CallStream call, int reasons) {
        throw new IllegalStateException("a client keeps no place for a method: " + call);
    }

    /** A call of a client was given up. */
    void cancelled(CallStream call, int status) {
        throw new IllegalStateException("a server finishes a call: " + call);
    }

    /** The connection is over; called once, without locks. */
    abstract void onFailed(IOException reason);

    /** A call has got a listener, for which a client has to read. */
    void onListener(CallStream call) {}

    /** A frame of a call met a connection that was over: the peer never sees it. */
    void neverSent(CallStream call, Frame frame) {}

    /** So many bytes more, or fewer, have arrived and wait. A client's requests and windows bound them. */
    void onHeld(long bytes) {}

    /** Whether far too much has arrived and waits. */
    boolean isFull() {
        return false;
    }

    /** Whether parts of a message for a call are of use. */
    boolean awaitsParts(int call) {
        return true;
    }

    /** A further message of a call has arrived. */
    void onMessage(CallStream call) {}
}
