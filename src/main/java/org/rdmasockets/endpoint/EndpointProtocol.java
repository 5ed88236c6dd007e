package org.rdmasockets.endpoint;

import java.io.IOException;
import java.util.Set;
import org.rdmasockets.internal.waiting.Completion;
import org.rdmasockets.internal.waiting.CompletionInbox;
import org.rdmasockets.internal.waiting.Role;
import org.rdmasockets.internal.waiting.ConnectionRole;
import org.rdmasockets.internal.waiting.WaitResult;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.connection.Protocol;
import org.rdmasockets.internal.connection.VerbsConnection;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.WorkCompletionStatus;

/**
 * The protocol of endpoints: the parts of a connection, what it takes in, whether it has failed, the threads that wait,
 * and its last words. Methods are called with the inbox's protocol lock held, unless they say otherwise. The fields
 * that {@link #allocate} sets are set before anything arrives.
 */
final class EndpointProtocol implements Protocol {
    private static final Set<AccessFlag> LOCAL = Set.of(AccessFlag.LOCAL_WRITE);
    private static final int MOST_READS = 16;
    /** Code of 0.64 ms (InfiniBand specification, 9.7.5.2.8): how soon a peer that found no receive tries again. */
    private static final int RECEIVER_NOT_READY_TIMER = 12;
    private static final int SOFTWARE_PIECE_BYTES = 64 << 10;
    private static final int COPIED_PIECE_BYTES = 1 << 20;
    /** The low bits of a work request's identifier, which are the client's; the highest marks receives. */
    private static final long CLIENT_MASK = 0xFF_FFFF;
    /** Marks the identifiers of receives. */
    static final long RECEIVE_BIT = 0x80_0000;

    static {
        // Loads the exception that ends a connection while there is stack, heap and a descriptor for that.
        new EndpointException(EndpointException.Reason.PEER_GONE, "loaded");
    }

    final Settings settings;
    private final VerbsConnection connection;
    /** The leases of this end, and those of the peer; set by allocate, as all fields from here to the receives. */
    Lender lender;
    Borrower borrower;
    private int maxMessageBytes;
    /** Most bytes of a request that touches the peer's memory. */
    int accessPieceBytes;
    /** The domain whose memory this connection can use. */
    Domain domain;
    private MemoryRegion slots;
    /** Null where the application posts its own receives. */
    private MemoryRegion buffers;
    private CompletionInbox inbox;
    /** The waiting places of threads that receive, and of threads that send, read and write. */
    SharedWaiter readers;
    SharedWaiter writers;
    SendSide sends;
    private Receives receives;
    /** The peer's greeting; set by start. */
    volatile Greeting peer;
    private boolean peerLeaves;
    /** The peer's process is ending: the end of the connection then counts as the peer's close. */
    private boolean peerEnds;
    /** The peer waits for this end's counts. */
    private boolean owesAnswer;
    private boolean discarded;
    /** Why the connection is over; null while it is not. */
    EndpointException failure;
    /** A request has failed. That counts only once what arrived before is applied: the peer may have closed its end. */
    private EndpointException suspicion;
    /** All parts of this connection were told of the failure. */
    private boolean told;
    /** The telling has begun and not ended: if this stays true, an Error has cut it short. Read by any thread. */
    private volatile boolean halfFailed;
    /** The connection has failed before this end was closed. */
    private boolean failed;

    EndpointProtocol(Settings settings, VerbsConnection connection) {
        this.settings = settings;
        this.connection = connection;
    }

    /** Most bytes of a request: a device that moves them inside the post must not take too long. */
    private static int pieceBytes(Device device) {
        if (device.supports(Capability.SOFTWARE_TRANSFER)) {
            return SOFTWARE_PIECE_BYTES;
        }
        return device.supports(Capability.COPIES_AT_POST) ? COPIED_PIECE_BYTES : Integer.MAX_VALUE;
    }

