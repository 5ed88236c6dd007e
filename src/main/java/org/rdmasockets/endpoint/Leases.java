package org.rdmasockets.endpoint;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.verbs.AccessFlag;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the two ends of a connection lend each other. Protected by the protocol lock, except where a method says that it
 * runs elsewhere; memory is made and freed on the set-up pool.
 */
final class Leases {
    private static final Logger LOG = LoggerFactory.getLogger(Leases.class);
    /** Questions of the peer that are not answered yet; honest peers have fewer. */
    private static final int MOST_SERVED = 64;
    /** How much longer than its holder the owner keeps a lease, which was on its way for a while. */
    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** Why a request is refused. */
    private static final int TOO_MUCH = 1;
    private static final int TOO_MANY_RIGHTS = 2;
    private static final int NO_MEMORY = 3;
    /** So many leases may a peer ask for at once: the smallest takes a page and a key of the device. */
    private static final int MOST_REQUESTED = 256;

    private final Link link;
    private final Settings settings;
    /** What the peer may use, by number. */
    private final Map<Long, Granted> granted = new HashMap<>();
    private long nextNumber;
    /** How much of that the peer has asked for. */
    private long requestedBytes;
    /** How many leases that are. */
    private int requested;
    private int served;
    /** Whether anything is granted; read by any thread. */
    private volatile boolean granting;
    /** Questions to the peer, by number. */
    private final Map<Long, Question> questions = new HashMap<>();
    private final Map<Long, Pending<Void>> handing = new HashMap<>();
    /** Questions that nobody waits for any more. */
    private final Set<Long> unwanted = new HashSet<>();
    private long nextQuestion;
    private EndpointException end;

    private record Granted(LocalRegion region, long endNanos, boolean requested) {
    }

    private record Question(Pending<RemoteLease> pending, long endNanos) {
    }

    /**
     * Nothing is lent.
     *
     * @param link the connection
     * @param settings what a peer may have
     */
    Leases(Link link, Settings settings) {
        this.link = link;
        this.settings = settings;
    }

    private Traffic traffic() {
        return link.traffic();
    }

    /** Something that concerns leases, or the end, has come. */
    void onNotice(Header header) throws Violation {
        switch (header.kind()) {
            case LEASE_REQUEST -> onRequest(header);
            case LEASE_GRANT -> onGrant(header);
            case LEASE_REFUSAL -> onRefusal(header);
            case LEASE_RELEASE -> onRelease(header.number());
            case SHARE -> onShare(header);
            case HAND_OVER -> onHandOver(header);
            case HANDED_OVER -> onHandedOver(header);
            case BYE -> traffic().onBye();
            case SIGNAL -> traffic().messageSide().onSignal(header);
            case CREDIT, MESSAGE -> {
            }
        }
    }

    /** An answer to a question of the peer, which may not ask for more than it takes in. */
    private void answer(Header header, long endNanos) {
        traffic().sends().tell(new Notice(header, endNanos, failure -> served--));
    }

    private void serve() throws Violation {
        served++;
        if (served > MOST_SERVED) {
            throw new Violation("more than " + MOST_SERVED + " questions without taking an answer");
        }
    }

    private void onRequest(Header header) throws Violation {
        serve();
        long length = header.lengthBytes();
        if (length < 1 || header.nanos() < 0) {
            throw new Violation("it asks for " + length + " bytes, for " + header.nanos() + " ns");
        }
        Set<AccessFlag> given = settings.remoteRights(link.device());
        Set<AccessFlag> wanted = Rights.decode(header.flags());
        Set<AccessFlag> rights = wanted.isEmpty() ? given : wanted;
        if (length > settings.remoteMemoryBytes - requestedBytes) {
            refuse(header, TOO_MUCH, settings.remoteMemoryBytes - requestedBytes);
        } else if (rights.isEmpty() || !given.containsAll(rights)) {
            refuse(header, TOO_MANY_RIGHTS, 0);
        } else if (requested == MOST_REQUESTED) {
            refuse(header, NO_MEMORY, 0);
        } else {
            count(1, length);
            link.setUp(() -> allocate(header, rights));
        }
    }

