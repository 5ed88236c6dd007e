package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;

/**
 * One attempt to connect: address, route, resources, request, answer. The calling thread makes the resources while the
 * kernel looks for the route, and waits twice: for the route and for the answer. The set-up pool does two things for
 * it: it makes a request that waits for the peer in the kernel, as on iWARP, and it makes the resources for a virtual
 * thread while another virtual thread makes its own. The pool destroys an attempt that is given up; if a call of the
 * attempt is stuck in the kernel, the thread of that call destroys it later.
 */
final class Dialer<P extends Protocol> implements ConnectionHandler, InterruptibleWait.Wait<Object>, Runnable {
    /** The steps of the calling thread itself, but for a request that may wait for the peer. */
    private enum Step { MAKE, REQUEST, START }

    /** Stands for an event: the peer's process does not run. */
    private static final Object PEER_STOPPED = new Object();
    /** Least time of the first attempt within this host, whatever its caller says: this process loads code. */
    private static final long FIRST_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** If another transport can be tried, the longest wait for the set-up pool, in waits for a silent peer. */
    private static final int POOL_PATIENCE = 4;
    /** How often to look whether the process of a silent peer is stopped: no event tells that. */
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** Reason code of a peer that cannot take one more request (InfiniBand specification, 12.6.7.2). */
    private static final int NO_RESOURCES = 3;
    /** A virtual thread makes resources and holds its carrier, for milliseconds: no second one does so meanwhile. */
    private static final AtomicBoolean PINNED = new AtomicBoolean();

    private final Engine engine;
    private final ConnectionIdentifier identifier;
    private final ConnectionEvents events;
    private final InetSocketAddress remote;
    private final Protocol.Maker<P> maker;
    /** The call on the set-up pool that is waited for; protected by this. */
    private CompletableFuture<?> pending;
    /** A step is being taken; protected by this. */
    private boolean running;
    /** The attempt was given up; protected by this. */
    private boolean abandoned;
    /** Closed by another thread; protected by this. */
    private boolean cancelled;
    /** How long the route may take; set before the address is looked for. */
    private int routeMillis;
    /** The connection once it was made; touched in steps only, of which one is taken at a time. */
    private P protocol;
    /** The peer's private data, before the last step. */
    private byte[] answer;
    /** End of the attempt by {@code System.nanoTime}; this and all that follows are the calling thread's only. */
    private long deadlineNanos;
    /** The deadline is the caller's, not our own bound. */
    private boolean callersDeadline;
    /** The end of this attempt's share of the time if another transport can be tried, which has the rest. */
    private long shareNanos;
    /** Longest wait for a silent peer if another transport can be tried; {@code Long.MAX_VALUE} if none can. */
    private long silenceNanos;
    /** How long the calling thread has waited in all. */
    private long waitedNanos;
    /** How long each step took so far, see {@link FlightEvents}; null if nothing is recorded, and the next two idle. */
    private long[] steps;
    private int step = FlightEvents.ROUTE;
    private long stepBegun;
    /** The peer has acknowledged the request, and answers when it can. */
    private boolean acknowledged;
    /** The engine's first, which loads all code that a connection needs. */
    private final boolean first;

    /** An attempt with an identifier that is bound to the source address, and whose events go to the given queue. */
    Dialer(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events, InetSocketAddress remote,
            Protocol.Maker<P> maker) {
        this.engine = engine;
        this.identifier = identifier;
        this.events = events;
        this.remote = remote;
        this.maker = maker;
        first = !engine.isPractised();
    }

