package org.rdmasockets.endpoint;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.OptionalInt;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;

/** What the methods of {@link RdmaEndpoint} do: check what they are given, and begin it. Any thread. */
final class Calls {
    private static final int ATOMIC_BYTES = 8;

    private final Link link;
    /** Those whose callers have given up: the next messages go there, in this order; guarded by itself. */
    private final ArrayDeque<LeftReceive> leftReceives = new ArrayDeque<>(0);

    private record LeftReceive(LocalRegion region, Pending<RawMessage> pending) {}

    /** The calls of a connection. */
    Calls(Link link) {
        this.link = link;
    }

    /** Begins to send a message; null for one without bytes. */
    Pending<Void> message(LocalRegion message, OptionalInt immediate) throws EndpointException {
        ensureMessages();
        long length = message == null ? 0 : owned(message).length();
        if (length > link.peer().maxMessageBytes()) {
            throw new EndpointException(EndpointException.Reason.LIMIT, "a message of " + length
                    + " bytes: the peer takes at most " + link.peer().maxMessageBytes());
        }
        return begin(new Transfer.Task(Transfer.Kind.MESSAGE, message, null, immediate), link.messagePieceBytes());
    }

    /** Begins to send into a receive that the peer's application has posted. */
    Pending<Void> rawMessage(LocalRegion message, OptionalInt immediate) throws EndpointException {
        ensureRaw();
        if (immediate.isPresent()) {
            ensureCan(Capability.IMMEDIATE_DATA, "a raw send with immediate data");
        }
        return begin(new Transfer.Task(Transfer.Kind.RAW_MESSAGE, owned(message), null, immediate),
                link.rawPieceBytes(message.length()));
    }

    /** Posts a receive. */
    Pending<RawMessage> rawReceive(LocalRegion region) throws EndpointException {
        ensureRaw();
        owned(region);
        link.rawPieceBytes(region.length());
        Pending<RawMessage> pending = new Pending<>(link.readers(), "receiveRaw");
        return link.compute(unused -> {
            link.rawReceives().post(region, pending);
            return pending;
        });
    }

    /** Posts a receive, unless one is left of a call that gave up, and waits for what comes into it. */
    RawMessage receiveRaw(long size, Runnable afterPost) throws IOException {
        ensureRaw();
        LeftReceive left;
        synchronized (leftReceives) {
            left = leftReceives.poll();
        }
        LeftReceive own = left == null ? postReceive(size) : left;
        boolean over = false;
        try {
            afterPost.run();
            RawMessage message = own.pending.await(Long.MAX_VALUE);
            over = true;
            return message;
        } catch (EndpointException e) {
            over = true;
            own.region.block.close();
            throw e;
        } finally {
            if (!over) {
                synchronized (leftReceives) {
                    leftReceives.add(own);
                }
            }
        }
    }

    private LeftReceive postReceive(long size) throws IOException {
        LocalRegion region = link.domain().allocateForMessage(size);
        try {
            return new LeftReceive(region, rawReceive(region));
        } catch (Throwable e) {
            region.block.close();
            throw e;
        }
    }

    /** Begins to read the peer's memory. */
    Pending<Void> read(LocalRegion into, RemoteRegion from) throws EndpointException {
        from.ensureAllows(AccessFlag.REMOTE_READ, link);
        return access(new Transfer.Task(Transfer.Kind.READ, into, from, OptionalInt.empty()));
    }

    /** Begins to write to the peer's memory. */
    Pending<Void> write(LocalRegion from, RemoteRegion to, OptionalInt immediate) throws EndpointException {
        if (immediate.isPresent()) {
            ensureCan(Capability.IMMEDIATE_DATA, "a write with immediate data");
        }
        to.ensureAllows(AccessFlag.REMOTE_WRITE, link);
        return access(new Transfer.Task(Transfer.Kind.WRITE, from, to, immediate));
    }

    private Pending<Void> access(Transfer.Task task) {
        if (owned(task.local()).length() != task.remote().length()) {
            throw new IllegalArgumentException("a " + task.kind().text() + " needs as many bytes here as there: "
                    + task.local().length() + " and " + task.remote().length() + "; use a slice");
        }
        return begin(task, link.accessPieceBytes());
    }

    private Pending<Void> begin(Transfer.Task task, int pieceBytes) {
        Pending<Void> pending = new Pending<>(link.writers(), task.kind().text());
        link.connection().locked(() -> {
            if (link.failure() != null) {
                pending.fail(link.failure()); // the region may have ended with it, but this is why
            } else if (task.remote() == null) {
                link.sends().send(new Transfer(task, pieceBytes, pending));
            } else {
                link.sends().access(new Transfer(task, pieceBytes, pending));
            }
        });
        return pending;
    }