    /** One lease that the peer has asked for more, or one less with -1. */
    private void count(int leases, long lengthBytes) {
        requested += leases;
        requestedBytes += leases * lengthBytes;
    }

    private void refuse(Header request, int reason, long bytes) {
        answer(new Header(Header.Kind.LEASE_REFUSAL, 0, 0, 0, reason, 0, request.answers(), 0, bytes, 0), 0);
    }

    /** Set-up pool. */
    private void allocate(Header request, Set<AccessFlag> rights) {
        LocalRegion region;
        try {
            region = link.domain().allocateNow(request.lengthBytes(), Rights.complete(rights));
        } catch (IOException | IllegalArgumentException e) {
            LOG.debug("{} no memory for the peer: {}", link, e.getMessage());
            link.locked(() -> {
                count(-1, request.lengthBytes());
                refuse(request, NO_MEMORY, 0);
            });
            return;
        }
        long endNanos = System.nanoTime() + Math.min(request.nanos(), settings.longestLeaseNanos);
        link.locked(() -> {
            if (end == null) {
                answer(grant(Header.Kind.LEASE_GRANT, region, request.answers(), endNanos), endNanos);
            } else {
                link.setUp(() -> Domain.end(region.block()));
            }
        });
    }

    /** Takes a lease into the table and says what the peer must know of it. */
    private Header grant(Header.Kind kind, LocalRegion region, long answers, long endNanos) {
        long number = nextNumber++;
        granted.put(number, new Granted(region, endNanos + GRACE_NANOS, kind == Header.Kind.LEASE_GRANT));
        granting = true;
        RemoteRegion remote = region.remote();
        return new Header(kind, Rights.encode(region.access()), 0, 0, remote.remoteKey(), number,
                answers, remote.address(), remote.length(), 0);
    }

    /** The peer does not need a lease any more; it may have ended meanwhile. */
    private void onRelease(long number) {
        Granted released = forget(number);
        if (released != null) {
            link.setUp(() -> Domain.end(released.region.block()));
        }
    }

    private Granted forget(long number) {
        Granted one = granted.remove(number);
        if (one != null && one.requested) {
            count(-1, one.region.length());
        }
        granting = !granted.isEmpty();
        return one;
    }

    /** Lends memory to the peer. */
    Notice share(LocalRegion region, long endNanos, Pending<Void> pending) {
        return new Notice(grant(Header.Kind.SHARE, region, 0, endNanos), endNanos, pending);
    }

    private void onHandOver(Header header) throws Violation {
        serve();
        Granted back = forget(header.number());
        boolean alive = back != null && back.endNanos - System.nanoTime() > 0 && back.region.block().takeBack();
        if (alive) {
            traffic().messageSide().handedOver().add(back.region);
        } else {
            traffic().messageSide().taken();
            if (back != null) {
                link.setUp(() -> Domain.end(back.region.block()));
            }
        }
        answer(new Header(Header.Kind.HANDED_OVER, 0, 0, 0, alive ? 0 : 1, 0, header.answers(), 0, 0, 0), 0);
    }

    /** The application does not take what was handed over to it. */
    void discard(LocalRegion region) {
        link.setUp(() -> Domain.end(region.block()));
    }

    /** Any thread: whether there may be leases that end. */
    boolean isGranting() {
        return granting;
    }

    /** Set-up pool: takes back what has ended. */
    void expire() {
        List<Granted> ended = new ArrayList<>();
        link.locked(() -> {
            long now = System.nanoTime();
            for (Long number : List.copyOf(granted.keySet())) {
                if (granted.get(number).endNanos - now <= 0) {
                    ended.add(forget(number));
                }
            }
        });
        ended.forEach(one -> Domain.end(one.region.block()));
    }

    /** Asks the peer for memory. */
    Pending<RemoteLease> ask(long lengthBytes, long nanos, Set<AccessFlag> rights) {
        Pending<RemoteLease> pending = new Pending<>(traffic().writers(), "requestRemote");
        long number = nextQuestion++;
        questions.put(number, new Question(pending, System.nanoTime() + nanos));
        Header header = new Header(Header.Kind.LEASE_REQUEST, Rights.encode(rights), 0, 0, 0, 0, number, 0,
                lengthBytes, nanos);
        traffic().sends().ask(question(header, pending));
        return pending;
    }

