package org.rdmasockets.endpoint;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.AccessFlag;

/**
 * Lends memory to the peer: what the peer asks for, or what the application shares. Guarded by the protocol lock,
 * unless a method says otherwise; memory is made, copied and freed on the set-up pool.
 */
final class Lender {
    /** Why the peer does not get what it wants, as a header says it. */
    static final int TOO_MUCH = 1;
    /** Likewise. */
    static final int TOO_MANY_RIGHTS = 2;
    /** Likewise. */
    static final int NO_MEMORY = 3;
    /** Likewise: the lease had ended before its memory was handed over. */
    static final int ENDED = 4;
    private static final Log LOG = new Log(Lender.class);
    /** Questions of the peer that are not answered yet; honest peers have fewer. */
    private static final int MOST_SERVED = 64;
    /** How much longer the owner keeps a lease than its holder: the grant takes a while on its way. */
    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** Most leases that a peer may have asked for at once: the smallest takes a page and a key of the device. */
    private static final int MOST_REQUESTED = 256;

    private final EndpointProtocol link;
    private final Settings settings;
    /** Leases that the peer holds, by number. */
    private final Map<Long, Lent> lent = new HashMap<>();
    private long nextNumber;
    /** How much the peer has asked for, and not released or left to the application. */
    private long requestedBytes;
    /** How many leases these are. */
    private int requested;
    private int served;
    /** The peer's requests before this end was accepted, which gives nothing until then; null from then on. */
    private List<Header> early;
    /**
     * Blocks whose lease has ended, but whose key lives because this end still works on them; each with the time until
     * which it may.
     */
    private final Map<Block, Long> stuck = new HashMap<>(0);
    /** Whether {@link #expire} may have something to do; read by any thread. */
    private volatile boolean lending;
    private boolean over;

    /**
     * Memory that the peer has, or has handed over, until a time; with a part of the budget if it has asked for it.
     */
    record Lent(LocalRegion region, long endNanos, Budget.Part part) {
        private boolean requested() {
            return part != null;
        }
    }

    /** Nothing is lent; the peer gets what it asks for at once if {@code open}, else once this is opened. */
    Lender(EndpointProtocol link, Settings settings, boolean open) {
        this.link = link;
        this.settings = settings;
        early = open ? null : new ArrayList<>(0);
    }

    /** Answers the peer, which may not ask more questions than it takes answers. */
    private void answer(Header header, long endNanos) {
        link.sends.tell(new ControlMessage(header, endNanos, failure -> served--));
    }

    private void serve() throws Violation {
        served++;
        if (served > MOST_SERVED) {
            throw new Violation("more than " + MOST_SERVED + " questions without taking an answer");
        }
    }

    void onRequest(Header header) throws Violation {
        serve();
        long length = header.lengthBytes();
        if (length < 1 || header.nanos() < 0) {
            throw new Violation("it asks for " + length + " bytes, for " + header.nanos() + " ns");
        }
        if (early == null) {
            lend(header);
        } else {
            early.add(header);
        }
    }

    /** This end is accepted from now on, so that the peer gets the memory that it has asked for. */
    void open() {
        List<Header> asked = early;
        early = null;
        if (asked != null && !over) {
            asked.forEach(this::lend);
        }
    }

