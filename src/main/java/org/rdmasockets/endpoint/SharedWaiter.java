package org.rdmasockets.endpoint;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.waiting.CompletionInbox;
import org.rdmasockets.internal.waiting.Role;
import org.rdmasockets.internal.waiting.WaitResult;

/**
 * Lets any number of threads wait in the one place that an inbox has for each role. One sits there, polls, then parks,
 * and takes in what arrives for all. The others park until what they wait for has ended, or the seat is free.
 */
final class SharedWaiter {
    private final CompletionInbox inbox;
    private final Role role;
    /** The operation whose waiter has the seat, or null; changed under this. */
    private volatile Pending<?> sitting;
    /** Operations whose waiters wait for the seat, in order; guarded by this. */
    private final Set<Pending<?>> standing = new LinkedHashSet<>();

    SharedWaiter(CompletionInbox inbox, Role role) {
        this.inbox = inbox;
        this.role = role;
    }

    /** Protocol lock held: whether the seat is free, or its waiter may leave it. */
    boolean isReady() {
        Pending<?> one = sitting;
        return one == null || one.hasEnded();
    }

    /** Applies what has arrived. */
    void takeIn() {
        inbox.enter();
        inbox.exit();
    }

    /** Polls the device and applies what has arrived, unless another thread has the seat and does so. */
    void poll(Pending<?> one) {
        try {
            if (sit(one)) {
                inbox.poll();
            }
        } finally {
            leave(one);
        }
    }

    /** Waits until an operation, for which no other thread waits, has ended, or until a time of {@code nanoTime}. */
    WaitResult await(Pending<?> one, long deadlineNanos) {
        // Published before hasEnded is read: pairs with finish, which writes that before it reads the waiter.
        one.waiter = Thread.currentThread();
        try {
            WaitResult end = WaitResult.READY;
            while (end == WaitResult.READY && !one.hasEnded()) {
                end = sit(one) ? inbox.await(role, deadlineNanos) : park(one, deadlineNanos);
            }
            return one.hasEnded() ? WaitResult.READY : end;
        } finally {
            one.waiter = null;
            leave(one);
        }
    }

    private synchronized boolean sit(Pending<?> one) {
        if (sitting == null || sitting == one) {
            sitting = one;
            standing.remove(one);
            return true;
        }
        standing.add(one);
        return false;
    }

    /** Parks once; an unpark, a spurious one too, leads to another look. */
    private WaitResult park(Pending<?> one, long deadlineNanos) {
        Thread me = Thread.currentThread();
        if (me.isVirtual() && me.isInterrupted()) {
            return WaitResult.INTERRUPTED;
        }
        boolean interrupted = Thread.interrupted();
        try {
            if (deadlineNanos == Long.MAX_VALUE) {
                LockSupport.park(this);
            } else {
                long left = deadlineNanos - System.nanoTime();
                if (left <= 0) {
                    return WaitResult.TIMED_OUT;
                }
                LockSupport.parkNanos(this, left);
            }
            return WaitResult.READY;
        } finally {
            if (interrupted) {
                me.interrupt();
            }
        }
    }

    /** Leaves; if the seat is free then, unparks the next waiter. */
    private void leave(Pending<?> one) {
        Thread next = null;
        synchronized (this) {
            standing.remove(one);
            if (sitting == one) {
                sitting = null;
            }
            if (sitting == null && !standing.isEmpty()) {
                next = standing.iterator().next().waiter;
            }
        }
        if (next != null) {
            LockSupport.unpark(next);
        }
    }
}
