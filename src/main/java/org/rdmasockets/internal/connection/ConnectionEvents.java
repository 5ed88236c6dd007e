package org.rdmasockets.internal.connection;

import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.waiting.CompletionPoller;
import org.rdmasockets.internal.lock.Rescues;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;

/**
 * The connection manager's events of one connection, for the thread that sets it up; later the connection is told of
 * its end. No event is missed: a waiting thread publishes itself before it looks for events, and a thread that adds an
 * event looks for the waiting one afterwards.
 */
final class ConnectionEvents implements ConnectionHandler, InterruptibleWait.Wait<Object> {
    /** An event at least this old when a timer finds it has woken no thread, in milliseconds. */
    private static final int LATE_MILLIS = 50;

    private final CompletionPoller poller;
    /**
     * Events and the end of a wait ({@link #CANCELLED}), in order; null once the connection has them; guarded by this.
     */
    private ArrayDeque<Object> steps = new ArrayDeque<>(2);
    /** How many threads have added a step, and not yet woken the waiting thread; guarded by this. */
    private int adding;
    /** When the last of them had done so, in milliseconds of {@code nanoTime}; guarded by this. */
    private int addedMillis;
    /** The connection that gets the events once it is finished, null before; guarded by this. */
    private VerbsConnection connection;
    /** The waiting thread, or null. */
    private volatile Thread waiter;
    /** Whether the waiting thread was woken: then it may only have waited long for a processor. */
    private volatile boolean told;

    /** Stands in the queue for "stop waiting". */
    static final Object CANCELLED = new Object();

    /** Nothing has happened yet; the poller may have to wake the waiting thread. */
    ConnectionEvents(CompletionPoller poller) {
        this.poller = poller;
    }

    /** Poller thread; an answer may come on any thread, before there is a connection, and is only queued. */
    @Override
    public void onEvent(ConnectionIdentifier identifier, ConnectionEvent event) {
        VerbsConnection owner = add(event);
        if (owner != null) {
            owner.onEvent(identifier, event);
        }
    }

    /** Ends the wait of {@link #within}. */
    void cancel() {
        add(CANCELLED);
    }

    /** Returns the connection, if there is one; else queues a step and wakes the waiting thread. */
    private VerbsConnection add(Object step) {
        synchronized (this) {
            if (connection != null) {
                return connection;
            }
            steps.add(step);
            adding++;
        }
        try {
            wake();
        } finally {
            synchronized (this) {
                adding--;
                addedMillis = millis();
            }
        }
        return null;
    }

    private void wake() {
        Thread waiting = waiter;
        if (waiting != null && waiting != Thread.currentThread()) {
            told = true;
            poller.wake(waiting);
        }
    }

    /** Takes the next event, or {@link #CANCELLED}; null when the time is over. One thread at a time. */
    @Override
    public Object within(long nanos) throws InterruptedException {
        Object event = poll();
        if (event != null) {
            return event;
        }
        long begin = System.nanoTime();
        told = false;
        waiter = Thread.currentThread();
        try {
            for (event = poll(); event == null; event = poll()) {
                long left = nanos - (System.nanoTime() - begin);
                if (left <= 0) {
                    break;
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                LockSupport.parkNanos(this, left);
            }
        } finally {
            waiter = null;
        }
        if (event != null && !told && System.nanoTime() - begin >= nanos && ageMillis() >= LATE_MILLIS) {
            Rescues.count("ConnectionEvents.within");
        }
        return event;
    }

    private static int millis() {
        return (int) TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }

    private synchronized int ageMillis() {
        return adding > 0 ? 0 : millis() - addedMillis;
    }

    private synchronized Object poll() {
        return steps.poll();
    }

    /** Hands all further events, and those that no thread has taken yet, to the finished connection. */
    void attach(VerbsConnection owner) {
        ArrayDeque<Object> left;
        synchronized (this) {
            connection = owner;
            left = steps;
            steps = null;
        }
        for (Object event = left.poll(); event != null; event = left.poll()) {
            if (event instanceof ConnectionEvent connectionEvent) {
                owner.onEvent(owner.identifier(), connectionEvent);
            }
        }
    }
}
