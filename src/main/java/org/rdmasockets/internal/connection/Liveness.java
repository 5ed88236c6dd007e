package org.rdmasockets.internal.connection;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.lock.VarHandles;
import org.rdmasockets.internal.lock.Rescues;

/**
 * When a connection last gave a sign of life, and what follows from that. Times are by {@code System.nanoTime}, and
 * coarse, taken from the last tick, but for {@link #listen}. Written under the protocol lock (keep-alive by any thread,
 * the end of listening by the poller's), read by any thread.
 */
final class Liveness {
    /** The action that a connection needs at a tick. */
    enum Duty {
        /** Nothing. */
        NOTHING,
        /** A send is unacknowledged for too long, unless its completion has only not been taken in. */
        CHECK,
        /** Nothing was posted or completed for a while: have what was written last confirmed. */
        CONFIRM,
        /** It was idle for so long that keep-alive asks for a sign of life. */
        PROBE
    }

    /**
     * Less than a tick: so the next tick after a write has it confirmed, if nothing else has happened. To ask also
     * takes in what has arrived, and so hides a lost wake-up: see {@link Rescues#lookNanos}.
     */
    static final long CONFIRM_NANOS = Rescues.lookNanos(TimeUnit.MILLISECONDS.toNanos(250));

    /** How long an accepting end listens to a peer that says nothing, before it may speak itself. */
    private static final long LISTEN_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    /** Ticks of half a second: together longer than a call to accept lasts. */
    private static final byte KNOCKING_TICKS = 32;

    private static final VarHandle SINCE = VarHandles.of(MethodHandles.lookup(), "unacknowledgedSince", long.class);

    /** Time of the oldest send that is not acknowledged, or 0; written by SINCE, with each message, unfenced. */
    private long unacknowledgedSince;
    /** Time of the last completion that was applied, or of when this end began to listen. */
    private volatile long lastActivity;
    /** How long a send may be unacknowledged. */
    private volatile long limitNanos = TransportSettings.CURRENT.unacknowledgedNanos();
    /** How long nothing may be heard before keep-alive asks; {@code Long.MAX_VALUE} without. */
    private volatile long idleNanos = Long.MAX_VALUE;
    /** Whether this end has not heard the peer, and will speak after a while all the same. */
    private volatile boolean listening;
    /** The ticks in which a connection may still ask a silent peer; poller thread, once it is up. */
    private byte knockingTicks;

    Liveness(long now) {
        lastActivity = now;
    }

    /** Sets keep-alive; see {@link Connection#keepAlive}. */
    void keepAlive(boolean on, int idleSeconds, int probeSeconds) {
        long limit = TransportSettings.CURRENT.unacknowledgedNanos();
        watch(on ? Math.min(limit, TimeUnit.SECONDS.toNanos(probeSeconds)) : limit,
                on ? TimeUnit.SECONDS.toNanos(idleSeconds) : Long.MAX_VALUE);
    }

    /** Sets how long a send may be unacknowledged, and how long nothing may be heard before this end asks. */
    void watch(long limit, long idle) {
        limitNanos = limit;
        idleNanos = idle;
    }

    /** Before the connection is up: this end asks a silent peer now and then. */
    void beginKnocking() {
        knockingTicks = KNOCKING_TICKS;
    }

    /** Poller thread, each tick: whether to ask now; the interval doubles each time. Not once the peer was heard. */
    boolean knocks(boolean heard) {
        knockingTicks = heard ? 0 : knockingTicks;
        return knockingTicks > 0 && Integer.bitCount(KNOCKING_TICKS + 1 - knockingTicks--) == 1;
    }

    /** Poller thread: whether this end may still ask. */
    boolean isKnocking() {
        return knockingTicks > 0;
    }

    /**
     * A completion was applied; so many sends are outstanding. Seldom writes, as the coarse clock seldom moves. True if
     * it is the first completion since the last tick, or if it started the clock of a send.
     */
    boolean completed(long now, int outstanding) {
        boolean first = lastActivity != now;
        if (first) {
            lastActivity = now;
        }
        long since = outstanding == 0 ? 0 : now;
        boolean started = since != 0 && unacknowledgedSince == 0;
        if (unacknowledgedSince != since) {
            SINCE.setOpaque(this, since);
        }
        return first || started;
    }

    /** Something may have been posted; so many sends are outstanding. True if this starts the clock of the oldest. */
    boolean posted(long now, int outstanding) {
        boolean first = unacknowledgedSince == 0 && outstanding > 0;
        if (first) {
            SINCE.setOpaque(this, now);
        }
        return first;
    }

    /** This end does not speak before it has heard the peer, or has waited for that. */
    void listen(long now) {
        lastActivity = now;
        listening = true;
    }

    /** Poller thread: whether nothing came for long enough since this end listens; says so once. */
    boolean hasListened(long now) {
        boolean over = listening && now - lastActivity >= LISTEN_NANOS;
        if (over) {
            listening = false;
        }
        return over;
    }

    /** Restarts the clock of the oldest send: only now was the device asked to acknowledge it. */
    void asked(long now) {
        SINCE.setOpaque(this, now);
    }

    boolean isOverdue(long now) {
        long since = since();
        return since != 0 && now - since > limitNanos();
    }

    long limitNanos() {
        return limitNanos;
    }

    /** Time of the last completion that was applied, or of when this end began to listen. */
    long lastActivity() {
        return lastActivity;
    }

    boolean isIdle(long now) {
        return now - lastActivity > idleNanos;
    }

    private long since() {
        return (long) SINCE.getOpaque(this);
    }

    Duty due(long now) {
        long since = since();
        if (isOverdue(now)) {
            return Duty.CHECK;
        } else if (since != 0) {
            return now - since > Math.min(CONFIRM_NANOS, limitNanos / 2) ? Duty.CONFIRM : Duty.NOTHING;
        }
        return isIdle(now) ? Duty.PROBE : Duty.NOTHING;
    }

    /** Whether {@link #due} may say so before two rounds of visits are over. */
    boolean isDutyNear(long now) {
        return listening || since() != 0 || isIdle(now + 2 * Engine.ROUND_NANOS);
    }
}
