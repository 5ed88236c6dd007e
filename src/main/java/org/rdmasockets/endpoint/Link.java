package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.completion.CompletionInbox;
import org.rdmasockets.completion.Side;
import org.rdmasockets.completion.Wait;
import org.rdmasockets.transport.ConnectionEvents;
import org.rdmasockets.transport.Engine;
import org.rdmasockets.transport.VerbsConnection;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection of an endpoint: the verbs objects that it is made of, how it begins and how it ends. What goes on in
 * between is {@link Traffic}'s. It ends as a socket's does: what was posted gets a moment to arrive, then the set-up
 * pool destroys queue pair, memory and identifier, in this order.
 */
final class Link extends VerbsConnection {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final Set<AccessFlag> LOCAL = Set.of(AccessFlag.LOCAL_WRITE);
    private static final int MOST_READS = 16;
    /** Code of 0.64 ms (InfiniBand specification, 9.7.5.2.8): how soon a peer tries again that found no receive. */
    private static final int RECEIVER_NOT_READY_TIMER = 12;
    private static final int SOFTWARE_PIECE_BYTES = 64 << 10;
    private static final int COPIED_PIECE_BYTES = 1 << 20;

    private final Settings settings;
    private final Place place;
    private final Device device;
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    private final Traffic traffic = new Traffic(failure -> setUp(this::endQueuePair),
            () -> setUp(this::takeIn));
    private final Leases leases;
    private final int maxMessageBytes;
    private final int accessPieceBytes;
    private Domain domain;
    private MemoryRegion slots;
    /** Null where the application posts its own receives. */
    private MemoryRegion buffers;
    private CompletionInbox inbox;
    private QueuePair queuePair;
    /** Set by start. */
    private volatile Greeting peer;
    private volatile boolean peerGone;
    private volatile long lingerDeadline;
    /** When something was last heard, or asked for, by nanoTime; poller thread only. */
    private long quietSinceNanos = System.nanoTime();

    /**
     * Where a connection is made.
     *
     * @param identifier the connection manager's side
     * @param events its events
     * @param side who connects to whom
     */
    record Place(ConnectionIdentifier identifier, ConnectionEvents events, Side side) {
    }

    private Link(Settings settings, Engine engine, Place place) throws VerbsException {
        super(engine);
        this.settings = settings;
        this.place = place;
        device = place.identifier.device();
        local = place.identifier.localAddress();
        remote = place.identifier.remoteAddress();
        leases = new Leases(this, settings, place.side == Side.ACTIVE);
        maxMessageBytes = (int) Math.min(Integer.MAX_VALUE,
                device.port(place.identifier.portNumber()).maxMessageBytes());
        accessPieceBytes = Math.min(maxMessageBytes, pieceBytes(device));
    }

    /** How much a request may move; a device that moves it inside the post must not take too long. */
    private static int pieceBytes(Device device) {
        if (device.supports(Capability.SOFTWARE_TRANSFER)) {
            return SOFTWARE_PIECE_BYTES;
        }
        return device.supports(Capability.COPIES_AT_POST) ? COPIED_PIECE_BYTES : Integer.MAX_VALUE;
    }

    /** Set-up pool: everything, with receives posted. */
    static Link make(LinkMaker maker, Engine engine, Place place) throws IOException {
        Link link = new Link(maker.settings(), engine, place);
        boolean made = false;
        try {
            link.domain = maker.domain(engine, place.identifier);
            link.allocate();
            made = true;
            return link;
        } finally {
            if (!made) {
                link.destroy();
            }
        }
    }

