package org.rdmasockets.endpoint;

import org.rdmasockets.completion.Completion;
import org.rdmasockets.completion.CompletionInbox;
import org.rdmasockets.completion.Role;
import org.rdmasockets.transport.VerbsConnection;
import org.rdmasockets.verbs.WorkCompletionStatus;

/**
 * What goes on in one connection: takes in what arrives, knows whether it has failed, and who waits. Everything but the
 * constructors is protected by the inbox's protocol lock; the fields that are set by attach are so before anything
 * arrives.
 */
final class Traffic {
    /** The client's part of an identifier of a work request: so many bits, of which the highest marks receives. */
    private static final long CLIENT_MASK = 0xFF_FFFF;
    /** Marks the identifiers of receives. */
    static final long RECEIVE_BIT = 0x80_0000;

    static {
        // What ends a connection is loaded while there is stack, heap and a descriptor for that.
        new EndpointException(EndpointException.Reason.PEER_GONE, "loaded");
    }

    private final VerbsConnection connection;
    private Seat readers;
    private Seat writers;
    private SendSide sends;
    private Receives receives;
    private Leases leases;
    private boolean peerLeaves;
    /** The peer's process ends: once the connection has, the peer has closed it. */
    private boolean peerEnds;
    /** It waits to hear what has come. */
    private boolean owesAnswer;
    private boolean discarded;
    private EndpointException failure;
    /** A request has failed. What arrived before is taken in before that counts: the peer may have closed its end. */
    private EndpointException suspicion;
    /** All have been told of the failure. */
    private boolean told;
    /** That was cut short by an Error; read by any thread. */
    private volatile boolean halfFailed;
    /** It has failed before this end was closed. */
    private boolean failed;

    /** A connection in the making. */
    Traffic(VerbsConnection connection) {
        this.connection = connection;
    }

    /** Where things arrive. */
    void attach(CompletionInbox inbox) {
        readers = new Seat(inbox, Role.READER);
        writers = new Seat(inbox, Role.WRITER);
    }

    /** Where things are posted. */
    void attach(SendSide sendSide, Receives receiveSide, Leases leasesOfBoth) {
        sends = sendSide;
        receives = receiveSide;
        leases = leasesOfBoth;
    }

    /** Where those wait who receive. */
    Seat readers() {
        return readers;
    }

    /** Where those wait who send, read and write. */
    Seat writers() {
        return writers;
    }

    /** The send queue. */
    SendSide sends() {
        return sends;
    }

    /** The receive queue, which has buffers for messages. */
    ReceiveSide messageSide() {
        return (ReceiveSide) receives;
    }

    /** The receive queue, which the application fills. */
    RawReceives rawReceives() {
        return (RawReceives) receives;
    }

    /** What the ends lend each other. */
    Leases leases() {
        return leases;
    }

    /** A header with the counts of this time. */
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

    /** Why the connection is over; null while it is not. */
    EndpointException failure() {
        return failure;
    }

    /** Whether it failed before this end was closed, and not because the peer leaves. */
    boolean hasFailed() {
        return failed && !peerLeaves;
    }

    /** Takes in a completion. */
    void apply(Completion completion) {
        try {
            applyCompletion(completion);
        } catch (Violation e) {
            fail(new EndpointException(EndpointException.Reason.PROTOCOL,
                    "the peer has broken the protocol of endpoints: " + e.getMessage()));
        }
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
                connection.later(this::confirm);
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

    /** Set-up pool: a request has failed, and what arrived before is in the completion queue at the latest. */
    private void confirm() {
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

    /** After the end, what the peer says matters for the last word that it is told, and for how long this end stays. */
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

    /** The peer says that it leaves; nothing follows. */
    void onBye() {
        peerLeaves = true;
        fail(ended());
    }

    /** Whether it has said so. */
    boolean peerLeaves() {
        return peerLeaves;
    }

    /** The peer's process ends. It may go on for a moment, and this end may have to send it something yet. */
    void onLeaving() {
        peerEnds = true;
        owesAnswer = true;
    }

    /** This process ends: the peer is told, if it may be told anything. */
    void leave() {
        if (failure == null) {
            sends.leave();
        }
    }

    /** This connection is over, by its own fault or another's; the first reason counts. */
    void fail(EndpointException reason) {
        if (failure == null || halfFailed) {
            halfFailed = true;
            close(reason);
            failed = true;
            connection.end();
            halfFailed = false;
        }
    }

    /** Any thread: whether an Error has kept some from hearing of the failure, so that it is told again. */
    boolean isHalfFailed() {
        return halfFailed;
    }

    /** Tells those of the failure who have not heard of it. */
    void tellAgain() {
        if (halfFailed) {
            fail(failure);
        }
    }

    /** This connection is not used any more; what the device has may still arrive. */
    private void close(EndpointException reason) {
        if (!told) {
            failure = failure == null ? reason : failure;
            sends.fail(failure);
            receives.end(failure);
            leases.end(failure);
            told = true;
        }
    }

    /** This end is closed: what the device has may still leave, but nobody takes what has arrived or may yet. */
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

    /** Refuses to look at what has arrived when its memory may be another's by now. */
    void ensureNotDiscarded() throws EndpointException {
        if (discarded) {
            throw failure.again();
        }
    }

    /** The queue pair is gone: the device is done with everything. */
    void releaseAll() {
        sends.releaseAll();
        receives.releaseAll();
    }

    /** Whether who waits for something may stop. */
    boolean ready(Role role) {
        return (role == Role.READER ? readers : writers).isReady();
    }
}
