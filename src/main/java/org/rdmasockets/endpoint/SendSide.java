package org.rdmasockets.endpoint;

import java.util.ArrayDeque;
import java.util.List;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.SendRequest;

/**
 * The send queue: operations wait here, in order, until the queue has a slot and the peer has room. There are three
 * rows that do not wait for each other: control, messages, and access to the peer's memory. Protected by the protocol
 * lock.
 *
 * <p>Why credits never run out on both ends: a control message needs one of the peer's control receives, and brings the
 * counts of all that this end has taken in. The last credit is kept to say that half of the peer's control messages
 * were taken in, the last but one to say so of data. An end without credits has just said everything, so its peer has
 * some.
 */
final class SendSide {
    /** Requests for leases that the peer has not answered. */
    private static final int MOST_QUESTIONS = 16;
    /** Control credits that are kept for saying what was taken in. */
    private static final int KEPT = 2;

    private final EndpointProtocol link;
    private final QueuePair queuePair;
    private final long idBase;
    private final SendRequest request = new SendRequest(2);
    private final MemoryRegion memory;
    /** Null for a slot that was never used. */
    private final SendSlot[] slots;
    /** The operation that uses each slot; null for a free one. */
    private final Operation[] users;
    /** Free slots: the first {@link #freeCount} entries. */
    private final int[] free;
    private int freeCount;
    private final Window control = new Window();
    private final Window data = new Window();
    private final ArrayDeque<Operation> controls = new ArrayDeque<>(0);
    private final ArrayDeque<Operation> questions = new ArrayDeque<>(0);
    private final ArrayDeque<Operation> messages = new ArrayDeque<>(0);
    private final ArrayDeque<Operation> accesses = new ArrayDeque<>(0);
    /** Probes, which wait for a slot only. */
    private final ArrayDeque<Operation> probes = new ArrayDeque<>(0);
    /** Posted messages that the peer has not read, in order; after a close they stay locked, for it may be reading. */
    private final ArrayDeque<Rendezvous> unread = new ArrayDeque<>(0);
    private final List<ArrayDeque<Operation>> rows = List.of(controls, questions, messages, accesses, probes);
    /**
     * The control message to post after {@link #fail}, when nothing else is posted; null for none, or once it was
     * posted.
     */
    private Operation last;
    private boolean saidLast;
    /** Questions that the peer has not answered. */
    private int unanswered;
    /** The peer is known, so that something may be sent. */
    private boolean started;
    /** Whether credits count; else the application posts its own receives. */
    private boolean counting;
    private EndpointException failure;

    /** A write of nothing, which only a live endpoint acknowledges. */
    private static final class Probe extends Operation {
        private Probe() {
            super(null, null);
        }

        @Override
        boolean takesReceive() {
            return false;
        }

        @Override
        void fill(SendRequest request, long workRequestId, SendSlot slot) {
            request.write(workRequestId, 0, 0);
        }

        @Override
        public String toString() {
            return "a sign of life";
        }
    }

    /** An empty queue; the base is the connection's part of work request identifiers. */
    SendSide(EndpointProtocol link, QueuePair queuePair, MemoryRegion memory, long idBase) {
        this.link = link;
        this.queuePair = queuePair;
        this.idBase = idBase;
        this.memory = memory;
        int count = queuePair.config().maxSends();
        slots = new SendSlot[count];
        users = new Operation[count];
        free = new int[count];
        for (int i = 0; i < count; i++) {
            free[count - 1 - i] = i;
        }
        freeCount = count;
    }

    void start(Greeting peer) {
        control.open(peer.controlMessages());
        data.open(peer.dataMessages());
        counting = !peer.raw();
        started = true;
        pump();
    }

    /** A control message. */
    void tell(Operation operation) {
        add(controls, operation);
    }

    /** A control message that the peer will answer; {@link #answered} has to follow. */
    void ask(Operation operation) {
        add(questions, operation);
    }

    /** Takes a question out that was not posted yet; false if it was. */
    boolean withdraw(Operation question) {
        return questions.remove(question);
    }

    /** The peer has answered a question. */
    void answered() {
        unanswered--;
    }

    /** A message of the application. */
    void send(Operation operation) {
        add(messages, operation);
    }

    /** An operation on the peer's memory. */
    void access(Operation operation) {
        add(accesses, operation);
    }

    /** Asks the peer's device for a sign of life, unless a question waits already. */
    void probe() {
        if (probes.isEmpty()) {
            add(probes, new Probe());
        }
    }

    /** Tells the peer that this process ends. */
    void leave() {
        if (started && counting) {
            tell(new ControlMessage(new Header(Header.Kind.CREDIT, Header.LEAVING, 0, 0, 0, 0, 0, 0, 0, 0)));
        }
    }

    /** Whether the device has sent all that was posted and, if that proves nothing, the peer has taken it in. */
    boolean isSettled(boolean completionIsDelivery) {
        return !isBusy() && controls.isEmpty() && (completionIsDelivery || control.isTaken());
    }

    /** A control message to go out after {@link #fail}, as soon as it can. */
    void sayLast(Operation operation) {
        if (started && counting && failure == null) {
            last = operation;
        }
    }

    /** Nothing more is said: the queue pair goes. */
    void end() {
        last = null;
    }

    /** Whether the last control message still has to go out. */
    boolean hasLast() {
        return last != null;
    }

    /** Whether it has gone out. */
    boolean hasSaidLast() {
        return saidLast;
    }

    /** The peer has read the oldest message that was named to it. */
    void onRead() throws Violation {
        Rendezvous oldest = unread.poll();
        if (oldest == null) {
            throw new Violation("the peer says that it has read a message, and none was left for it to read");
        }
        oldest.onRead();
    }