    @Override
    public void allocate(ConnectionRole side) throws IOException {
        settings.check(connection);
        Device device = connection.device();
        lender = new Lender(this, settings, side == ConnectionRole.ACTIVE); // else it is open once this is accepted
        borrower = new Borrower(this);
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
        readers = new SharedWaiter(inbox, Role.READER);
        writers = new SharedWaiter(inbox, Role.WRITER);
        QueuePair queuePair = connection.createQueuePair(domain.verbs, new QueuePairConfig(inbox.shard().queue(),
                inbox.shard().queue(), settings.sends, settings.maxReceives(), settings.elements, 1,
                settings.inlineBytes, false));
        long base = inbox.workRequestIdBase();
        receives = settings.raw ? new RawReceives(queuePair, base | RECEIVE_BIT)
                : new ReceiveSide(this, queuePair, buffers, own, base | RECEIVE_BIT);
        sends = new SendSide(this, queuePair, slots, base);
        if (!settings.raw) {
            messageSide().postAll();
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

    /**
     * The pause of a peer that finds no receive, by its code. Where the application posts the receives, the peer must
     * not ask without pause.
     */
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
        sends.start(greeting);
    }

    @Override
    public boolean beforeExit() {
        return sends != null && sends.isOwing(); // null if it could not be made
    }

    /**
     * Tells the peer what is due. Where completions prove nothing, a peer that did not get the last word goes only when
     * it sees this end go: so this end goes.
     */
    @Override
    public void settle() {
        tellAgain();
        sends.pump();
        // Not before disconnect: news may come between the beginning of a close and that.
        if (discarded && !connection.completionIsDelivery() && isDrained() && !sends.hasSaidLast()) {
            connection.end();
        }
    }

    /** Work that needs the protocol lock. */
    @FunctionalInterface
    interface Work<T, E extends Exception> {
        T apply(EndpointProtocol link) throws E;
    }

    /** Does work with the protocol lock, after everything that has arrived was taken in. Any thread, without it. */
    <T, E extends Exception> T compute(Work<T, E> work) throws E {
        inbox.enter();
        try {
            tellAgain();
            T result = work.apply(this);
            settle();
            connection.noteSends(outstandingSends());
            return result;
        } catch (Error e) {
            throw connection.spoiled(e);
        } finally {
            inbox.exit();
        }
    }

    /** Waits for the next thing in a mailbox; {@code what} names the thing if it has not come in time. */
    <T> T take(Mailbox<T> box, long deadlineNanos, String what) throws IOException {
        Pending<T> next = compute(unused -> box.take());
        WaitResult how = WaitResult.READY;
        try {
            how = next.hasEnded() ? WaitResult.READY : readers.await(next, deadlineNanos);
        } finally {
            if (!next.hasEnded()) { // also after an Error: left there, it would swallow the next thing
                connection.locked(() -> box.withdraw(next));
            }
        }
        return next.outcome(how, () -> "no " + what + " has come in time");
    }

    /** Takes the next thing in a mailbox without waiting, null for none. */
    <T> T poll(Mailbox<T> box) {
        T one = compute(unused -> box.poll());
        if (one == null) {
            readers.poll(new Pending<>(readers, "poll"));
            one = compute(unused -> box.poll());
        }
        return one;
    }

    /** Whether it has ended, or failed. */
    boolean isOver() {
        return compute(unused -> failure != null);
    }

    /** The application has this end: from now on the peer may ask for memory. */
    void accepted() {
        connection.locked(lender::open);
    }

    @Override
    public VerbsConnection connection() {
        return connection;
    }

    Device device() {
        return connection.device();
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
        fail(ended());
        sends.abandonPosted(); // all completions were applied before
    }

    @Override
    public void fail(boolean reset, String reason) {
        fail(new EndpointException(reset ? EndpointException.Reason.PEER_GONE
                : EndpointException.Reason.DEVICE, reason));
        sends.abandonPosted(); // likewise
    }

    @Override
    public int outstandingSends() {
        return sends.isBusy() ? 1 : 0;
    }

    @Override
    public void giveUp(long seconds) {
        fail(new EndpointException(EndpointException.Reason.PEER_GONE, "the peer's device has not "
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
        sends.probe();
    }

    @Override
    public boolean tick(long now) {
        if (lender.isLending()) {
            connection.later(lender::expire);
        }
        if (halfFailed) {
            connection.later(() -> connection.locked(() -> { }));
        }
        return true;
    }

    @Override
    public void disconnect() {
        sends.sayLast(new ControlMessage(Header.of(Header.Kind.BYE)));
        closeHere();
    }

    @Override
    public boolean isSettled() {
        return sends.isSettled(settings.raw || connection.completionIsDelivery());
    }

    @Override
    public boolean isDrained() {
        return connection.isPeerGone() || !sends.isBusy() && (isPeerLeaving() || !sends.hasLast());
    }

    @Override
    public boolean isPeerLeaving() {
        return peerLeaves;
    }

    @Override
    public Runnable end() {
        if (sends != null) {
            closeHere();
            sends.end();
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
        if (sends != null) {
            inbox.enter();
            try {
                sends.releaseAll();
                receives.releaseAll();
            } finally {
                inbox.exit();
            }
        }
    }

    @Override
    public long registeredBytes() {
        return slots.lengthBytes() + (buffers == null ? 0 : buffers.lengthBytes()) + domain.bytes();
    }

    // The traffic while it is open.

    /** The receive queue, which has buffers for messages. */
    ReceiveSide messageSide() {
        return (ReceiveSide) receives;
    }

    /** The receive queue, which the application fills. */
    RawReceives rawReceives() {
        return (RawReceives) receives;
    }

    /** A header with the present counts. */
    Header stamp(Header header) {
        owesAnswer = false;
        return receives.stamp(header);
    }

    /** Whether the peer should be told soon that data was taken. */
    boolean owesCredit() {
        return owesAnswer || receives.owesCredit();
    }

    /** Whether the peer must be told at once that control messages were taken. */
    boolean owesControlCredit() {
        return owesAnswer || receives.owesControlCredit();
    }

    /** Whether it failed before this end was closed, and not because the peer leaves. */
    @Override
    public boolean hasFailed() {
        return failed && !peerLeaves;
    }

    @Override
    public void apply(Completion completion) {
        if (completion.token() != null) {
            connection.onToken(completion.token());
            return;
        }
        try {
            applyCompletion(completion);
        } catch (Violation e) {
            fail(new EndpointException(EndpointException.Reason.PROTOCOL,
                    "the peer has broken the protocol of endpoints: " + e.getMessage()));
        }
        sends.pump();
        connection.noteCompletion(outstandingSends());
    }

    private void applyCompletion(Completion completion) throws Violation {
        long id = completion.workRequestId() & CLIENT_MASK;
        int index = (int) (id & ~RECEIVE_BIT);
        boolean receive = (id & RECEIVE_BIT) != 0;
        WorkCompletionStatus status = WorkCompletionStatus.of(completion.status());
        boolean well = status == WorkCompletionStatus.SUCCESS;
        if (!well && failure == null && suspicion == null) {
            EndpointException broken =
                    broken(receive ? "a receive" : sends.describe(index), status, completion.status());
            if (receives instanceof RawReceives) {
                fail(broken); // its peer has no last word
            } else {
                suspicion = broken;
                connection.later(this::failUnlessLeft);
            }
        }
        if (!receive) {
            sends.completed(index, well);
        } else if (well && failure == null) {
            receives.completed(index, completion);
        } else {
            receives.flushed(index);
            onLate(well ? receives.late(index, completion) : null);
        }
    }

    /** Set-up pool: a request has failed; all that arrived before is in the completion queue by now. */
    private void failUnlessLeft() {
        connection.drained(() -> {
            if (failure == null) {
                fail(peerLeaves || peerEnds ? ended() : suspicion);
            }
            failed = true;
        });
    }

    /** Why nothing can be posted any more, null while it can. */
    EndpointException obstacle() {
        return failure != null ? failure : suspicion;
    }

    /** After the end only this of a message matters: the peer's counts, for our last word, and whether it leaves. */
    private void onLate(Header header) throws Violation {
        if (header != null) {
            sends.acknowledge(header);
            peerLeaves |= header.kind() == Header.Kind.BYE;
        }
    }

    private EndpointException broken(String what, WorkCompletionStatus status, int number) {
        if (status == WorkCompletionStatus.FLUSHED) {
            return ended();
        }
        return new EndpointException(EndpointException.Reason.DEVICE, what + " failed: " + status + " (" + number
                + "); " + status.hint(), status);
    }

    /** The peer is gone. */
    EndpointException ended() {
        return peerLeaves || peerEnds
                ? new EndpointException(EndpointException.Reason.PEER_CLOSED, "the peer has closed its end")
                : new EndpointException(EndpointException.Reason.PEER_GONE,
                        "the peer is gone without a word, or the way to it is lost");
    }

    /** Something that concerns leases, or the end, has come. */
    void onNotice(Header header) throws Violation {
        switch (header.kind()) {
            case LEASE_REQUEST -> lender.onRequest(header);
            case LEASE_GRANT -> borrower.onGrant(header);
            case LEASE_REFUSAL -> borrower.onRefusal(header);
            case LEASE_RELEASE -> lender.onRelease(header.number());
            case SHARE -> borrower.onShare(header);
            case HAND_OVER -> lender.onHandOver(header);
            case HANDED_OVER -> borrower.onHandedOver(header);
            case BYE -> {
                peerLeaves = true;
                fail(ended()); // nothing follows
            }
            case SIGNAL -> messageSide().onSignal(header);
            case MESSAGE_READ -> sends.onRead();
            case CREDIT -> { // an ending process may go on for a moment, and must get what it waits for
                peerEnds |= (header.flags() & Header.LEAVING) != 0;
                owesAnswer |= (header.flags() & Header.LEAVING) != 0;
            }
            case MESSAGE -> {}
        }
    }

    /** Tells the peer that this process ends, if anything may be sent. */
    @Override
    public void leave() {
        if (failure == null) {
            sends.leave();
        }
    }

    /** This connection is over, by its own fault or another's; the first reason counts. */
    void fail(EndpointException reason) {
        if (failure == null || halfFailed) {
            failure = failure == null ? reason : failure; // first: an Error may cut the rest short
            halfFailed = true;
            close(reason);
            failed = true;
            connection.end();
            halfFailed = false;
        }
    }

    /** Tells all of the failure again, if an {@code Error} has cut that short. */
    void tellAgain() {
        if (halfFailed) {
            fail(failure);
        }
    }

    /** Fails all that waits, once; what was posted to the device may still arrive. */
    private void close(EndpointException reason) {
        if (!told) {
            failure = failure == null ? reason : failure;
            sends.fail(failure);
            receives.end(failure);
            lender.end();
            borrower.end(failure);
            told = true;
        }
    }

    /** This end is closed: posted requests may still leave, but this end drops what has arrived or still comes. */
    void closeHere() {
        close(new EndpointException(EndpointException.Reason.CLOSED, "the endpoint is closed"));
        discarded = true;
        receives.discard();
    }

    /** Refuses to begin anything on a connection that is over. */
    void ensureAlive() throws EndpointException {
        if (failure != null) {
            throw failure.again();
        }
    }

    /** Refuses to look at what has arrived once its memory may be another connection's. */
    void ensureNotDiscarded() throws EndpointException {
        if (discarded) {
            throw failure.again();
        }
    }

    @Override
    public boolean ready(Role role) {
        return (role == Role.READER ? readers : writers).isReady();
    }

    /** Any thread: ends the connection; waiting threads are told at once, posted requests get a moment. Idempotent. */
    void close() {
        connection.close(settings.lingerNanos);
    }

    @Override
    public String toString() {
        return connection.toString();
    }
}
