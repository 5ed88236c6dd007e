package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.lock.LibraryThreads;

/**
 * One call, at either end of a connection: what has arrived of it, what may be sent, how it ended. Methods that wait
 * take a deadline. Any thread may call anything; one at a time may receive.
 */
public final class CallStream implements Runnable {
    /** To wait for: a message, or the end of messages. */
    public static final int INPUT = 0;
    /** To wait for: the peer's headers, or what comes after them. */
    public static final int HEADERS = 1;
    /** To wait for: room to send, or the end of the call. */
    public static final int ROOM = 2;
    /** To wait for: the end of the call. */
    public static final int END = 3;
    private static final IOException UNTOLD = new IOException("no memory or stack to tell of a call's end");

    /** A server keeps a call's place until the call has ended. */
    static final int LIVES = 1;
    /** Likewise, until its method has returned. */
    public static final int METHOD = 2;
    /** Likewise, until its last callback has returned, which may run after its method. */
    public static final int CALLBACKS = 4;
    /** Likewise, until all listeners of its cancellation have returned. */
    public static final int CANCELLATION = 8;

    final CallConnection connection;
    /** Its number in the connection. */
    final int id;
    private final String method;
    /** The deadline by {@code System.nanoTime}, {@code Long.MAX_VALUE} for none. */
    private final long deadlineNanos;
    /** Messages that were not taken yet; guarded by this, as all that follows. */
    private final ArrayDeque<byte[]> arrived = new ArrayDeque<>(1);
    /** The peer's first metadata; null if it has sent none. */
    private byte[] headers;
    private byte[] trailers;
    private boolean inputBegun;
    private boolean inputEnded;
    private boolean outputEnded;
    /** How the call ended, -1 while it has not. */
    private volatile int code = -1;
    private String text = "";
    /** The peer has refused this before it did anything. */
    private boolean notBegun;
    /** The connection was lost before the end came. */
    private boolean lost;
    /** Bytes that may be sent, may be negative after a long message. */
    private long room;
    /** Bytes that have arrived and were not consumed. */
    private long held;
    /** Consumed bytes of which the peer was not told yet. */
    private long untold;
    /** One thread may wait to receive, another one to send. */
    private final Waiter receiver = new Waiter(this);
    private volatile Waiter sender;
    /** At a server: the reasons for which the call keeps its place. */
    private int keeps = LIVES | METHOD;
    /** Whether a server counts it; the reader only. */
    boolean hasPlace;
    /** Whether its request is of use only as a whole; the reader only. */
    boolean needsWhole;
    /** Whether its request has brought nothing of use yet; written with the server's list of such calls. */
    volatile boolean isSilent;
    /** Client: whether it repeats a lost call, which may have run. Set before it begins. */
    boolean repeats;
    /** Server: whether a message was sent. */
    private boolean sent;
    /** The thread in which its method runs, until that returns; null for none. */
    volatile Thread methodThread;
    /** The thread that runs the call at a server; null for none. */
    private Thread runner;
    private Runnable listener;
    private Ending ending;
    /** The call's entry in the timer, null for none. */
    private CallTimer.Entry timer;
    /** The entry of a numbered call in the server's memory, null for others. Set before it runs. */
    ResponseCache.Entry remembered;
    private volatile boolean streamed;

    /** Is told of a call's end, once, on the thread that ends it; it must neither block nor throw. */
    public interface Ending {
        /** It has ended. */
        void ended(CallStream call);
    }

    /** The waiting place of one thread for something of a call. */
    static final class Waiter {
        final CallStream call;
        /** The waiting thread, or null; only that thread writes it. */
        volatile Thread thread;
        private int what;

        private Waiter(CallStream call) {
            this.call = call;
        }

        private Waiter begin(int event) {
            what = event;
            thread = Thread.currentThread(); // before the condition is read: pairs with signal
            return this;
        }

        void end() {
            thread = null;
        }

        boolean isReady() {
            return call.has(what);
        }

        private void signal() {
            Thread waiting = thread;
            if (waiting != null && waiting != Thread.currentThread() && isReady()) {
                LockSupport.unpark(waiting);
            }
        }
    }

