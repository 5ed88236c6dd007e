package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.waiting.CompletionInbox;
import org.rdmasockets.internal.waiting.ConnectionRole;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.VerbsException;

/**
 * One end of a connection over verbs, for any {@link Protocol}: how it is made, begins, is watched and ends. It is the
 * engine's until its teardown has ended.
 *
 * <p>The end of a connection: {@link #close} has the protocol say its last word behind what was sent, and returns; the
 * set-up pool waits, bounded, until the peer has it all, and tears down. A connection whose peer has gone fails, and is
 * torn down when it is closed.
 */
public final class VerbsConnection extends ConnectionRegistry.Member implements ConnectionHandler, Runnable {
    private static final Log LOG = new Log(VerbsConnection.class);
    /** Most attempts of an ending connection to take in what came for it. */
    private static final int MOST_FAILURES = 1_000;

    /** How far the end of a connection has come, in this order; some may be left out. */
    private enum Stage {
        /** It can be used. */
        OPEN,
        /** It was closed. */
        CLOSING,
        /** Its parts are being destroyed. */
        TEARING_DOWN,
        /** Nothing of it is left. */
        ENDED
    }

    /** In the inbox: this connection cannot go on. */
    private record Failure(boolean reset, String reason) {}

    private final Engine engine;
    private final ConnectionIdentifier identifier;
    private ConnectionEvents events; // null once this is the handler itself
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    private final Device device;
    final Liveness liveness = new Liveness(System.nanoTime());
    /** Set before anything arrives, as are the next two. */
    private Protocol protocol;
    private CompletionInbox inbox;
    private QueuePair queuePair;
    /** Changed, and waited for, under this. */
    private volatile Stage stage = Stage.OPEN;
    /** The peer's device has closed its side, or is gone. */
    private volatile boolean peerGone;
    /**
     * When this was made, by {@code System.nanoTime}; from the close on, when lingering ends, which is set before the
     * stage. One field for both: they are never needed at the same time.
     */
    private volatile long madeOrLingerDeadline = liveness.lastActivity();
    /** A close has had the protocol say its last word; protected by the protocol lock. */
    private boolean lastWordSaid;
    /** The queue pair was told to end; protected by the protocol lock. */
    private boolean ending;

    private VerbsConnection(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events) {
        this.engine = engine;
        this.identifier = identifier;
        this.events = events;
        this.local = identifier.localAddress();
        this.remote = identifier.remoteAddress();
        this.device = identifier.device();
    }

    /** Not for the poller thread: makes one that is ready to connect. Throws as the next two do. */
    static <P extends Protocol> P make(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events,
            Protocol.Maker<P> maker) throws IOException {
        P protocol = of(engine, identifier, events, maker, null);
        protocol.connection().allocate(ConnectionRole.ACTIVE);
        return protocol;
    }

    /**
     * A connection that has nothing yet; {@code asked} is the request to accept, null at the end that connects. Throws
     * if the request is wrong; the identifier stays the caller's then.
     */
    static <P extends Protocol> P of(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events,
            Protocol.Maker<P> maker, ConnectionParameters asked) throws IOException {
        VerbsConnection connection = new VerbsConnection(engine, identifier, events);
        P protocol = maker.make(connection, asked);
        connection.protocol = protocol;
        return protocol;
    }

    /**
     * Not for the poller thread: makes what this needs, with receives posted, ready to connect or to accept. Throws if
     * the device refuses; the identifier stays the caller's then.
     */
    void allocate(ConnectionRole side) throws IOException {
        boolean made = false;
        try {
            protocol.allocate(side);
            made = true;
        } finally {
            if (!made) {
                destroy();
            }
        }
    }

    /** Set-up pool: opens the inbox, for so many completions at once; first of the two. */
    public CompletionInbox openInbox(ConnectionRole side, int maxOutstanding) throws IOException {
        inbox = engine.poller().openInbox(device, side, protocol, maxOutstanding);
        return inbox;
    }

