package org.rdmasockets.internal.sharedmemory;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.sharedmemory.link.LinkConnector;
import org.rdmasockets.internal.sharedmemory.link.Link;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** The search of an identifier for the process that listens on its destination. The identifier hears of one outcome. */
final class RouteSearch implements LinkConnector.DialHandler, Deadlines.Expiring {
    /** No event tells that a listener has room again in its backlog: so it is asked until the deadline. */
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private final SharedMemoryFabric fabric;
    private final SharedMemoryIdentifier identifier;
    /** Guarded by this, as are all fields below. */
    private LinkConnector dial;
    private long deadline;
    private boolean searching;
    /** The address to dial again, because the listener had too much to do, or null. */
    private InetSocketAddress busy;
    private long nextAttempt;
    /** The link to that process; null until it is found. */
    private LinkDispatcher route;
    /** Why the search failed, 0 if it has not: it is told again if there was no memory for that. */
    private int failedWith;
    private String failedAs;

    RouteSearch(SharedMemoryFabric fabric, SharedMemoryIdentifier identifier) {
        this.fabric = fabric;
        this.identifier = identifier;
    }

    /** Whether there is a link to a process that was found to listen on the destination, and that still does. */
    synchronized boolean isKnown(InetSocketAddress destination) {
        route = fabric.links.route(destination);
        return route != null;
    }

    /** Begins a search of at most so long; without any lock. */
    void start(InetSocketAddress destination, int timeoutMillis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        synchronized (this) {
            searching = true;
            deadline = end;
        }
        fabric.deadlines.add(this, end);
        attempt(destination);
    }

    /** Dials, and says when to try again if the listener has too much to do. */
    private void attempt(InetSocketAddress destination) {
        LinkConnector attempt;
        try {
            attempt = fabric.links.hub().dial(destination, this);
        } catch (VerbsException e) {
            if (e.errno() == Errno.EAGAIN) {
                tryAgain(destination);
            } else {
                onFailed(e);
            }
            return;
        }
        synchronized (this) {
            dial = attempt;
            if (searching || route != null) {
                return;
            }
        }
        attempt.close();
    }

    private void tryAgain(InetSocketAddress destination) {
        long next = System.nanoTime() + RETRY_NANOS;
        synchronized (this) {
            nextAttempt = next;
            busy = destination;
        }
        fabric.deadlines.add(this, next);
    }

    /** Whether the process that was dialled is known to be stopped. */
    boolean isPeerStopped() {
        LinkConnector attempt;
        synchronized (this) {
            attempt = dial;
        }
        return attempt != null && attempt.isPeerStopped();
    }

    /** The link to the process that was found; null if none was. */
    synchronized LinkDispatcher route() {
        return route;
    }

    @Override
    public void onLink(Link link) {
        synchronized (this) {
            if (!searching) {
                return;
            }
            route = (LinkDispatcher) link.handler();
        }
        try {
            tellRoute();
        } catch (Error e) { // the next look does it: the link is others', too
            fabric.deadlines.add(this, System.nanoTime());
        }
    }

    private void tellRoute() {
        fabric.links.rememberRoute(identifier.remoteAddress(), route());
        identifier.routed();
        finish();
    }

    @Override
    public void onFailed(VerbsException failure) {
        end(failure.errorNumber(), failure.remedy());
    }

    private void end(int errorNumber, String reason) {
        synchronized (this) {
            if (!searching) {
                return;
            }
            failedWith = errorNumber;
            failedAs = reason;
        }
        try {
            identifier.unrouted(errorNumber, reason);
        } catch (Error e) {
            fabric.deadlines.add(this, System.nanoTime()); // the next look comes back to what fails
            throw e;
        }
        finish();
    }

    private void finish() {
        synchronized (this) {
            searching = false;
        }
        fabric.deadlines.remove(this);
    }

    @Override
    public void lookAtDeadline() {
        long now = System.nanoTime();
        InetSocketAddress again = null;
        boolean over;
        boolean wasBusy;
        boolean found;
        boolean failed;
        synchronized (this) {
            failed = failedWith != 0;
            found = searching && route != null;
            over = now - deadline >= 0;
            wasBusy = busy != null;
            if (searching && !over && wasBusy && now - nextAttempt >= 0) {
                again = busy;
                busy = null;
            }
        }
        if (failed) {
            end(failedWith, failedAs);
        } else if (found) {
            tellRoute();
        } else if (over) {
            end(Errno.ETIMEDOUT.number(), wasBusy ? "the listener's process had too much to do all the time" : "");
        } else if (again != null) {
            attemptAgain(again);
        }
    }

    /** If something is thrown, the next look tries again: no other event follows. */
    private void attemptAgain(InetSocketAddress destination) {
        try {
            attempt(destination);
        } catch (Throwable e) {
            synchronized (this) {
                busy = destination;
            }
            throw e;
        }
    }

    @Override
    public synchronized long deadline() {
        if (!searching) {
            return Deadlines.NEVER;
        }
        return failedWith != 0 || route != null ? 0 : busy != null ? Math.min(nextAttempt, deadline) : deadline;
    }

    /** Gives up. */
    void close() {
        LinkConnector attempt;
        synchronized (this) {
            searching = false;
            attempt = dial;
        }
        fabric.deadlines.remove(this);
        if (attempt != null) {
            attempt.close();
        }
    }
}