    CallStream(CallConnection connection, int id, String method, long deadlineNanos) {
        this.connection = connection;
        this.id = id;
        this.method = method;
        this.deadlineNanos = deadlineNanos;
        room = connection.peerWindow;
    }

    /** The name of the method that is called. */
    public String method() {
        return method;
    }

    /** When the call ends whatever happens, by {@code System.nanoTime}, {@code Long.MAX_VALUE} for never. */
    public long deadlineNanos() {
        return deadlineNanos;
    }

    /** The connection that carries it. */
    public Carrier carrier() {
        return connection.carrier();
    }

    /**
     * Sets the listener, which is told of news on the thread that reads: it must neither block nor throw. It is told
     * once now.
     */
    public void listen(Runnable told) {
        synchronized (this) {
            listener = told;
        }
        connection.onListener(this);
        told.run();
    }

    /** Sets the object that is told of the end, at once if it has come. */
    public void onEnd(Ending told) {
        synchronized (this) {
            if (code < 0) {
                ending = told;
                return;
            }
        }
        told.ended(this);
    }

    /** Bytes of messages that have come and wait; of a unary call that has just ended, those of the answer. */
    public synchronized long answerBytes() {
        long bytes = 0;
        for (byte[] message : arrived) {
            bytes += message.length;
        }
        return bytes;
    }

    /** Whether it has a listener, so that the connection has to be read even if no thread waits. */
    synchronized boolean isListened() {
        return listener != null;
    }

    void timer(CallTimer.Entry entry) {
        synchronized (this) {
            if (code < 0) {
                timer = entry;
                return;
            }
        }
        entry.cancel();
    }

    // Arrivals.

    /** The reader: the first metadata of the peer. */
    synchronized void headersArrived(byte[] metadata) throws ProtocolViolation {
        if (code >= 0) {
            return;
        }
        if (inputBegun) {
            throw new ProtocolViolation("headers of call " + id + " after its first message");
        }
        inputBegun = true;
        headers = metadata;
    }

    /** The reader: a message of the peer. */
    synchronized void messageArrived(byte[] message) throws ProtocolViolation {
        if (code >= 0) {
            return; // the call has ended here, and the peer does not know yet
        }
        if (inputEnded || held >= CallConnection.WINDOW) {
            throw new ProtocolViolation("a message of call " + id + (inputEnded ? " after its end"
                    : " with " + held + " bytes unread in a window of " + CallConnection.WINDOW));
        }
        inputBegun = true;
        held += weight(message);
        connection.onHeld(weight(message));
        arrived.add(message);
    }

    /** The reader: the peer sends no more messages. */
    synchronized void inputArrived() {
        inputBegun = true;
        inputEnded = true;
    }

    /** The reader: the peer has consumed bytes. */
    synchronized void roomArrived(long bytes) throws ProtocolViolation {
        if (bytes < 0 || bytes > Integer.MAX_VALUE || room + bytes > Integer.MAX_VALUE) {
            throw new ProtocolViolation("a window of " + room + " and " + bytes + " bytes more");
        }
        room += bytes;
    }

    /** Ends the call; true for the first end, which counts. {@code how}: NOT_BEGUN, -1 if lost, else 0. */
    boolean end(int status, String reason, byte[] metadata, int how) {
        CallTimer.Entry timed;
        Ending told;
        long freed;
        synchronized (this) {
            if (code >= 0) {
                return false;
            }
            inputBegun = true;
            inputEnded = true;
            outputEnded = true;
            text = reason;
            trailers = metadata;
            notBegun = how == Frame.NOT_BEGUN;
            lost = how < 0;
            code = status;
            timed = timer;
            told = ending;
            freed = held;
            held = 0;
            if (runner != null && runner != Thread.currentThread()) {
                runner.interrupt();
            }
        }
        connection.onHeld(-freed);
        if (timed != null) {
            timed.cancel();
        }
        if (told != null) {
            told.ended(this);
        }
        return true;
    }

    /** The task of {@link #signal} alone: without memory no other object can be made for it. */
    @Override
    public void run() {
        signal();
    }

    /** Tells waiting threads and the listener that something has changed. Without locks. */
    void signal() {
        receiver.signal();
        if (sender != null) {
            sender.signal();
        }
        Runnable told;
        synchronized (this) {
            told = listener;
        }
        if (told != null) {
            told.run();
        }
    }