    private void add(ArrayDeque<Operation> row, Operation operation) {
        if (failure != null) {
            operation.abandon(failure);
            return;
        }
        try {
            row.add(operation);
        } catch (Throwable e) {
            operation.release();
            throw e;
        }
        pump();
    }

    /** Whether an operation or a credit waits for a slot, so that a thread has to apply the next completion. */
    boolean isOwing() {
        return freeCount == 0 && (!controls.isEmpty() || !questions.isEmpty() || !messages.isEmpty()
                || !accesses.isEmpty() || link.owesCredit());
    }

    /** Whether any request is with the device. */
    boolean isBusy() {
        return freeCount < slots.length;
    }

    /** The peer has taken so many messages in. */
    void acknowledge(Header header) throws Violation {
        control.acknowledge(header.controlTaken());
        data.acknowledge(header.dataTaken());
    }

    void pump() {
        boolean more = started;
        while (more && link.obstacle() == null) {
            more = postNext(probes) | postCredit() | postNext(controls) | postNext(questions) | postNext(messages)
                    | postNext(accesses);
        }
        if (failure != null && last != null && freeCount > 0 && control.room() > 0) {
            Operation operation = last;
            last = null;
            saidLast = post(controls, operation); // no credit has to be kept any more
        }
    }

    private boolean postCredit() {
        boolean urgent = link.owesControlCredit();
        if (freeCount == 0 || !counting || !urgent && !link.owesCredit() || control.room() < (urgent ? 1 : KEPT)) {
            return false;
        }
        post(controls, new ControlMessage(Header.of(Header.Kind.CREDIT)));
        return true;
    }

    private boolean postNext(ArrayDeque<Operation> row) {
        Operation next = row.peek();
        if (next == null || freeCount == 0 || failure != null || !hasRoom(row, next)) {
            return false;
        }
        post(row, next);
        if (!next.hasMore()) {
            row.remove(next);
        }
        return true;
    }

    private boolean hasRoom(ArrayDeque<Operation> row, Operation next) {
        if (row == controls || row == questions) {
            return control.room() > KEPT && (row == controls || unanswered < MOST_QUESTIONS);
        }
        return !counting || !next.takesReceive() || data.room() > 0;
    }

    /** False if the device refuses, which ends the connection. */
    private boolean post(ArrayDeque<Operation> row, Operation operation) {
        int index = free[freeCount - 1];
        Window window = operation.isControl() ? control : data;
        boolean counts = counting && operation.takesReceive();
        if (slots[index] == null) {
            slots[index] = new SendSlot(memory, index, link);
        }
        operation.fill(request, idBase | index, slots[index]);
        if (isInline()) {
            request.inline();
        }
        if (operation instanceof Rendezvous message) {
            unread.add(message);
        }
        freeCount--; // all three first: a post that ends in an Error may have worked, and then completes
        users[index] = operation;
        operation.posted();
        int result = queuePair.postSend(request.signalled());
        if (result != QueuePair.POSTED) {
            freeCount++;
            users[index] = null;
            operation.refused();
            link.fail(EndpointException.ofPost("ibv_post_send", result));
            return false;
        }
        unanswered += row == questions ? 1 : 0;
        if (counts) {
            window.send();
        }
        return true;
    }

    /** Whether the device copies the bytes of the request when it is posted. */
    private boolean isInline() {
        return switch (request.opcode()) {
            case SEND, SEND_WITH_IMMEDIATE, WRITE, WRITE_WITH_IMMEDIATE -> request.elements().count() > 0
                    && request.elements().totalBytes() <= queuePair.maxInlineBytes();
            default -> false;
        };
    }

    /**
     * The request of a slot has completed, {@code well} if it did what it should. A second completion of a request
     * counts for nothing: soft-iWARP may flush a read that has failed already.
     */
    void completed(int index, boolean well) {
        Operation user = users[index];
        if (user == null) {
            return;
        }
        users[index] = null;
        free[freeCount++] = index;
        user.completed(slots[index], well);
        if (!well && link.obstacle() != null) {
            user.abandon(link.obstacle());
        }
    }

    /** The use of a slot, for the texts of exceptions. */
    String describe(int index) {
        return users[index] == null ? "a request" : users[index].toString();
    }

    /**
     * Posts nothing more; posted requests go on to their completion. If the peer has closed its end, the completion
     * also tells how a request ended: the peer may have taken it in, and its last word may be here first.
     */
    void fail(EndpointException reason) {
        failure = reason;
        for (ArrayDeque<Operation> row : rows) {
            for (Operation operation = row.poll(); operation != null; operation = row.poll()) {
                operation.abandon(reason);
            }
        }
        unread.forEach(message -> message.abandon(reason));
        if (reason.reason() == EndpointException.Reason.PEER_CLOSED) {
            releaseUnread(); // it reads no more
        }
        if (reason.reason() != EndpointException.Reason.PEER_CLOSED) {
            abandonPosted();
        }
    }

    /** After {@link #fail}: also fails the operations that the device has. */
    void abandonPosted() {
        for (Operation user : users) {
            if (user != null) {
                user.abandon(failure);
            }
        }
    }

    /** The queue pair is gone: the device is done with everything. */
    void releaseAll() {
        if (failure != null) {
            abandonPosted();
        }
        for (int i = 0; i < users.length; i++) {
            if (users[i] != null) {
                users[i].release();
                users[i] = null;
            }
        }
        releaseUnread();
    }

    private void releaseUnread() {
        unread.forEach(Operation::release);
        unread.clear();
    }
}
