package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The queue where the listeners of one server socket leave their connections, and any number of threads take them, in
 * order. It ends when it is closed, or when the last listener has ended by itself. Any thread may call anything.
 */
public final class AcceptQueue<T> implements AutoCloseable {
    /** A waiting connection or failure; exactly one of the two is not null. */
    private record Entry<T>(T connection, IOException failure, Runnable taken) {}

    /** The last entry of a queue that has ended; each thread that finds it leaves one for the next. */
    private final Entry<T> end = new Entry<>(null, null, null);

    private final LinkedBlockingQueue<Entry<T>> waiting = new LinkedBlockingQueue<>();
    /** Resets a connection that no thread takes. */
    private final Consumer<? super T> reset;
    /** Listeners that have not ended; protected by this. */
    private int listeners;
    /** The message of {@link #accept} from now on, null while this is open; changed under this. */
    private volatile String ended;

    /** An empty queue without listeners; {@code reset} ends a connection that no thread will take. */
    public AcceptQueue(Consumer<? super T> reset) {
        this.reset = reset;
    }

    synchronized void join() {
        listeners++;
    }

    /** A listener that has joined could not begin. */
    synchronized void withdraw() {
        listeners--;
    }

    /** A listener has ended by itself; the last one ends the queue. */
    void leave(String reason) {
        boolean last;
        synchronized (this) {
            last = --listeners == 0;
        }
        if (last) {
            end(reason);
        }
    }

    /** Adds a connection, or resets it if the queue has ended; {@code taken} runs when it is taken or reset. */
    void add(T connection, Runnable taken) {
        put(new Entry<>(connection, null, taken));
    }

    /** Makes an accept throw an exception: a listener could not take a connection. */
    void addFailure(IOException failure, Runnable taken) {
        put(new Entry<>(null, failure, taken));
    }

    private void put(Entry<T> entry) {
        waiting.add(entry);
        if (ended != null) {
            discardAll();
        }
    }

    /**
     * Takes the next connection, waiting for one until a time of {@code System.nanoTime}, {@code Long.MAX_VALUE} for no
     * end. Throws {@code SocketTimeoutException} at the deadline, {@code InterruptedIOException} if this virtual thread
     * was interrupted (status left set), {@code SocketException} when this has ended; a listener's own exception if it
     * could not take a connection.
     */
    public T accept(long deadlineNanos) throws IOException {
        if (ended != null) {
            throw new SocketException(ended);
        }
        Entry<T> next = waiting.poll(); // an interrupt concerns only a thread that would wait
        if (next == null) { // a connection that its peer takes for established may not be here yet
            next = InterruptibleWait.awaitAnswer(nanos -> nanos == Long.MAX_VALUE ? waiting.take() // without a timer
                    : waiting.poll(nanos, TimeUnit.NANOSECONDS), deadlineNanos);
        }
        if (next == null) {
            throw new SocketTimeoutException("Accept timed out");
        }
        if (next == end) {
            waiting.add(end);
            throw new SocketException(ended);
        }
        boolean done = false;
        try {
            next.taken.run();
            done = true;
        } finally {
            if (!done && next.connection != null) {
                reset.accept(next.connection); // an Error: no thread has it
            }
        }
        if (next.failure != null) {
            throw next.failure;
        }
        return next.connection;
    }

    /** Ends this: resets connections that no thread took, and wakes all threads in {@link #accept}. */
    @Override
    public void close() {
        end("Socket closed");
    }

    private void end(String reason) {
        synchronized (this) {
            if (ended != null) {
                return;
            }
            ended = reason;
        }
        discardAll();
    }

    private void discardAll() {
        for (Entry<T> next = waiting.poll(); next != null; next = waiting.poll()) {
            if (next.connection != null) {
                reset.accept(next.connection);
            }
            if (next != end) {
                next.taken.run();
            }
        }
        waiting.add(end);
    }
}