    /** Refuses a connection that is not where the settings want it. */
    static void checkPlace(Settings settings, ConnectionIdentifier identifier) throws EndpointException {
        String name = identifier.device().info().name();
        if (settings.device != null && !settings.device.equals(name)) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "the connection would go over device " + name
                    + ", not " + settings.device + ": use an address of that");
        }
        if (settings.port != 0 && settings.port != identifier.portNumber()) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "the connection would go over port "
                    + identifier.portNumber() + " of device " + name + ", not " + settings.port);
        }
    }

    private void allocate() throws IOException {
        slots = domain.verbs().allocate((long) settings.sends * SendSlot.BYTES, LOCAL);
        Greeting own = settings.greeting();
        if (!settings.raw) {
            buffers = domain.verbs().allocate((long) ReceiveSide.count(own) * settings.bufferBytes, LOCAL);
        }
        inbox = engine.poller().openInbox(device, place.side, traffic, settings.maxCompletions());
        traffic.attach(inbox);
        queuePair = place.identifier.createQueuePair(domain.verbs(), new QueuePairConfig(inbox.shard().queue(),
                inbox.shard().queue(), settings.sends, settings.maxReceives(), settings.elements, 1,
                settings.inlineBytes, false));
        long base = inbox.workRequestIdBase();
        SendSide sends = new SendSide(traffic, queuePair, slots, base);
        long receiveBase = base | Traffic.RECEIVE_BIT;
        if (settings.raw) {
            traffic.attach(sends, new RawReceives(queuePair, receiveBase), leases);
        } else {
            ReceiveSide receives = new ReceiveSide(traffic, queuePair, buffers, own, receiveBase);
            traffic.attach(sends, receives, leases);
            receives.postAll();
        }
        inbox.backlogBytes(1);
    }

    @Override
    public ConnectionParameters parameters() {
        int reads = Math.clamp(Math.min(device.attributes().maxReadsAsTarget(),
                device.attributes().maxReadsAsInitiator()), 1, MOST_READS);
        return new ConnectionParameters(settings.greeting().encode(settings.pass), reads, reads, Engine.RETRY_COUNT,
                Engine.RECEIVER_NOT_READY_RETRIES);
    }

    @Override
    public void start(byte[] privateData, boolean accepted) throws IOException {
        Greeting greeting = Greeting.decode(privateData);
        LinkMaker.check(settings, greeting);
        peer = greeting;
        if (settings.raw && device.supports(Capability.RECEIVER_NOT_READY_RETRY)) {
            queuePair.modify(new QueuePairAttributes().set(QueuePairAttributes.Field.RECEIVER_NOT_READY_TIMER,
                    RECEIVER_NOT_READY_TIMER));
        }
        engine.register(this, device);
        if (hasReached(Stage.TEARING_DOWN)) {
            engine.forget(this); // it was abandoned meanwhile, and forgotten before it was registered
            throw new EndpointException(EndpointException.Reason.CLOSED, "the endpoint is closed");
        }
        locked(() -> traffic.sends().start(greeting));
        place.events.attach(this);
        LOG.debug("{} connected over {}", this, device.info().name());
    }

    /** Does something with the protocol lock, after everything that has arrived was taken in. */
    void locked(Runnable work) {
        compute(unused -> {
            work.run();
            return null;
        });
    }

    /**
     * Something to do with the protocol lock.
     *
     * @param <T> what it gives
     * @param <E> how it can fail
     */
    @FunctionalInterface
    interface Work<T, E extends Exception> {
        /** Does it. */
        T apply(Traffic traffic) throws E;
    }

    /** Likewise, for a result. */
    <T, E extends Exception> T compute(Work<T, E> work) throws E {
        inbox.enter();
        try {
            traffic.tellAgain();
            T result = work.apply(traffic);
            traffic.sends().pump();
            traffic.noteSends(false);
            return result;
        } catch (Error e) {
            // How far it got is not known, so this connection cannot go on.
            traffic.fail(new EndpointException(EndpointException.Reason.DEVICE,
                    "an operation on this connection was cut short: " + e));
            throw e;
        } finally {
            inbox.exit();
        }
    }

    /** Runs something that may block, some time soon. */
    void setUp(Runnable task) {
        engine.setupPool().execute(task);
    }

    /** Set-up pool: nobody waits for what has come. */
    private void takeIn() {
        locked(() -> { });
    }

    /** Waits for the next thing in a mailbox; what says what has not come in time. */
    <T> T take(Mailbox<T> box, long deadlineNanos, String what) throws IOException {
        Pending<T> next = compute(unused -> box.take());
        Wait how = next.hasEnded() ? Wait.READY : traffic.readers().await(next, deadlineNanos);
        if (!next.hasEnded()) {
            locked(() -> box.withdraw(next));
        }
        return next.outcome(how, () -> "no " + what + " has come in time");
    }

    /** What goes on in it. */
    Traffic traffic() {
        return traffic;
    }

    /** Whether it has ended, or failed. */
    boolean isOver() {
        return compute(all -> all.failure() != null);
    }

    /** The application has this end: its peer may ask for memory. */
    void accepted() {
        locked(leases.lender()::open);
    }

    /** What the ends lend each other. */
    Leases leases() {
        return leases;
    }

    /** Whose memory can be used. */
    Domain domain() {
        return domain;
    }

    /** What it goes over. */
    Device device() {
        return device;
    }

    /** What the builder was told. */
    Settings settings() {
        return settings;
    }

    /** What the peer has said of itself. */
    Greeting peer() {
        return peer;
    }

    /** This end's address. */
    InetSocketAddress localAddress() {
        return local;
    }

    /** The peer's address. */
    InetSocketAddress remoteAddress() {
        return remote;
    }

    /** Most bytes of a request that touches the peer's memory. */
    int accessPieceBytes() {
        return accessPieceBytes;
    }

    /** Most bytes of a piece of a message. */
    int messagePieceBytes() {
        return Math.min(accessPieceBytes, peer.bufferBytes()) - Header.BYTES;
    }

    /** The length of a message as the device knows it; refused if it is too long. */
    int rawPieceBytes(long length) throws EndpointException {
        if (length > maxMessageBytes) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "device " + device.info().name()
                    + " moves at most " + maxMessageBytes + " bytes at once, not " + length);
        }
        return (int) length;
    }

    @Override
    public void onConnectionEvent(ConnectionEvent event) {
        if (event instanceof ConnectionEvent.Disconnected || event instanceof ConnectionEvent.DeviceRemoved) {
            setUp(() -> lose(event));
        }
    }

    /** Set-up pool: what arrived before the end comes first. */
    private void lose(ConnectionEvent event) {
        peerGone = true;
        failQueuePair();
        inbox.drainThenOffer(event);
        takeIn();
        if (hasReached(Stage.CLOSING)) {
            linger();
        }
    }

    private void failQueuePair() {
        try {
            queuePair.fail();
        } catch (VerbsException e) {
            LOG.debug("{} {}", this, e.getMessage());
        }
    }

    /** Set-up pool: the peer is told at once, and would else find out when it sends something. */
    private void endQueuePair() {
        try {
            place.identifier.disconnect();
        } catch (VerbsException e) {
            LOG.debug("{} {}", this, e.getMessage()); // it was over before
        }
        if (device.supports(Capability.COMPLETION_IS_DELIVERY)) {
            failQueuePair();
        }
    }

    @Override
    public void fail(boolean reset, String reason) {
        EndpointException failure = new EndpointException(reset ? EndpointException.Reason.PEER_GONE
                : EndpointException.Reason.DEVICE, reason);
        setUp(() -> {
            inbox.drainThenOffer(failure);
            if (hasReached(Stage.CLOSING)) {
                tearDown(); // nobody is left to be told
            }
        });
    }

    /** Visited each time: also a quiet peer has to be asked whether it is still there. */
    @Override
    public boolean tick(long now) {
        if (hasReached(Stage.CLOSING)) {
            setUp(this::linger);
            return true;
        }
        if (leases.lender().isLending()) {
            setUp(leases.lender()::expire);
        }
        if (traffic.isHalfFailed()) {
            setUp(this::takeIn);
        }
        long busy = traffic.busySinceNanos();
        if (busy != 0) {
            quietSinceNanos = now;
            setUp(now - busy > settings.acknowledgeNanos ? this::giveUp : this::takeIn);
        } else if (now - quietSinceNanos > settings.acknowledgeNanos / 2) {
            quietSinceNanos = now;
            setUp(() -> locked(() -> traffic.sends().probe()));
        }
        return true;
    }

    /** Set-up pool: completions that nobody has taken in may tell that all is well. */
    private void giveUp() {
        compute(all -> {
            long busy = all.busySinceNanos();
            if (busy != 0 && System.nanoTime() - busy > settings.acknowledgeNanos) {
                all.fail(new EndpointException(EndpointException.Reason.PEER_GONE, "the peer's device has not "
                        + "acknowledged a request for " + TimeUnit.NANOSECONDS.toSeconds(settings.acknowledgeNanos)
                        + " s" + (settings.raw ? ", perhaps because its application has posted no receive" : "")));
            }
            return null;
        });
    }

    @Override
    public boolean uses(Device other) {
        return device == other;
    }

    @Override
    public boolean uses(Device other, int queuePairNumber) {
        return device == other && queuePair.number() == queuePairNumber;
    }

    @Override
    public void leave() {
        if (!hasReached(Stage.CLOSING)) {
            compute(all -> {
                all.leave();
                return null;
            });
        }
    }

    @Override
    public boolean isDelivered() {
        return hasReached(Stage.TEARING_DOWN) || compute(all -> hasReached(Stage.CLOSING) ? isDelivered(all)
                : all.failure() != null || all.sends().isSettled(
                        settings.raw || device.supports(Capability.COMPLETION_IS_DELIVERY)));
    }

    /**
     * Protocol lock held: whether a closed connection may end. Where a completion proves nothing (iWARP), only the peer
     * does, by going when it has taken in that this end goes, or by saying that it goes itself: then it takes nothing
     * more. What TCP has still to send when the queue pair ends would be lost if the peer then sends anything.
     */
    private boolean isDelivered(Traffic all) {
        return isDrained(all)
                && (peerGone || all.peerLeaves() || device.supports(Capability.COMPLETION_IS_DELIVERY));
    }

    /** Protocol lock held: whether nothing is left for the device to do after a close, or nothing that it could do. */
    private boolean isDrained(Traffic all) {
        return peerGone || !all.sends().isBusy() && (all.peerLeaves() || !all.sends().hasLast());
    }

    @Override
    public long registeredBytes() {
        return slots.lengthBytes() + (buffers == null ? 0 : buffers.lengthBytes()) + domain.bytes();
    }

    /** Any thread: ends the connection; whoever waits is told at once, what was posted gets a moment. Idempotent. */
    void close() {
        if (enter(Stage.CLOSING)) {
            lingerDeadline = System.nanoTime() + settings.lingerNanos;
            try {
                compute(all -> {
                    all.sends().sayLast(new Notice(Header.of(Header.Kind.BYE)));
                    all.closeHere(new EndpointException(EndpointException.Reason.CLOSED, "the endpoint is closed"));
                    return null;
                });
            } finally {
                inbox.close();
                inbox.onOrphan(() -> setUp(this::linger));
                setUp(this::linger);
            }
            awaitEndAtExit();
        }
    }

    @Override
    public void abort() {
        if (enter(Stage.CLOSING)) {
            lingerDeadline = System.nanoTime();
            inbox.close();
        }
        setUp(this::tearDown);
    }

    /** Set-up pool: a closed connection got news, or its time may be over. */
    private void linger() {
        if (!hasReached(Stage.TEARING_DOWN)) {
            if (compute(all -> isDrained(all) && !isDelivered(all) && !all.sends().hasSaidLast())) {
                endQueuePair(); // the peer was not told: it goes only when it sees this end go
            }
            if (compute(this::isDelivered) || System.nanoTime() - lingerDeadline >= 0) {
                tearDown();
            }
        }
    }

    /** Set-up pool: the one way in which a connection ends. */
    private void tearDown() {
        if (enter(Stage.TEARING_DOWN)) {
            try {
                compute(all -> {
                    all.closeHere(new EndpointException(EndpointException.Reason.CLOSED, "the endpoint is closed"));
                    return null;
                });
            } finally {
                endAll(this::endQueuePair, this::destroy, place.identifier::close, () -> engine.forget(this),
                        () -> enter(Stage.ENDED));
            }
            LOG.debug("{} torn down", this);
        }
    }

    /** Set-up pool: everything but the identifier. */
    private void destroy() {
        endAll(() -> {
            if (queuePair != null) {
                queuePair.close();
            }
        }, () -> {
            if (inbox != null) {
                inbox.retire();
            }
        }, this::releaseAll, () -> {
            if (slots != null) {
                slots.close();
            }
        }, () -> {
            if (buffers != null) {
                buffers.close();
            }
        }, () -> {
            if (domain != null) {
                domain.release();
            }
        });
    }

    private void releaseAll() {
        if (traffic.sends() != null) {
            inbox.enter();
            try {
                traffic.releaseAll();
            } finally {
                inbox.exit();
            }
        }
    }

    /** Takes each step, whatever another throws; the first failure is the caller's. */
    private static void endAll(Runnable... steps) {
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

    @Override
    public String toString() {
        return "[" + local + "->" + remote + (queuePair == null ? "" : " qp=" + queuePair.number()) + "]";
    }
}
