package org.rdmasockets.transport;

import java.util.concurrent.TimeUnit;

/**
 * When a connection last gave a sign of life, and what follows from that. Times are by {@code System.nanoTime}, and
 * coarse: taken from the last tick. Written under the protocol lock (keep-alive by any thread), read by any thread.
 */
final class Liveness {
    /** What a connection needs at a tick. */
    enum Duty {
        /** Nothing. */
        NOTHING,
        /** A send is unacknowledged for too long, unless its completion was only not taken in. */
        CHECK,
        /** Nothing was posted or completed for a while: have what was written last confirmed. */
        CONFIRM,
        /** It was idle for so long that keep-alive asks for a sign of life. */
        PROBE
    }

    /** Less than a tick: so the next tick after a write has it confirmed, if nothing else has happened. */
    private static final long CONFIRM_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    /** Time of the oldest send that the peer's device has not acknowledged, 0 if there is none. */
    private volatile long unacknowledgedSince;
    /** Time of the last completion that was applied. */
    private volatile long lastActivity;
    private volatile int keepAliveIdleSeconds;
    private volatile int keepAliveProbeSeconds;
    private volatile boolean keepAlive;

    /** A connection that is alive now. */
    Liveness(long now) {
        lastActivity = now;
    }

    /** Sets keep-alive; see {@link Connection#keepAlive}. */
    void keepAlive(boolean on, int idleSeconds, int probeSeconds) {
        keepAliveIdleSeconds = idleSeconds;
        keepAliveProbeSeconds = probeSeconds;
        keepAlive = on;
    }

    /** A completion was applied; so many sends are outstanding. The clock seldom moves: seldom anything is written. */
    void completed(long now, int outstanding) {
        if (lastActivity != now) {
            lastActivity = now;
        }
        long since = outstanding == 0 ? 0 : now;
        if (unacknowledgedSince != since) {
            unacknowledgedSince = since;
        }
    }

    /** Something may have been posted; so many sends are outstanding. Starts the clock of the oldest. */
    void posted(long now, int outstanding) {
        if (unacknowledgedSince == 0 && outstanding > 0) {
            unacknowledgedSince = now;
        }
    }

    /** The clock of the oldest send starts anew: only now was the device asked to acknowledge it. */
    void asked(long now) {
        unacknowledgedSince = now;
    }

    /** Whether a send is unacknowledged for longer than {@link #limitNanos}. */
    boolean isOverdue(long now) {
        long since = unacknowledgedSince;
        return since != 0 && now - since > limitNanos();
    }

    /** How long a send may be unacknowledged. */
    long limitNanos() {
        long limit = TransportSettings.CURRENT.unacknowledgedNanos();
        return keepAlive ? Math.min(limit, TimeUnit.SECONDS.toNanos(keepAliveProbeSeconds)) : limit;
    }

    /** Time of the last completion that was applied. */
    long lastActivity() {
        return lastActivity;
    }

    /** Whether nothing was heard for as long as keep-alive allows. */
    boolean isIdle(long now) {
        return now - lastActivity > TimeUnit.SECONDS.toNanos(keepAliveIdleSeconds);
    }

    /** What is to be done now. */
    Duty due(long now) {
        long since = unacknowledgedSince;
        if (isOverdue(now)) {
            return Duty.CHECK;
        } else if (since != 0) {
            return now - since > CONFIRM_NANOS ? Duty.CONFIRM : Duty.NOTHING;
        }
        return keepAlive && isIdle(now) ? Duty.PROBE : Duty.NOTHING;
    }
}