    /**
     * Connects, or throws as {@link Binding#connect} says. The deadline is a time of {@code System.nanoTime},
     * {@code Long.MAX_VALUE} for the default bound. If another transport can be tried, {@code silence} bounds the wait
     * for a peer that has not acknowledged the request, in nanoseconds, and the wait ends early if the peer is
     * stopped; {@code Long.MAX_VALUE} if none can. The first attempt of an engine, which began at {@code begun}, loads
     * code: the time for that does not count.
     */
    P dial(long deadline, long silence, long begun) throws IOException {
        long now = System.nanoTime();
        boolean here = identifier.device().info().transport() == TransportType.SHARED_MEMORY;
        long least = first && here ? FIRST_NANOS : 0;
        silenceNanos = Math.max(silence, least);
        callersDeadline = deadline != Long.MAX_VALUE;
        deadlineNanos = callersDeadline ? later(first ? deadline + now - begun : deadline, now + least)
                : now + TransportSettings.CURRENT.connectTimeoutNanos();
        shareNanos = later(deadlineNanos - (deadlineNanos - now) / 4, now + least);
        if (FlightEvents.areWanted()) {
            steps = new long[FlightEvents.STEPS];
            stepBegun = now;
        }
        boolean done = false;
        try {
            if (maker.trafficClass() != 0) {
                identifier.trafficClass(maker.trafficClass());
            }
            boolean routed = engine.provider.resolveAtOnce(identifier, remote);
            if (!routed) {
                routeMillis = millisLeft();
                identifier.handler(this);
                identifier.resolveAddress(remote, routeMillis);
            }
            if (!routed && !engine.mayBlock) {
                expect(ConnectionEvent.RouteResolved.class); // between processes the memory is that of their link
            }
            begin(FlightEvents.RESOURCES);
            long begunMaking = System.nanoTime();
            perform(Step.MAKE);
            if (first) { // this process has loaded code: that time does not count as the peer's
                long took = System.nanoTime() - begunMaking;
                deadlineNanos += took;
                shareNanos += took;
            }
            begin(FlightEvents.ROUTE);
            if (!routed && engine.mayBlock) {
                expect(ConnectionEvent.RouteResolved.class);
            }
            if (leftNanos() <= 0) {
                throw timedOut(); // not after the peer was asked: its answer may still come
            }
            begin(FlightEvents.ANSWER);
            perform(Step.REQUEST);
            answer = expect(ConnectionEvent.Established.class).parameters().privateData();
            begin(FlightEvents.START);
            perform(Step.START);
            engine.practised();
            ensureWanted(); // from here on the connection belongs to the caller
            done = true;
            return protocol;
        } catch (VerbsException e) {
            throw NetErrors.connectFailed(remote, e);
        } finally {
            begin(step); // the one in progress ends here
            if (!done) {
                abandon();
            }
        }
    }

    /** Ends the step in progress, and begins another, if they are recorded. */
    private void begin(int next) {
        if (steps != null) {
            long now = System.nanoTime();
            steps[step] += now - stepBegun;
            stepBegun = now;
            step = next;
        }
    }

    /** How long each step took; null if nothing is recorded. For the thread that has dialled. */
    long[] steps() {
        return steps;
    }

    /** How long the calling thread has waited for others: the work of this process itself does not count. */
    long waitedNanos() {
        return waitedNanos;
    }

    private static long later(long aNanos, long bNanos) {
        return aNanos - bNanos < 0 ? bNanos : aNanos;
    }

    /** How long this attempt may still wait: less if another transport can be tried, which needs time, too. */
    private long leftNanos() {
        return hasOtherWay() ? Math.clamp(silenceNanos - waitedNanos, 0, NanoTimes.remaining(shareNanos))
                : NanoTimes.remaining(deadlineNanos);
    }

    private boolean hasOtherWay() {
        return silenceNanos != Long.MAX_VALUE;
    }

    /** When the wait for the set-up pool ends, by {@code System.nanoTime}. */
    private long poolNanos(Step step) {
        long now = System.nanoTime();
        return first && step == Step.MAKE
                ? later(deadlineNanos, now + TransportSettings.CURRENT.connectTimeoutNanos())
                : hasOtherWay() ? now + Math.min(POOL_PATIENCE * silenceNanos, NanoTimes.remaining(shareNanos))
                : deadlineNanos;
    }

