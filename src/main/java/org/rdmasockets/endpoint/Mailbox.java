package org.rdmasockets.endpoint;

import java.util.ArrayDeque;
import java.util.function.Consumer;

/** Untaken arrivals, or else the takers that wait for one, in order. Protected by the protocol lock. */
final class Mailbox<T> {
    private final SharedWaiter seat;
    private final String what;
    private final ArrayDeque<T> arrived = new ArrayDeque<>(0);
    private final ArrayDeque<Pending<T>> takers = new ArrayDeque<>(0);
    /** Why nothing more will come, null while something may. */
    private EndpointException end;
    /** The next taker that would wait is sent away. */
    private boolean wakeup;

    /** An empty mailbox, named in messages, whose takers wait at a seat. */
    Mailbox(SharedWaiter seat, String what) {
        this.seat = seat;
        this.what = what;
    }

    void add(T one) {
        for (Pending<T> taker = takers.poll(); taker != null; taker = takers.poll()) {
            if (!taker.hasEnded()) {
                taker.complete(one);
                return;
            }
        }
        arrived.add(one);
    }

    /** The number of untaken arrivals. */
    int size() {
        return arrived.size();
    }

    /** Asks for the next one; arrivals can be taken also after the end. */
    Pending<T> take() {
        Pending<T> taker = new Pending<>(seat, what);
        if (!arrived.isEmpty()) {
            taker.complete(arrived.poll());
        } else if (end != null) {
            taker.fail(end);
        } else if (wakeup) {
            wakeup = false;
            taker.complete(null);
        } else {
            takers.add(taker);
        }
        return taker;
    }

    /** The first thing that has arrived, null if nothing is there: then others may wait. */
    T poll() {
        return arrived.poll();
    }

    /** Completes the first waiting taker with null; if none waits, the next one that would. */
    void wakeup() {
        Pending<T> first = takers.poll();
        if (first == null) {
            wakeup = true;
        } else {
            first.complete(null);
        }
    }

    /** Removes a taker that has given up, unless it has ended. */
    void withdraw(Pending<T> taker) {
        takers.remove(taker);
    }

    /** Hands each arrival to {@code eachTo} instead of to a taker. */
    void discard(Consumer<T> eachTo) {
        for (T one = arrived.poll(); one != null; one = arrived.poll()) {
            eachTo.accept(one);
        }
    }

    void end(EndpointException reason) {
        end = reason;
        for (Pending<T> taker = takers.poll(); taker != null; taker = takers.poll()) {
            taker.fail(reason);
        }
    }
}