    /** Set-up pool: makes the queue pair, which may touch the domain's memory. */
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config) throws VerbsException {
        queuePair = identifier.createQueuePair(domain, config);
        return queuePair;
    }

    /** Not for the poller thread: lets a peer that finds no receive try again soon; without it this is only slower. */
    void shortenRetries() {
        int timer = protocol.receiverNotReadyTimer();
        if (timer != 0 && engine.mayBlock && device.supports(Capability.RECEIVER_NOT_READY_RETRY)) {
            try {
                queuePair.modify(new QueuePairAttributes().set(
                        QueuePairAttributes.Field.RECEIVER_NOT_READY_TIMER, timer));
            } catch (VerbsException | Error e) {
                LOG.debug("{} {}", this, e.getMessage()); // perhaps it is over already
            }
        }
    }

    /** Any thread: the connection is up; zeros may follow the peer's data. If it throws, the caller aborts this. */
    void start(byte[] peer, boolean accepted) throws IOException {
        if (!accepted && !completionIsDelivery()) {
            liveness.beginKnocking();
        }
        engine.register(this, device);
        if (hasReached(Stage.TEARING_DOWN)) {
            engine.forget(this); // it was abandoned meanwhile, and forgotten before it was registered
            throw NetErrors.closed();
        }
        inbox.enter();
        try {
            protocol.start(peer, accepted);
            protocol.settle();
        } finally {
            inbox.exit();
        }
        events.attach(this);
        identifier.handler(this);
        events = null;
        LOG.debug("{} connected over {}", this, device.info().name());
    }

    // The methods for the protocol.

    /** The connection manager's side. */
    public ConnectionIdentifier identifier() {
        return identifier;
    }

    /** The engine, which other connections share. */
    public Engine engine() {
        return engine;
    }

    /** The device that this goes over. */
    public Device device() {
        return device;
    }

    /** This end's address: address and port, also after close. */
    public InetSocketAddress localAddress() {
        return local;
    }

    /** The peer's address: address and port, also after close. */
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    /** As {@link org.rdmasockets.verbs.spi.TransportProvider#peerUser} says. */
    public OptionalInt peerUser() {
        return engine.provider.peerUser(identifier);
    }

    /**
     * Sets how long a request may stay unacknowledged, and how long the peer may be quiet before it is asked for a sign
     * of life.
     */
    public void watch(long limitNanos, long idleNanos) {
        liveness.watch(limitNanos, idleNanos);
        attend();
    }

    /** Any thread: has this connection visited at each tick from now on, because something is expected of it. */
    void attend() {
        engine.attend(this);
    }

    /** Does work that may block, some time soon. Any thread. */
    public void later(Runnable work) {
        SetupPool.SHARED.execute(work);
    }

    /** Whether this begins and ends with calls that may wait for the kernel, or for a thread that uses its memory. */
    boolean mayBlock() {
        return engine.mayBlock || protocol.disconnectsAtOnce();
    }

    /** Goes on to the end: on the set-up pool if that may block, else now. */
    private void perform(Runnable task) {
        if (mayBlock()) {
            later(task);
        } else {
            task.run();
        }
    }

    /** Does something that may post, with the protocol lock, after everything that has arrived was taken in. */
    public void locked(Runnable work) {
        inbox.enter();
        try {
            work.run();
            protocol.settle();
            noteSends(protocol.outstandingSends());
        } catch (Error e) {
            throw spoiled(e);
        } finally {
            inbox.exit();
        }
    }

    /** Does something as {@link #locked}, after the completion queue was drained, too. Call without locks. */
    public void drained(Runnable work) {
        inbox.drain();
        locked(work);
    }

    /** Set-up pool: takes in arrivals that no thread waits for, so that the peer gets credit and room. */
    void takeIn() {
        locked(() -> { });
    }

    /**
     * Protocol lock held: fails this connection, as an error cut an operation short at an unknown point. Returns the
     * error to throw. If there is no memory, tries again: the next operation must not find this half done.
     */
    public Error spoiled(Error e) {
        LibraryThreads.insist(this);
        return e;
    }

    /** The task of {@link #spoiled} alone: without memory no other object can be made for it. */
    @Override
    public void run() {
        protocol.fail(false, "an operation on this connection was cut short by an Error");
        end();
    }

    /** Protocol lock held, after something may have been posted: starts the clock of the oldest send. */
    public void noteSends(int outstanding) {
        if (liveness.posted(engine.coarseNanos, outstanding)) {
            attend();
        }
    }

    /** Protocol lock held, after a completion was applied. */
    public void noteCompletion(int outstanding) {
        if (liveness.completed(engine.coarseNanos, outstanding)) {
            attend();
        }
    }

    /** Protocol lock held: ends outstanding requests at once, as nothing more can come. */
    public void end() {
        if (!ending) {
            boolean performed = false;
            ending = true;
            try {
                perform(this::endQueuePair);
                performed = true;
            } finally {
                ending = performed; // else a later call tries again
            }
        }
    }

    /** Whether this end was closed. Any thread. */
    public boolean isClosed() {
        return stage != Stage.OPEN;
    }

    /** Whether the peer's device has closed its side, or is gone. Any thread. */
    public boolean isPeerGone() {
        return peerGone;
    }

    /**
     * Whether the peer gets all bytes that its device has acknowledged, even if this end goes. Not over iWARP: its TCP
     * loses them if the peer then sends anything, which this end no longer reads.
     */
    public boolean completionIsDelivery() {
        return device.supports(Capability.COMPLETION_IS_DELIVERY);
    }

    // Events.

    @Override
    public void onEvent(ConnectionIdentifier unused, ConnectionEvent event) {
        boolean over = event instanceof ConnectionEvent.Disconnected || event instanceof ConnectionEvent.DeviceRemoved;
        if (over && !hasReached(Stage.TEARING_DOWN)) {
            perform(() -> lose(event));
        }
    }

    /** Set-up pool: data that arrived before the end comes first, so the token waits for an empty queue. */
    private void lose(ConnectionEvent event) {
        peerGone = true;
        if (!mayBlock()) {
            inbox.drainThenOffer(event); // requests that wait for the peer fail by themselves
        } else if (event instanceof ConnectionEvent.DeviceRemoved) {
            inbox.drainThenOffer(event); // before the flushed requests, which would read as a reset
            failQueuePair();
        } else {
            if (!hasLeft()) {
                failQueuePair();
            }
            inbox.drainThenOffer(event);
        }
        takeIn();
    }

    /** Whether the peer has said before that it goes, or has it all: neither end waits for anything any more. */
    private boolean hasLeft() {
        inbox.drain();
        inbox.enter();
        try {
            return (protocol.isPeerLeaving() || isClosed() && isDeliveredLocked()) && !disconnects();
        } finally {
            inbox.exit();
        }
    }

    /** Any thread: the device says that this cannot go on; {@code reset} if the death of a peer looks the same. */
    void fail(boolean reset, String reason) {
        later(() -> {
            inbox.drainThenOffer(new Failure(reset, reason));
            takeIn();
        });
    }

    /** Protocol lock held: takes a token of the connection manager, the poller or a deadline. */
    public void onToken(Object token) {
        switch (token) {
            case ConnectionEvent.Disconnected disconnected -> protocol.onDisconnected();
            case ConnectionEvent.DeviceRemoved removed -> protocol.fail(false, "RDMA device " + device.info().name()
                    + " was removed");
            case Failure failure -> protocol.fail(failure.reset, failure.reason);
            case Throwable failure -> protocol.fail(false, "waiting for completions failed: " + failure);
            default -> protocol.fail(false, token.toString());
        }
        protocol.settle();
    }

    /**
     * Fails the queue pair, unless it has failed: each failure makes the device give back all posted receives, which a
     * thread has to take in.
     */
    private void failQueuePair() {
        try {
            // On iWARP a disconnect counts as a failure, and the device has perhaps not given them back.
            if (queuePair.state() != QueuePairState.ERROR || !completionIsDelivery()) {
                queuePair.fail();
            }
        } catch (VerbsException e) {
            LOG.debug("{} {}", this, e.getMessage());
        }
    }

    /** Set-up pool: outstanding requests end. */
    private void endQueuePair() {
        disconnect();
        if (completionIsDelivery()) {
            failQueuePair();
        }
    }

    /** Whether an end disconnects by the connection manager: on iWARP the peer waits for that. */
    private boolean disconnects() {
        return !completionIsDelivery() || protocol.disconnectsAtOnce();
    }

    /** Set-up pool: disconnects, if {@link #disconnects}. */
    private void disconnect() {
        if (disconnects()) {
            try {
                identifier.disconnect();
            } catch (VerbsException e) {
                LOG.debug("{} {}", this, e.getMessage()); // it was over before
            }
        }
    }

    /**
     * Poller thread: the end that connected asks a silent peer for a sign of life, each time after twice the pause. A
     * peer on soft-iWARP answers the request and only then looks for data; data from in between lies there until more
     * comes. True while this may ask again.
     */
    private boolean knocks() {
        if (liveness.knocks(inbox.hasHeard())) {
            later(() -> locked(protocol::keepAlive));
        }
        return liveness.isKnocking();
    }

    @Override
    boolean tick(long now) {
        boolean attends = protocol.tick(now) | knocks();
        if (isClosed()) {
            if (now - madeOrLingerDeadline >= 0) {
                later(this::linger);
            }
            return true;
        }
        switch (liveness.due(now)) {
            case CHECK -> later(this::checkUnacknowledged);
            case CONFIRM -> later(() -> locked(protocol::confirm));
            case PROBE -> later(() -> locked(this::probe));
            case NOTHING -> {
            }
        }
        return attends || liveness.isDutyNear(now);
    }

    /** Set-up pool: completions that no thread has applied yet may tell that all is well. */
    private void checkUnacknowledged() {
        inbox.enter();
        try {
            boolean overdue = liveness.isOverdue(System.nanoTime());
            if (overdue && protocol.confirm()) {
                liveness.asked(System.nanoTime());
            } else if (overdue) {
                protocol.giveUp(TimeUnit.NANOSECONDS.toSeconds(liveness.limitNanos()));
                end();
            }
        } finally {
            inbox.exit();
        }
    }

    private void probe() {
        if (liveness.isIdle(System.nanoTime())) {
            protocol.keepAlive();
        }
    }

    boolean uses(Device other) {
        return device == other;
    }

    boolean uses(Device other, int queuePairNumber) {
        return device == other && queuePair.number() == queuePairNumber;
    }

    /** Reports this connection without a lock, so that no thread waits for the one that asks. Any thread. */
    void tellUnlocked(ConnectionReport report) {
        try {
            tell(report);
        } catch (RuntimeException e) {
            report.put("incomplete", e.toString()); // it is just being made, or ends
        }
    }

    private void tell(ConnectionReport report) {
        long made = madeOrLingerDeadline;
        boolean closed = isClosed();
        report.end(engine.name(), local, remote, closed ? "closing" : peerGone ? "peer gone" : null);
        if (!closed) {
            report.since("age", made);
            report.since("idle", liveness.lastActivity());
        }
        report.put("device", device.info().name());
        report.put("registered", registeredBytes());
        report.put("outstanding", protocol.outstandingSends());
        if (protocol instanceof StreamTransport stream) {
            stream.tell(report);
        } else {
            report.put("kind", "messages");
        }
    }

    /** How much memory this connection has registered, in bytes. Any thread. */
    long registeredBytes() {
        return protocol.registeredBytes();
    }

    @Override
    long receivedBytes() {
        return protocol.receivedBytes();
    }

    @Override
    long sentBytes() {
        return protocol.sentBytes();
    }

    // The end.

    /** Any thread: ends the connection. Waiting threads are told, and sent bytes get a moment to arrive. Idempotent. */
    public void close(long lingerNanos) {
        if (beginClosing(lingerNanos)) {
            inbox.beginClose();
            boolean begun = false;
            try {
                attend();
                if (mayBlock()) {
                    inbox.tellAll();
                    drained(this::sayLastWord);
                    if (isOver()) { // else there will be news
                        later(this::tearDown);
                    }
                } else {
                    closeNow();
                }
                begun = true;
            } finally {
                endClose(begun);
            }
            if (Engine.isExiting()) {
                awaitEnd(Engine.exitDeadline()); // no other thread waits until the sent bytes have arrived
            }
        }
    }

    private void sayLastWord() {
        protocol.disconnect();
        lastWordSaid = true;
    }

    /**
     * Wakes the waiting threads, as its last act: the close ends before a thread that this wakes looks at the socket.
     */
    private void endClose(boolean begun) {
        try {
            if (!begun) { // perhaps no memory: a tick goes on with it
                madeOrLingerDeadline = System.nanoTime();
                attend();
            }
        } finally {
            inbox.close();
        }
    }

    /**
     * Says the last word, and tears down at once if the peer has taken it; else the thread that brings news goes on.
     */
    private void closeNow() {
        drained(this::sayLastWord);
        inbox.drain(); // by now the posted requests have mostly completed
        linger();
        if (!hasReached(Stage.TEARING_DOWN)) {
            inbox.tellAll();
            linger(); // news may have come in between
        }
    }

    /** Any thread: ends the connection without a word to the peer. Must not block; idempotent. */
    public void abort() {
        if (beginClosing(0)) {
            inbox.beginClose();
        }
        boolean begun = false;
        try {
            if (mayBlock()) {
                later(this::tearDown);
            } else {
                tearDown(); // without memory for a task: one that has not started has no tick to do it later
            }
            begun = true;
        } finally {
            endClose(begun);
        }
    }

    private synchronized boolean beginClosing(long lingerNanos) {
        if (isClosed()) {
            return false;
        }
        madeOrLingerDeadline = System.nanoTime() + lingerNanos;
        return enter(Stage.CLOSING);
    }

    /** Goes on to a stage; false if it was reached before. */
    private synchronized boolean enter(Stage next) {
        boolean first = !hasReached(next);
        if (first) {
            stage = next;
            notifyAll();
        }
        return first;
    }

    private boolean hasReached(Stage one) {
        return stage.compareTo(one) >= 0;
    }

    /** Waits for the end, until then at most. */
    void awaitEnd(long deadlineNanos) {
        try {
            InterruptibleWait.await(this::await, deadlineNanos);
        } catch (InterruptedIOException e) {
            LOG.debug("{} interrupted while lingering; it goes on in the background", this);
        }
    }

    private synchronized Boolean await(long nanos) throws InterruptedException {
        long deadline = System.nanoTime() + nanos;
        for (long left = nanos; stage != Stage.ENDED; left = deadline - System.nanoTime()) {
            if (left <= 0) {
                return null;
            }
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return true;
    }

    /** Any thread: something has come in that no caller waits for. */
    void onBacklog() {
        later(isClosed() ? this::linger : this::takeIn);
    }

    /** Set-up pool: a closed connection got news, or its time is over. */
    private void linger() {
        if (isOver()) {
            tearDown();
        }
    }

    /** Whether nothing is left that a closed connection waits for. */
    private boolean isOver() {
        inbox.enter();
        try {
            protocol.settle();
            return protocol.hasFailed() || isDeliveredLocked() || System.nanoTime() - madeOrLingerDeadline >= 0;
        } finally {
            inbox.exit();
        }
    }

    /**
     * Protocol lock held: whether a closed connection may end. Not before its last word: news or a tick may come
     * between the beginning of a close and that. On iWARP only the peer proves that it has the data: it goes when
     * it has taken in that this end goes, or says that it goes itself. TCP loses the bytes that it has still to send
     * when the queue pair ends, if the peer says that there is room for more: no thread reads that, so TCP resets.
     */
    private boolean isDeliveredLocked() {
        return lastWordSaid && protocol.isDrained() && (peerGone || protocol.isPeerLeaving() || completionIsDelivery());
    }

    /** Any thread: this process ends soon. */
    void leave() {
        if (!isClosed()) {
            locked(protocol::leave);
        }
    }

    /** Whether nothing that was sent is on its way any more; true also if it never will arrive. Any thread. */
    public boolean isDelivered() {
        if (peerGone || hasReached(Stage.TEARING_DOWN)) {
            return true;
        }
        inbox.enter();
        try {
            protocol.confirm();
            protocol.settle();
            return protocol.hasFailed() || (isClosed() ? isDeliveredLocked()
                    : protocol.isPeerLeaving() || protocol.isSettled());
        } finally {
            inbox.exit();
        }
    }

    /** Set-up pool: the one way in which a connection ends. */
    private void tearDown() {
        if (enter(Stage.TEARING_DOWN)) {
            try {
                if (mayBlock()) {
                    disconnect();
                }
            } finally {
                release();
            }
            LOG.debug("{} torn down", this);
        }
    }

    /** The rest of the end: each step is taken, whatever another throws, and takes no memory to begin. */
    private void release() {
        try {
            destroy();
        } finally {
            releaseIdentifier();
        }
    }

    private void releaseIdentifier() {
        try {
            identifier.close();
        } finally {
            try {
                TcpBinding.releaseFor(this);
            } finally {
                leaveEngine();
            }
        }
    }

    private void leaveEngine() {
        try {
            engine.forget(this);
        } finally {
            enter(Stage.ENDED);
        }
    }

    /** Takes each step, whatever another throws; the first failure is the caller's. */
    public static void endAll(Runnable... steps) {
        Throwable first = null;
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException | Error e) {
                first = first == null ? e : first;
            }
        }
        switch (first) {
            case null -> { }
            case Error e -> throw e;
            case Throwable t -> throw (RuntimeException) t;
        }
    }

    /** Everything but the identifier: the queue pair first, then the rest. */
    private void destroy() {
        Runnable memory = null;
        try {
            memory = endProtocol();
        } finally {
            destroy(memory);
        }
    }

    private void destroy(Runnable memory) {
        try {
            if (queuePair != null) {
                queuePair.close();
            }
        } finally {
            try {
                if (inbox != null) {
                    inbox.retire();
                }
            } finally {
                if (memory != null) {
                    memory.run();
                }
            }
        }
    }

    /**
     * Waits for threads that copy from or to the memory, which may be another connection's soon; later ones see that it
     * is closed. Tries again: each failure to take in what has arrived takes something out of the inbox.
     */
    private Runnable endProtocol() {
        for (int left = MOST_FAILURES;; left--) {
            boolean entered = false;
            try {
                if (inbox != null) {
                    inbox.enter();
                }
                entered = true;
                return protocol.end();
            } catch (RuntimeException | Error e) {
                if (left == 0 || entered && e instanceof RuntimeException) {
                    throw e;
                }
            } finally {
                if (entered) {
                    exitAtEnd();
                }
            }
            LibraryThreads.pause();
        }
    }

    private void exitAtEnd() {
        try {
            if (inbox != null) {
                inbox.exit();
            }
        } catch (RuntimeException | Error e) {
            LOG.debug("{} ends all the same", this, e);
        }
    }

    @Override
    public String toString() {
        return "[" + local + "->" + remote + (queuePair == null ? "" : " qp=" + queuePair.number()) + "]";
    }
}