    /** Poller thread: asks for the route itself once the address is known, so the calling thread is woken once. */
    @Override
    public void onEvent(ConnectionIdentifier unused, ConnectionEvent event) {
        ConnectionEvent news = event;
        if (event instanceof ConnectionEvent.AddressResolved) {
            try {
                identifier.resolveRoute(routeMillis);
                return;
            } catch (VerbsException e) {
                news = new ConnectionEvent.Failed(e.call(), e.errorNumber(), e.remedy());
            } catch (RuntimeException | Error e) { // no other event follows, for which the caller would wait
                news = new ConnectionEvent.Failed("rdma_resolve_route", 0, e.toString());
            }
        }
        events.onEvent(identifier, news);
    }

    private int millisLeft() throws IOException {
        long millis = TimeUnit.NANOSECONDS.toMillis(leftNanos());
        if (millis == 0) {
            throw timedOut();
        }
        return (int) Math.min(millis, Integer.MAX_VALUE);
    }

    private IOException timedOut() {
        engine.practised(); // the next attempt shall not wait longer than told
        IOException timedOut = callersDeadline || hasOtherWay() ? NetErrors.connectTimedOut()
                : new ConnectException("Connection timed out: " + remote);
        return acknowledged ? NetErrors.notNow(timedOut, remote, "the server's backlog is full: accept more often, or "
                + "listen with a larger backlog") : timedOut;
    }

    /** Waits for an event; every other one is a failure. */
    private <E extends ConnectionEvent> E expect(Class<E> wanted) throws IOException {
        Object event = next();
        while (event instanceof ConnectionEvent.RequestAcknowledged) {
            acknowledged = true;
            silenceNanos = Long.MAX_VALUE;
            event = next();
        }
        if (wanted.isInstance(event)) {
            return wanted.cast(event);
        }
        if (event == PEER_STOPPED) {
            throw NetErrors.notNow(new ConnectException("Connection timed out: the process that listens at " + remote
                    + " is stopped"), remote, "continue it (kill -CONT), or end its debugger");
        }
        throw switch (event) {
            case null -> timedOut();
            case ConnectionEvent.Rejected rejected -> refused(rejected);
            case ConnectionEvent.Unreachable unreachable -> failed("rdma_connect", unreachable.errorNumber(), "");
            case ConnectionEvent.Failed failed -> failed(failed.call(), failed.errorNumber(), failed.reason());
            case ConnectionEvent.Disconnected disconnected ->
                new ConnectException("Connection reset by peer while connecting to " + remote);
            case ConnectionEvent.DeviceRemoved removed ->
                new SocketException("RDMA device removed while connecting to " + remote);
            case ConnectionEvent other -> new SocketException("unexpected event while connecting to " + remote
                    + ": " + other);
            default -> NetErrors.closed();
        };
    }

    /** The next event, or null when the time is over. */
    private Object next() throws IOException {
        long begun = System.nanoTime();
        try {
            return InterruptibleWait.awaitAnswer(hasOtherWay() ? this : events, begun + leftNanos());
        } finally {
            waitedNanos += System.nanoTime() - begun;
        }
    }

    /** The next event; looks now and then whether the peer's process is stopped. */
    @Override
    public Object within(long nanos) throws InterruptedException {
        long end = System.nanoTime() + nanos;
        Object event;
        do {
            event = events.within(Math.min(LOOK_NANOS, NanoTimes.remaining(end)));
            if (event == null && engine.provider.isPeerStopped(identifier)) {
                return PEER_STOPPED;
            }
        } while (event == null && NanoTimes.remaining(end) > 0);
        return event;
    }

    private IOException refused(ConnectionEvent.Rejected rejected) {
        if (rejected.status() == NO_RESOURCES || Arrival.isNoPlace(rejected.privateData())) {
            return NetErrors.notNow(new ConnectException("Connection refused: " + remote + ": thousands of connections "
                    + "wait in its backlog"), remote, "accept more often");
        }
        return new ConnectException("Connection refused: " + remote + " (status " + rejected.status() + ")");
    }

