package org.rdmasockets.internal.selection;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Remembers attempts that failed, so that {@code auto} does not pay for each connection again: nothing is tried for
 * thirty times as long as it took to fail, at most a minute. So attempts cost at most a thirtieth of the time, and a
 * refusal, which is quick, is forgotten quickly. Any thread may call anything.
 */
class FailureCache {
    private static final int TIMES = 30;
    private static final long MAX_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int MAX_ENTRIES = 1_024;

    /** A transport and the address that was tried over it; port 0 stands for all ports of the host. */
    private record Target(String transport, InetAddress host, int port) {}

    /** An attempt that failed; {@code thisPortOnly} if it concerns that port alone, as when the host answered. */
    record Attempt(String transport, InetSocketAddress remote, String reason, boolean thisPortOnly, long tookNanos) {}

    /** The reason of a failure, when it was noted, and when it is forgotten. */
    private record Failure(String reason, long startNanos, long endNanos) {}

    /** The oldest first; protected by this. */
    private final LinkedHashMap<Target, Failure> failures = new LinkedHashMap<>();

    FailureCache() {}

    /** The time, by {@code System.nanoTime}, but for a test. */
    long now() {
        return System.nanoTime();
    }

    /** A reason, met lately, that makes an attempt vain; empty if none is known. */
    synchronized Optional<String> failure(String transport, InetSocketAddress remote) {
        if (failures.isEmpty()) {
            return Optional.empty();
        }
        Optional<String> ofPort = find(new Target(transport, remote.getAddress(), remote.getPort()));
        return ofPort.isPresent() ? ofPort : find(new Target(transport, remote.getAddress(), 0));
    }

    private Optional<String> find(Target target) {
        Failure failure = failures.get(target);
        if (failure == null) {
            return Optional.empty();
        }
        long now = now();
        if (now - failure.endNanos >= 0) {
            failures.remove(target);
            return Optional.empty();
        }
        return Optional.of(String.format(Locale.ROOT, "%s (not tried again after %.1f s)", failure.reason,
                (now - failure.startNanos) / 1e9));
    }

    /** Remembers an attempt, from now on. */
    synchronized void failed(Attempt attempt) {
        InetSocketAddress remote = attempt.remote;
        long now = now();
        Target target = new Target(attempt.transport, remote.getAddress(), attempt.thisPortOnly ? remote.getPort() : 0);
        failures.remove(target); // so that it becomes the youngest
        failures.put(target, new Failure(attempt.reason, now, now + Math.min(MAX_NANOS, TIMES * attempt.tookNanos)));
        if (failures.size() > MAX_ENTRIES) {
            failures.pollFirstEntry();
        }
    }

    synchronized void succeeded(String transport, InetSocketAddress remote) {
        if (!failures.isEmpty()) { // as a rule, and a first connect need not load what compares targets
            failures.remove(new Target(transport, remote.getAddress(), remote.getPort()));
            failures.remove(new Target(transport, remote.getAddress(), 0));
        }
    }
}
