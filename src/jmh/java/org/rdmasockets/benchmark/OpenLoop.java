package org.rdmasockets.benchmark;

import java.util.concurrent.locks.LockSupport;

/**
 * How long after it was due is a request answered, when requests are due at a fixed rate whatever becomes of the
 * earlier ones (an open loop)? A request that waits for an earlier one counts from when it was due, as it does for its
 * user. The times include how late the JVM's timers wake the sender.
 */
final class OpenLoop implements Question {
    private static final int RATE = 10_000;
    private static final long INTERVAL_NANOS = 1_000_000_000L / RATE;

    @Override
    public String name() {
        return "open-loop";
    }

    @Override
    public String title() {
        return "Requests of 64 B, %,d due in a second, time from when they were due".formatted(RATE);
    }

    @Override
    public Metric headline() {
        return Metric.P99;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender.mostConnections() > 1 && contender != Contender.PRELOADED;
    }

    @Override
    public void measure(Trial trial) throws Exception {
        int connections = trial.plan().ratedConnections();
        new Load(trial).run(Trial.connections(connections), connections, (begin, connection, request) -> {
            long due = begin + (request * connections + connection) * INTERVAL_NANOS;
            for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            return due;
        });
    }
}