    /** A timeout of the kernel counts as the caller's if the deadline is near: it is as long, and may come late. */
    private IOException failed(String call, int errorNumber, String reason) throws IOException {
        boolean callersTimeIsOver = callersDeadline
                && NanoTimes.remaining(deadlineNanos) < TimeUnit.SECONDS.toNanos(1);
        if (Errno.of(errorNumber) == Errno.ETIMEDOUT && (hasOtherWay() || callersTimeIsOver)) {
            return NetErrors.connectTimedOut();
        }
        return NetErrors.connectFailed(remote, new VerbsException(call, errorNumber, "remote=" + remote,
                reason.isEmpty() ? Errno.of(errorNumber).remedy() : reason));
    }

    /** Takes a step, or waits for the set-up pool to take it: if it may wait for the peer, or hold a second carrier. */
    private void perform(Step step) throws IOException {
        boolean pins = step == Step.MAKE && engine.mayBlock && Thread.currentThread().isVirtual();
        if (step == Step.REQUEST && !identifier.device().supports(Capability.COMPLETION_IS_DELIVERY)) {
            await(SetupPool.SHARED.submitPeerCall(() -> take(step)), poolNanos(step));
        } else if (pins && !PINNED.compareAndSet(false, true)) {
            await(SetupPool.SHARED.submit(() -> take(step)), poolNanos(step));
        } else {
            try {
                take(step);
            } catch (RuntimeException e) {
                throw new SocketException("connecting failed", e);
            } finally {
                if (pins) {
                    PINNED.set(false);
                }
            }
            ensureWanted();
        }
    }

    private synchronized void ensureWanted() throws IOException {
        if (cancelled) {
            throw NetErrors.closed();
        }
    }

    /** Takes a step unless the attempt is abandoned; if it is abandoned meanwhile, the step destroys it at its end. */
    private Void take(Step step) throws IOException {
        synchronized (this) {
            if (abandoned) {
                throw NetErrors.closed();
            }
            running = true;
        }
        try {
            if (step == Step.MAKE) {
                protocol = VerbsConnection.make(engine, identifier, events, maker);
            } else if (step == Step.REQUEST) {
                identifier.connect(protocol.parameters());
            } else {
                protocol.connection().shortenRetries();
                protocol.connection().start(answer, false);
            }
            return null;
        } finally {
            end();
        }
    }

    /** Waits for the set-up pool. If that takes too long, it counts as waited for others, see {@link #waitedNanos}. */
    private void await(CompletableFuture<?> outcome, long untilNanos) throws IOException {
        long begun = System.nanoTime();
        synchronized (this) {
            pending = outcome;
            if (cancelled) {
                throw NetErrors.closed();
            }
        }
        long first = SetupPool.STUCK_NANOS;
        if (InterruptibleWait.awaitAnswer(nanos -> SetupPool.completed(outcome, Math.min(nanos, first)),
                untilNanos) == null) {
            SetupPool.SHARED.relieve();
            if (InterruptibleWait.awaitAnswer(nanos -> SetupPool.completed(outcome, nanos), untilNanos) == null) {
                waitedNanos += System.nanoTime() - begun;
                throw timedOut();
            }
        }
        SetupPool.result(outcome, "connecting failed");
    }

    private void end() {
        boolean destroy;
        synchronized (this) {
            running = false;
            destroy = abandoned;
        }
        if (destroy) {
            destroy();
        }
    }

    private void abandon() {
        synchronized (this) {
            abandoned = true;
            if (running) {
                return; // the running task destroys
            }
        }
        LibraryThreads.insist(this); // the peer may be connected
    }

    /** Gives the attempt up. This object is the task: without memory no other can be made. */
    @Override
    public void run() {
        if (engine.mayBlock) {
            engine.perform(this::destroy);
        } else {
            destroy();
        }
    }

    private void destroy() {
        if (protocol != null) {
            protocol.connection().abort();
        } else {
            identifier.close();
        }
    }

    /** Ends the attempt from another thread, if it goes on: the caller of {@link #dial} gets "Socket closed". */
    void cancel() {
        CompletableFuture<?> waitedFor;
        synchronized (this) {
            cancelled = true;
            waitedFor = pending;
        }
        events.cancel();
        if (waitedFor != null && !waitedFor.isDone()) { // else this takes no memory
            waitedFor.completeExceptionally(NetErrors.closed());
        }
    }
}
