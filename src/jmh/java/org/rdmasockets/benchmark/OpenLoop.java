package org.rdmasockets.benchmark;

/**
 * How long after it was due is a request answered, when requests are due at a fixed rate whatever becomes of the
 * earlier ones (an open loop)? A request that waits for an earlier one counts from when it was due, as it does for its
 * user. The times include how late the JVM's timers wake the sender.
 */
final class OpenLoop implements Question {
    private static final long NANOS_PER_SECOND = 1_000_000_000;

    @Override
    public String name() {
        return "open-loop";
    }

    @Override
    public String title() {
        return "Requests of 64 B due at a fixed rate, time from when they were due";
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
        int rate = trial.plan().rate();
        long interval = NANOS_PER_SECOND / rate;
        String scenario = "%s, %,d due in a second".formatted(Trial.connections(connections), rate);
        new Load(trial, Service.ECHO).run(scenario, connections, (begin, connection, request) -> {
            long due = begin + (request * connections + connection) * interval;
            Load.awaitDue(due);
            return due;
        });
    }
}
