package org.rdmasockets.endpoint;

import java.io.IOException;
import java.util.Set;
import org.rdmasockets.completion.Completion;
import org.rdmasockets.completion.CompletionInbox;
import org.rdmasockets.completion.Role;
import org.rdmasockets.completion.Side;
import org.rdmasockets.completion.Wait;
import org.rdmasockets.transport.Engine;
import org.rdmasockets.transport.Protocol;
import org.rdmasockets.transport.VerbsConnection;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;

/**
 * The protocol of endpoints: what a connection is made of for that, and what its last words are. What goes on in
 * between is {@link Traffic}'s.
 */
final class Link implements Protocol {
    private static final Set<AccessFlag> LOCAL = Set.of(AccessFlag.LOCAL_WRITE);
    private static final int MOST_READS = 16;
    /** Code of 0.64 ms (InfiniBand specification, 9.7.5.2.8): how soon a peer tries again that found no receive. */
    private static final int RECEIVER_NOT_READY_TIMER = 12;
    private static final int SOFTWARE_PIECE_BYTES = 64 << 10;
    private static final int COPIED_PIECE_BYTES = 1 << 20;

    final Settings settings;
    private final VerbsConnection connection;
    final Traffic traffic;
    /** Set by allocate, as all that follows. */
    private Leases leases;
    private int maxMessageBytes;
    private int accessPieceBytes;
    private Domain domain;
    private MemoryRegion slots;
    /** Null where the application posts its own receives. */
    private MemoryRegion buffers;
    private CompletionInbox inbox;
    /** Set by start. */
    private volatile Greeting peer;

    /** A connection that needs nothing yet. */
    Link(Settings settings, VerbsConnection connection) {
        this.settings = settings;
        this.connection = connection;
        traffic = new Traffic(connection);
    }

    /** How much a request may move; a device that moves it inside the post must not take too long. */
    private static int pieceBytes(Device device) {
        if (device.supports(Capability.SOFTWARE_TRANSFER)) {
            return SOFTWARE_PIECE_BYTES;
        }
        return device.supports(Capability.COPIES_AT_POST) ? COPIED_PIECE_BYTES : Integer.MAX_VALUE;
    }

