package org.rdmasockets.endpoint;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.verbs.AccessFlag;

/** Memory that the peer lends, and requests for it. Guarded by the protocol lock, unless a method says any thread. */
final class Borrower {
    private final EndpointProtocol link;
    /** Questions to the peer, by number. */
    private final Map<Long, Question> questions = new HashMap<>();
    private final Map<Long, Pending<Void>> handing = new HashMap<>();
    /** Numbers of posted questions whose callers have given up. */
    private final Set<Long> unwanted = new HashSet<>();
    private long nextQuestion;
    private boolean over;

    private record Question(Pending<RemoteLease> pending, ControlMessage notice, long endNanos) {}

    Borrower(EndpointProtocol link) {
        this.link = link;
    }

    private SendSide sends() {
        return link.sends;
    }

    Pending<RemoteLease> ask(long lengthBytes, long nanos, Set<AccessFlag> rights) {
        Pending<RemoteLease> pending = new Pending<>(link.writers, "requestRemote");
        long number = nextQuestion++;
        ControlMessage notice = question(new Header(Header.Kind.LEASE_REQUEST, Rights.encode(rights), 0, 0, 0, 0,
                number, 0,
                lengthBytes, nanos), pending);
        questions.put(number, new Question(pending, notice, System.nanoTime() + nanos));
        sends().ask(notice);
        return pending;
    }

    /** A question to the peer. Its answer ends {@code pending}, or the failure to send it does. */
    private static ControlMessage question(Header header, Pending<?> pending) {
        return new ControlMessage(header, 0, failure -> {
            if (failure != null) {
                pending.fail(failure);
            }
        });
    }

    /** The caller has given up: a lease that has come meanwhile, or still comes, goes back. */
    void withdraw(Pending<RemoteLease> pending) {
        RemoteLease late = pending.result();
        if (late != null) {
            release(late.number);
        }
        Iterator<Map.Entry<Long, Question>> all = questions.entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry<Long, Question> one = all.next();
            if (one.getValue().pending == pending) {
                if (!sends().withdraw(one.getValue().notice)) {
                    unwanted.add(one.getKey());
                }
                all.remove();
            }
        }
    }

    void onGrant(Header header) throws Violation {
        Question question = answered(header.answers());
        checkLoan(header);
        if (question == null) {
            release(header.number());
            return;
        }
        // Counted from when this end asked: so the lease ends here before it ends there.
        long left = Math.min(header.nanos(), Math.max(0, question.endNanos - System.nanoTime()));
        question.pending.complete(new RemoteLease(link, header, System.nanoTime() + left));
    }

    void onRefusal(Header header) throws Violation {
        Question question = answered(header.answers());
        if (question != null) {
            question.pending.fail(new EndpointException(EndpointException.Reason.REFUSED, "the peer gives no memory: "
                    + switch (header.word()) {
                        case Lender.TOO_MUCH -> "at most " + header.lengthBytes() + " bytes are left";
                        case Lender.TOO_MANY_RIGHTS -> "it does not give the rights that were asked for";
                        default -> "it has none";
                    }));
        }
    }

    /** The question that was asked, or null if its caller has given up. */
    private Question answered(long number) throws Violation {
        Question question = questions.remove(number);
        if (question == null && !unwanted.remove(number)) {
            throw new Violation("it answers a question that was not asked");
        }
        sends().answered();
        return question;
    }

    private static void checkLoan(Header header) throws Violation {
        if (header.lengthBytes() < 1 || header.nanos() < 0) {
            throw new Violation("it lends " + header.lengthBytes() + " bytes, for " + header.nanos() + " ns");
        }
    }

    /** The peer lends something on its own. */
    void onShare(Header header) throws Violation {
        checkLoan(header);
        long left = Math.min(header.nanos(), TimeUnit.DAYS.toNanos(365));
        link.messageSide().shared.add(new RemoteLease(link, header, System.nanoTime() + left));
    }

    /** Any thread: gives back a lease of the peer. */
    void release(RemoteLease lease) {
        link.connection().locked(() -> release(lease.number));
    }

    private void release(long number) {
        if (!over) {
            sends().tell(new ControlMessage(new Header(Header.Kind.LEASE_RELEASE, 0, 0, 0, 0, number, 0, 0, 0, 0)));
        }
    }

    /** Any thread: gives a lease back for the peer's application. */
    Pending<Void> handOver(RemoteLease lease) {
        Pending<Void> pending = new Pending<>(link.writers, "handOver");
        link.connection().locked(() -> {
            long number = nextQuestion++;
            handing.put(number, pending);
            Header header = new Header(Header.Kind.HAND_OVER, 0, 0, 0, 0, lease.number, number, 0, 0, 0);
            sends().send(question(header, pending));
        });
        return pending;
    }

    /** The peer says whether it took what was handed over. */
    void onHandedOver(Header header) throws Violation {
        Pending<Void> pending = handing.remove(header.answers());
        if (pending == null) {
            throw new Violation("it answers what was not handed over");
        }
        switch (header.word()) {
            case 0 -> pending.complete(null);
            case Lender.NO_MEMORY -> pending.fail(new EndpointException(EndpointException.Reason.REFUSED,
                    "the peer has no memory to take it over"));
            default -> pending.fail(new EndpointException(EndpointException.Reason.LEASE,
                    "the lease had ended at the peer"));
        }
    }

    /** The connection is over: the peer answers nothing any more. */
    void end(EndpointException reason) {
        over = true;
        questions.values().forEach(question -> question.pending.fail(reason));
        questions.clear();
        handing.values().forEach(pending -> pending.fail(reason));
        handing.clear();
    }
}