    private static long weight(byte[] message) {
        return message.length + 1L;
    }

    // Waiting.

    Waiter waits(int what) {
        if (what == ROOM && sender == null) {
            sender = new Waiter(this); // one thread at a time sends
        }
        return (what == ROOM ? sender : receiver).begin(what);
    }

    private synchronized boolean has(int what) {
        return switch (what) {
            case INPUT -> !arrived.isEmpty() || inputEnded;
            case HEADERS -> inputBegun;
            case ROOM -> room > 0 || code >= 0;
            default -> code >= 0;
        };
    }

    /**
     * Waits for {@link #INPUT}, {@link #HEADERS}, {@link #ROOM} or {@link #END} until a time of
     * {@code System.nanoTime}; false if it has not come in time. Throws if this thread was interrupted.
     */
    public boolean await(int what, long untilNanos) throws IOException {
        return connection.await(this, what, untilNanos);
    }

    // Calls by the application.

    /** Takes the next message; null if none is there yet, or none will come. */
    public byte[] poll() {
        byte[] message;
        long told = 0;
        synchronized (this) {
            message = arrived.poll();
            if (message != null && code < 0) {
                held -= weight(message);
                untold += weight(message);
                connection.onHeld(-weight(message));
                if (2 * untold >= CallConnection.WINDOW && !inputEnded) {
                    told = untold;
                    untold = 0;
                }
            }
        }
        if (told > 0) {
            Frame frame = new Frame(Frame.WINDOW, 0, id);
            frame.value = told;
            connection.sendSoon(frame);
        }
        return message;
    }

    /** Whether all messages are there, or were taken. */
    public synchronized boolean isWhole() {
        return inputEnded;
    }

    /** Whether no message will come beyond those that are there. */
    public synchronized boolean isInputEnded() {
        return inputEnded && arrived.isEmpty();
    }

    /** Whether the peer's headers, or what comes after them, are here: {@link #headers} is final then. */
    public synchronized boolean isInputBegun() {
        return inputBegun;
    }

    /** The peer's headers, a block of metadata, null for none. */
    public synchronized byte[] headers() {
        return headers;
    }

    /** The peer's trailers, a block of metadata, null for none. */
    public synchronized byte[] trailers() {
        return trailers;
    }

    /** How the call ended: a code, -1 while it goes on. */
    public int code() {
        return code;
    }

    /** The text of the status at the end. */
    public synchronized String text() {
        return text;
    }

    /** Whether the server has refused the call before it did anything: then any call can be made again. */
    public synchronized boolean isNotBegun() {
        return notBegun;
    }

    /** Whether the connection was lost before the end came: it is unknown what the server has done. */
    public synchronized boolean isLost() {
        return lost;
    }

    /** Whether a message can be sent now. */
    public synchronized boolean hasRoom() {
        return room > 0 && !outputEnded;
    }

    /**
     * Sends headers, before the first message only, a message or both; null for none. A client says whether nothing
     * follows; a server says {@link #finish}. Does not wait for room in the call's window: see {@link #await}. Waits
     * for room in the connection until the call's deadline. False if the call is over.
     */
    public boolean send(byte[] metadata, byte[] message, boolean last) {
        connection.checkLength(message);
        synchronized (this) {
            if (outputEnded) {
                return false;
            }
            outputEnded = last;
            sent |= message != null;
            room -= message == null ? 0 : weight(message);
        }
        streamed |= remembered != null && message != null; // before the failure is looked at: pairs with onFailed
        Frame frame = new Frame(Frame.MESSAGE, (last ? Frame.LAST : 0) | (metadata == null ? 0 : Frame.HEADERS), id,
                message);
        frame.metadata = metadata;
        if (!connection.sendOrFail(frame, this, deadlineNanos)) {
            connection.notSent(this);
        }
        if (streamed && connection.failure() != null) {
            clientGone();
        }
        return true;
    }

    /** Client: sends a message, if that needs no wait: false if there is no room now. True if the call is over. */
    public boolean trySend(byte[] message) {
        connection.checkLength(message);
        synchronized (this) {
            if (outputEnded) {
                return true;
            }
            if (room <= 0) {
                return false;
            }
            room -= weight(message);
        }
        boolean went = connection.sendOrFail(new Frame(Frame.MESSAGE, 0, id, message), this, System.nanoTime());
        if (!went) {
            synchronized (this) {
                room += weight(message);
            }
        }
        return went;
    }