    /** What the peer will answer, which ends the pending, unless it cannot be sent. */
    private static Notice question(Header header, Pending<?> pending) {
        return new Notice(header, 0, failure -> {
            if (failure != null) {
                pending.fail(failure);
            }
        });
    }

    /** Nobody waits for the answer any more; what comes yet goes back. */
    void withdraw(Pending<RemoteLease> pending) {
        Iterator<Map.Entry<Long, Question>> all = questions.entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry<Long, Question> one = all.next();
            if (one.getValue().pending == pending) {
                unwanted.add(one.getKey());
                all.remove();
            }
        }
    }

    private void onGrant(Header header) throws Violation {
        Question question = answered(header.answers());
        checkLoan(header);
        if (question == null) {
            release(header.number());
            return;
        }
        // Counted from when this end asked, so that it ends here before it ends there.
        long left = Math.min(header.nanos(), Math.max(0, question.endNanos - System.nanoTime()));
        question.pending.complete(new RemoteLease(link, header, System.nanoTime() + left));
    }

    private void onRefusal(Header header) throws Violation {
        Question question = answered(header.answers());
        if (question != null) {
            question.pending.fail(new EndpointException(EndpointException.Reason.REFUSED, "the peer gives no memory: "
                    + switch (header.word()) {
                        case TOO_MUCH -> "at most " + header.lengthBytes() + " bytes are left";
                        case TOO_MANY_RIGHTS -> "it does not give the rights that were asked for";
                        default -> "it has none";
                    }));
        }
    }

    /** A question that was asked, or null if nobody waits. */
    private Question answered(long number) throws Violation {
        Question question = questions.remove(number);
        if (question == null && !unwanted.remove(number)) {
            throw new Violation("it answers a question that was not asked");
        }
        traffic().sends().answered();
        return question;
    }

    private static void checkLoan(Header header) throws Violation {
        if (header.lengthBytes() < 1 || header.nanos() < 0) {
            throw new Violation("it lends " + header.lengthBytes() + " bytes, for " + header.nanos() + " ns");
        }
    }

    private void onShare(Header header) throws Violation {
        checkLoan(header);
        long left = Math.min(header.nanos(), TimeUnit.DAYS.toNanos(365));
        traffic().messageSide().shared().add(new RemoteLease(link, header, System.nanoTime() + left));
    }

    /** Any thread: a lease of the peer is not needed any more. */
    void release(RemoteLease lease) {
        link.locked(() -> release(lease.number()));
    }

    private void release(long number) {
        if (end == null) {
            traffic().sends().tell(new Notice(new Header(Header.Kind.LEASE_RELEASE, 0, 0, 0, 0, number, 0, 0, 0, 0)));
        }
    }

    /** Any thread: gives a lease back for the peer's application. */
    Pending<Void> handOver(RemoteLease lease) {
        Pending<Void> pending = new Pending<>(traffic().writers(), "handOver");
        link.locked(() -> {
            long number = nextQuestion++;
            handing.put(number, pending);
            Header header = new Header(Header.Kind.HAND_OVER, 0, 0, 0, 0, lease.number(), number, 0, 0, 0);
            traffic().sends().send(question(header, pending));
        });
        return pending;
    }

    private void onHandedOver(Header header) throws Violation {
        Pending<Void> pending = handing.remove(header.answers());
        if (pending == null) {
            throw new Violation("it answers what was not handed over");
        }
        if (header.word() == 0) {
            pending.complete(null);
        } else {
            pending.fail(new EndpointException(EndpointException.Reason.LEASE, "the lease had ended at the peer"));
        }
    }

    /** The connection is over: the peer answers nothing any more, and what it was lent is taken back. */
    void end(EndpointException reason) {
        end = reason;
        questions.values().forEach(question -> question.pending.fail(reason));
        questions.clear();
        handing.values().forEach(pending -> pending.fail(reason));
        handing.clear();
        List<Granted> all = List.copyOf(granted.values());
        granted.clear();
        granting = false;
        link.setUp(() -> all.forEach(one -> Domain.end(one.region.block())));
    }
}