    @Override
    public void allocate(Side side) throws IOException {
        Device device = connection.device();
        leases = new Leases(this, settings, side == Side.ACTIVE);
        maxMessageBytes = (int) Math.min(Integer.MAX_VALUE,
                device.port(connection.identifier().portNumber()).maxMessageBytes());
        accessPieceBytes = Math.min(maxMessageBytes, pieceBytes(device));
        Greeting own = settings.greeting();
        domain = settings.domain(connection);
        slots = domain.verbs.allocate((long) settings.sends * SendSlot.BYTES, LOCAL);
        if (!settings.raw) {
            buffers = domain.verbs.allocate((long) ReceiveSide.count(own) * settings.bufferBytes, LOCAL);
        }
        inbox = connection.openInbox(side, settings.maxCompletions());
        traffic.attach(inbox);
        QueuePair queuePair = connection.createQueuePair(domain.verbs, new QueuePairConfig(inbox.shard().queue(),
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
        connection.watch(settings.acknowledgeNanos, settings.acknowledgeNanos / 2);
    }

    @Override
    public ConnectionParameters parameters() {
        Device device = connection.device();
        int reads = Math.clamp(Math.min(device.attributes().maxReadsAsTarget(),
                device.attributes().maxReadsAsInitiator()), 1, MOST_READS);
        return new ConnectionParameters(settings.greeting().encode(settings.pass), reads, reads, Engine.RETRY_COUNT,
                Engine.RECEIVER_NOT_READY_RETRIES);
    }

    /** Where the application posts the receives, a peer that finds none must not ask without pause. */
    @Override
    public int receiverNotReadyTimer() {
        return settings.raw ? RECEIVER_NOT_READY_TIMER : 0;
    }

    @Override
    public boolean disconnectsAtOnce() {
        return true;
    }

    @Override
    public void start(byte[] privateData, boolean accepted) throws IOException {
        Greeting greeting = Greeting.decode(privateData);
        settings.check(greeting);
        peer = greeting;
        traffic.sends().start(greeting);
    }

    @Override
    public void apply(Completion completion) {
        if (completion.token() != null) {
            connection.onToken(completion.token());
            return;
        }
        traffic.apply(completion);
        traffic.sends().pump();
        connection.noteCompletion(outstandingSends());
    }

    @Override
    public boolean ready(Role role) {
        return traffic.ready(role);
    }

    @Override
    public boolean creditOwed() {
        return traffic.sends() != null && traffic.sends().isOwing(); // null if it could not be made
    }

    /** Where a completion proves nothing, the peer goes only when it sees this end go, if it could not be told. */
    @Override
    public void settle() {
        traffic.tellAgain();
        traffic.sends().pump();
        if (connection.isClosed() && !connection.completionIsDelivery() && isDrained()
                && !traffic.sends().hasSaidLast()) {
            connection.end();
        }
    }

    /** Something to do with the protocol lock. */
    @FunctionalInterface
    interface Work<T, E extends Exception> {
        /** Does it. */
        T apply(Traffic traffic) throws E;
    }

    /** Does it, after everything that has arrived was taken in. */
    <T, E extends Exception> T compute(Work<T, E> work) throws E {
        inbox.enter();
        try {
            traffic.tellAgain();
            T result = work.apply(traffic);
            settle();
            connection.noteSends(outstandingSends());
            return result;
        } catch (Error e) {
            throw connection.spoiled(e);
        } finally {
            inbox.exit();
        }
    }

    /** Waits for the next thing in a mailbox; what says what has not come in time. */
    <T> T take(Mailbox<T> box, long deadlineNanos, String what) throws IOException {
        Pending<T> next = compute(unused -> box.take());
        Wait how = next.hasEnded() ? Wait.READY : traffic.readers().await(next, deadlineNanos);
        if (!next.hasEnded()) {
            connection.locked(() -> box.withdraw(next));
        }
        return next.outcome(how, () -> "no " + what + " has come in time");
    }

    /** Takes the next thing in a mailbox without waiting, null for none. */
    <T> T poll(Mailbox<T> box) {
        T one = compute(unused -> box.poll());
        if (one == null) {
            traffic.readers().poll(new Pending<>(traffic.readers(), "poll"));
            one = compute(unused -> box.poll());
        }
        return one;
    }

    /** Whether it has ended, or failed. */
    boolean isOver() {
        return compute(all -> all.failure() != null);
    }

    /** The application has this end: its peer may ask for memory. */
    void accepted() {
        connection.locked(leases.lender::open);
    }

    /** What the ends lend each other. */
    Leases leases() {
        return leases;
    }

    /** Whose memory can be used. */
    Domain domain() {
        return domain;
    }

    @Override
    public VerbsConnection connection() {
        return connection;
    }

    /** What it goes over. */
    Device device() {
        return connection.device();
    }

    /** What the peer has said of itself. */
    Greeting peer() {
        return peer;
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
            throw new EndpointException(EndpointException.Reason.LIMIT, "device " + device().info().name()
                    + " moves at most " + maxMessageBytes + " bytes at once, not " + length);
        }
        return (int) length;
    }

    @Override
    public void onDisconnected() {
        traffic.fail(traffic.ended());
        traffic.sends().abandonPosted(); // what has completed was taken in before
    }

    @Override
    public void fail(boolean reset, String reason) {
        traffic.fail(new EndpointException(reset ? EndpointException.Reason.PEER_GONE
                : EndpointException.Reason.DEVICE, reason));
        traffic.sends().abandonPosted(); // likewise
    }

    @Override
    public int outstandingSends() {
        return traffic.sends().isBusy() ? 1 : 0;
    }

    @Override
    public void giveUp(long seconds) {
        traffic.fail(new EndpointException(EndpointException.Reason.PEER_GONE, "the peer's device has not "
                + "acknowledged a request for " + seconds + " s"
                + (settings.raw ? ", perhaps because its application has posted no receive" : "")));
    }

    /** Each request shows its completion. */
    @Override
    public boolean confirm() {
        return false;
    }

    @Override
    public void keepAlive() {
        traffic.sends().probe();
    }

    @Override
    public boolean tick(long now) {
        if (leases.lender.isLending()) {
            connection.later(leases.lender::expire);
        }
        if (traffic.isHalfFailed()) {
            connection.later(() -> connection.locked(() -> { }));
        }
        return true;
    }

    @Override
    public void leave() {
        traffic.leave();
    }

    @Override
    public void disconnect() {
        traffic.sends().sayLast(new Notice(Header.of(Header.Kind.BYE)));
        traffic.closeHere();
    }

    @Override
    public boolean isSettled() {
        return traffic.sends().isSettled(settings.raw || connection.completionIsDelivery());
    }

    @Override
    public boolean isDrained() {
        SendSide sends = traffic.sends();
        return connection.isPeerGone() || !sends.isBusy() && (isPeerLeaving() || !sends.hasLast());
    }

    @Override
    public boolean isPeerLeaving() {
        return traffic.peerLeaves();
    }

    @Override
    public boolean hasFailed() {
        return traffic.hasFailed();
    }

    @Override
    public Runnable end() {
        if (traffic.sends() != null) {
            traffic.closeHere();
            traffic.sends().end();
        }
        return this::release;
    }

    /** Set-up pool: the queue pair is gone. */
    private void release() {
        VerbsConnection.endAll(this::releaseAll, () -> close(slots), () -> close(buffers), () -> {
            if (domain != null) {
                domain.release();
            }
        });
    }

    private static void close(MemoryRegion region) {
        if (region != null) {
            region.close();
        }
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

    @Override
    public long registeredBytes() {
        return slots.lengthBytes() + (buffers == null ? 0 : buffers.lengthBytes()) + domain.bytes();
    }

    /** Any thread: ends the connection; whoever waits is told at once, what was posted gets a moment. Idempotent. */
    void close() {
        connection.close(settings.lingerNanos);
    }

    @Override
    public String toString() {
        return connection.toString();
    }
}