    /** Client: no message follows. A frame that finds no room goes later. */
    public void halfClose() {
        synchronized (this) {
            if (outputEnded) {
                return;
            }
            outputEnded = true;
        }
        connection.sendSoon(new Frame(Frame.MESSAGE, Frame.LAST, id));
    }

    /**
     * Whether a server's remembered call has sent a message before its end: a client that repeats the call cannot get
     * that message.
     */
    boolean hasStreamed() {
        return streamed;
    }

    /** A client's first message went out with the call. */
    synchronized void sentWithCall(byte[] message, boolean last) {
        outputEnded = last;
        room -= message == null ? 0 : weight(message);
    }

    /** Refuses an answer that the client does not take. */
    public void checkLength(byte[] message) {
        connection.checkLength(message);
    }

    /** Server: ends the call, with trailers and an answer, null for none; the array is the library's from now on. */
    public void finish(int status, String reason, byte[] metadata, byte[] message) {
        connection.checkLength(message);
        Frame frame = new Frame(Frame.MESSAGE, Frame.LAST, id, message);
        frame.code = status;
        frame.text = reason;
        frame.metadata = metadata;
        end(status, reason, frame);
    }

    /** Server: the client is gone, and with it the call. */
    void clientGone() {
        finish(Code.CANCELLED, "the client is gone", null, null);
    }

    /** Client: gives the call up. */
    public void cancel(int status, String reason) {
        end(status, reason, (Frame) null);
    }

    /** Ends the call, and tells the peer and the threads here; if an Error cuts that short, the connection ends. */
    private void end(int status, String reason, Frame answer) {
        boolean first = false;
        boolean told = false;
        try {
            first = end(status, reason, null, 0);
            told = !first || tell(status, answer);
            // A client comes back for a remembered call, and must find its end.
            for (int tries = 1; !told && remembered != null && tries < LibraryThreads.MOST_TRIES; tries++) {
                LibraryThreads.pause();
                told = tell(status, answer);
            }
        } finally {
            if (!told && code >= 0) { // or the peer would wait in vain
                first = true;
                connection.fail(UNTOLD);
            }
            if (first) {
                LibraryThreads.insist(this);
            }
        }
    }

    /** False if there is no memory for it. */
    private boolean tell(int status, Frame answer) {
        try {
            if (answer != null) {
                connection.finished(this, answer);
            } else {
                connection.cancelled(this, status);
            }
            return true;
        } catch (OutOfMemoryError e) {
            return false;
        }
    }

    /** Server: whether a message was sent before the end. */
    synchronized boolean hasSent() {
        return sent;
    }

    /** Server: the call keeps its place for one more reason, {@link #leavePlace} has to follow. */
    public synchronized void keepPlace(int reason) {
        keeps |= keeps == 0 ? 0 : reason;
    }

    /** Server: the call no longer needs its place for these reasons; they may all have gone before. */
    public void leavePlace(int reasons) {
        connection.left(this, reasons);
    }

    /** Server: these reasons are gone; true once, when none is left. */
    synchronized boolean isOver(int reasons) {
        boolean before = keeps != 0;
        keeps &= ~reasons;
        return before && keeps == 0;
    }

    /** Server: this thread runs the call until {@link #runEnds}, and is interrupted if the call ends first. */
    synchronized void runBegins() {
        runner = Thread.currentThread();
        if (code >= 0) {
            runner.interrupt();
        }
    }

    /** Server: the thread is done; an interrupt that was meant for the call is gone. */
    void runEnds() {
        synchronized (this) {
            runner = null;
        }
        Thread.interrupted();
    }

    /** The time until the deadline, for the peer: microseconds, at least 1; 0 for no deadline. */
    long microsLeft() {
        return deadlineNanos == Long.MAX_VALUE ? 0
                : Math.max(1, TimeUnit.NANOSECONDS.toMicros(deadlineNanos - System.nanoTime()));
    }

    @Override
    public String toString() {
        return method + "#" + id;
    }
}