    private void lend(Header header) {
        long length = header.lengthBytes();
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
            Budget.Part part = Budget.LEASED.take(length);
            if (part == null) {
                LOG.debug("{} no memory for the peer: the lease budget of all peers has too little left: {}", link,
                        Budget.LEASED);
                refuse(header, TOO_MUCH, Math.min(Budget.LEASED.left(), length - 1));
                return;
            }
            count(1, length);
            link.connection().later(() -> allocate(header, rights, part));
        }
    }

    /** Counts one more lease that the peer has asked for, or with -1 one less. */
    private void count(int leases, long lengthBytes) {
        requested += leases;
        requestedBytes += leases * lengthBytes;
    }

    private void refuse(Header request, int reason, long bytes) {
        answer(new Header(Header.Kind.LEASE_REFUSAL, 0, 0, 0, reason, 0, request.answers(), 0, bytes, 0), 0);
    }

    /** Set-up pool. */
    private void allocate(Header request, Set<AccessFlag> rights, Budget.Part part) {
        LocalRegion region;
        try {
            region = link.domain.allocateNow(request.lengthBytes(), Rights.complete(rights), part);
        } catch (IOException | RuntimeException | Error e) {
            LOG.debug("{} no memory for the peer: {}", link, e.getMessage());
            link.connection().locked(() -> {
                count(-1, request.lengthBytes());
                refuse(request, NO_MEMORY, 0);
            });
            return;
        }
        long endNanos = System.nanoTime() + Math.min(request.nanos(), settings.longestLeaseNanos);
        boolean granted = false;
        try {
            granted = link.compute(unused -> {
                if (!over) {
                    answer(grant(Header.Kind.LEASE_GRANT, region, request.answers(), endNanos, part), endNanos);
                }
                return !over;
            });
        } finally {
            if (!granted) {
                Domain.end(region.block);
            }
        }
    }

    /** Takes a lease into the table and says what the peer must know of it. */
    private Header grant(Header.Kind kind, LocalRegion region, long answers, long endNanos, Budget.Part part) {
        RemoteRegion remote = region.remote();
        long number = nextNumber++;
        lent.put(number, new Lent(region, endNanos + GRACE_NANOS, part));
        lending = true;
        return new Header(kind, Rights.encode(region.access()), 0, 0, remote.remoteKey(), number,
                answers, remote.address(), remote.length(), 0);
    }

    ControlMessage share(LocalRegion region, long endNanos, Pending<Void> pending) {
        return new ControlMessage(grant(Header.Kind.SHARE, region, 0, endNanos, null), endNanos, pending);
    }

    /** The peer does not need a lease any more; it may have ended meanwhile. */
    void onRelease(long number) {
        takeBack(lent.remove(number));
    }

    /** Takes back a lease that has ended; null if it had ended before. */
    private void takeBack(Lent one) {
        if (one != null) {
            notCounted(one);
            link.connection().later(() -> end(one.region));
        }
        lending = !lent.isEmpty() || !stuck.isEmpty();
    }

    private void notCounted(Lent one) {
        if (one.requested()) {
            count(-1, one.region.length());
        }
    }

    /** Set-up pool: frees memory and its key, now or when this end has finished its own work on it. */
    private void end(LocalRegion region) {
        Block block = region.block;
        Domain.end(block);
        if (!block.hasEnded()) {
            link.connection().locked(() -> {
                if (!over) {
                    stuck.put(block, System.nanoTime() + settings.answerNanos);
                    lending = true;
                }
            });
        }
    }

    /** The peer hands memory over: the application's own that it shared, or else a copy that no peer reaches. */
    void onHandOver(Header header) throws Violation {
        serve();
        Lent back = lent.remove(header.number());
        boolean alive = back != null && back.endNanos - System.nanoTime() > 0;
        if (alive && back.requested()) {
            link.connection().later(() -> moveOut(header, back));
        } else if (alive && back.region.block.takeBack()) {
            give(header, back);
        } else {
            takeBack(back);
            keep(header, ENDED);
        }
    }

    /** Set-up pool. */
    private void moveOut(Header header, Lent back) {
        Lent moved = null;
        try {
            moved = copy(back);
        } catch (IOException | RuntimeException | Error e) {
            LOG.debug("{} no memory for what the peer hands over: {}", link, e.getMessage());
        }
        Lent copied = moved;
        try {
            link.connection().locked(() -> {
                if (copied == null) {
                    notCounted(back);
                    keep(header, NO_MEMORY);
                } else if (over) {
                    discard(copied);
                } else {
                    give(header, copied);
                }
            });
        } finally {
            end(back.region);
        }
    }

    /** The copy has a part of the budget of its own, until the application has it, or it is freed. */
    private Lent copy(Lent back) throws IOException {
        Budget.Part part = Budget.LEASED.take(back.region.length());
        if (part == null) {
            throw new IOException("the lease budget of all peers has too little left: " + Budget.LEASED);
        }
        return new Lent(link.domain.copyOf(back.region, part), 0, part);
    }

    private void give(Header header, Lent back) {
        link.messageSide().handedOver.add(back);
        answerHandOver(header, 0);
    }

    private void keep(Header header, int why) {
        link.messageSide().taken();
        answerHandOver(header, why);
    }

    private void answerHandOver(Header header, int why) {
        answer(new Header(Header.Kind.HANDED_OVER, 0, 0, 0, why, 0, header.answers(), 0, 0, 0), 0);
    }

    /** The application has taken what was handed over: it is not the peer's any more. */
    void taken(Lent back) {
        link.messageSide().taken();
        notCounted(back);
        if (back.requested()) {
            back.part.giveBack();
        }
    }

    /** The application will not take what was handed over to it. */
    void discard(Lent back) {
        link.connection().later(() -> Domain.end(back.region.block));
    }

    /** Any thread: whether there may be leases that end. */
    boolean isLending() {
        return lending;
    }

    /** Set-up pool: takes back what has ended. A key still in use here dies with the connection. */
    void expire() {
        link.connection().locked(() -> {
            long now = System.nanoTime();
            for (Map.Entry<Long, Lent> one : List.copyOf(lent.entrySet())) {
                if (one.getValue().endNanos - now <= 0) {
                    onRelease(one.getKey());
                }
            }
            stuck.keySet().removeIf(Block::hasEnded);
            if (stuck.values().stream().anyMatch(end -> end - now <= 0)) {
                link.fail(new EndpointException(EndpointException.Reason.LEASE, "a lease of the peer has ended, "
                        + "but this end still works on its memory, so that only the end of the connection keeps the "
                        + "peer out"));
            }
            lending = !lent.isEmpty() || !stuck.isEmpty();
        });
    }

    /** The connection is over. */
    void end() {
        over = true;
        List<Lent> all = List.copyOf(lent.values());
        lent.clear();
        stuck.clear();
        lending = false;
        link.connection().later(() -> all.forEach(one -> Domain.end(one.region.block)));
    }
}