    /** Begins an atomic operation. */
    Pending<Long> atomic(Atomic.Task task) throws EndpointException {
        RemoteRegion remote = task.remote();
        if (remote.length() != ATOMIC_BYTES || remote.address() % ATOMIC_BYTES != 0) {
            throw new IllegalArgumentException("an atomic operation works on 8 bytes at a multiple of 8, not on "
                    + remote);
        }
        ensureCan(Capability.ATOMICS, "an atomic operation");
        remote.ensureAllows(AccessFlag.REMOTE_ATOMIC, link);
        Pending<Long> pending = new Pending<>(link.writers(), "atomic operation");
        link.connection().locked(() -> link.sends().access(new Atomic(task, pending)));
        return pending;
    }

    /** Asks the peer for memory and waits for its answer. */
    RemoteLease request(long size, Duration time, Set<AccessFlag> rights) throws IOException {
        ensureMessages();
        if (size < 1) {
            throw new IllegalArgumentException("at least one byte can be leased, not " + size);
        }
        Pending<RemoteLease> answer = link.compute(unused -> link.borrower.ask(size, Deadlines.nanos(time), rights));
        try {
            return answer.await(answerDeadline());
        } catch (Throwable e) {
            link.connection().locked(() -> link.borrower.withdraw(answer));
            throw e;
        }
    }

    private long answerDeadline() {
        return Deadlines.after(link.settings.answerNanos);
    }

    /** Begins to lend memory to the peer's application. */
    Pending<Void> share(LocalRegion region, Duration time) throws EndpointException {
        ensureMessages();
        if (!owned(region).isWhole() || !Rights.anyRemote(region.access())) {
            throw new IllegalArgumentException("all of a region that a peer may reach can be shared, not " + region
                    + (region.isWhole() ? "" : ", which is a part"));
        }
        long endNanos = System.nanoTime() + Math.min(Deadlines.nanos(time), link.settings.longestLeaseNanos);
        Pending<Void> pending = new Pending<>(link.writers(), "share");
        return link.compute(unused -> {
            link.ensureAlive();
            region.block.lend();
            link.sends().send(link.lender.share(region, endNanos, pending));
            return pending;
        });
    }

    /** Hands a lease over and waits for the peer's answer. */
    void handOver(RemoteLease lease) throws IOException {
        lease.ensureOf(link);
        lease.handOver(answerDeadline());
    }

    /** Waits for immediate data of a write. */
    int takeImmediate(long deadlineNanos) throws IOException {
        ensureMessages();
        return taken(link.take(link.messageSide().immediates, deadlineNanos, "immediate data"));
    }

    /** Waits for memory that the peer shares. */
    RemoteLease takeShared(long deadlineNanos) throws IOException {
        ensureMessages();
        return taken(link.take(link.messageSide().shared, deadlineNanos, "shared memory"));
    }

    /** Waits for memory that the peer hands over. */
    LocalRegion takeHandedOver(long deadlineNanos) throws IOException {
        ensureMessages();
        Lender.Lent back = link.take(link.messageSide().handedOver, deadlineNanos, "memory");
        link.connection().locked(() -> link.lender.taken(back));
        return back.region();
    }

    /** Begins to tell the peer, a node of the same group, something. */
    Pending<Void> signal(long number, int word) {
        ensureMessages();
        Pending<Void> pending = new Pending<>(link.writers(), "signal");
        Header header = new Header(Header.Kind.SIGNAL, 0, 0, 0, word, number, 0, 0, 0, 0);
        link.connection().locked(() -> link.sends().tell(new Notice(header, 0, pending)));
        return pending;
    }

    /** Waits for what the peer tells as a node of the same group. */
    Header takeSignal(long deadlineNanos) throws IOException {
        ensureMessages();
        return link.take(link.messageSide().signals, deadlineNanos, "signal");
    }

    /** Lets the peer send as much again. */
    private <T> T taken(T one) {
        link.connection().locked(() -> link.messageSide().taken());
        return one;
    }

    /** Waits for the end of an operation, as long as the settings allow. */
    <T> T finish(Pending<T> pending) throws IOException {
        return pending.await(Deadlines.after(link.settings.operationNanos));
    }

    /** Refuses memory of another protection domain, which the device would refuse by breaking the connection. */
    private LocalRegion owned(LocalRegion region) {
        if (region.block.domain != link.domain()) {
            throw new IllegalArgumentException("the region belongs to another endpoint: allocate it here, or connect "
                    + "by another() of that one");
        }
        return region;
    }

    /** Refuses what a raw endpoint has not. */
    void ensureMessages() {
        if (link.settings.raw) {
            throw new UnsupportedOperationException("a raw endpoint has neither messages nor leases: build it without "
                    + "raw(true)");
        }
    }

    /** Refuses what only a raw endpoint has. */
    void ensureRaw() {
        if (!link.settings.raw) {
            throw new UnsupportedOperationException("only a raw endpoint posts its own receives: build it with "
                    + "raw(true)");
        }
    }

    private void ensureCan(Capability capability, String what) {
        if (!link.device().supports(capability)) {
            throw new UnsupportedOperationException("device " + link.device().info().name() + " cannot do " + what
                    + ": it lacks " + capability);
        }
    }
}
