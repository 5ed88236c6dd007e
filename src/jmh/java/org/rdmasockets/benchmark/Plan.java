package org.rdmasockets.benchmark;

import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * How much is measured.
 *
 * @param name as on the command line
 * @param forks how often each contender is started anew; results are medians
 * @param warmUpMillis before the first measurement in a JVM; later ones need less
 * @param measuredMillis each measurement
 * @param rate requests that are due in a second where there is a rate
 * @param roundTripBytes sizes of messages
 * @param streamBytes sizes of messages
 * @param connections numbers of connections
 */
record Plan(String name, int forks, int warmUpMillis, int measuredMillis, int rate, List<Integer> roundTripBytes,
        List<Integer> streamBytes, List<Integer> connections) {
    private static final int KIB = 1024;
    private static final Plan SMOKE = new Plan("smoke", 1, 100, 100, 1_000, List.of(64, 64 * KIB),
            List.of(64, KIB * KIB), List.of(1, 200));
    private static final Plan FULL = new Plan("full", 5, 10_000, 1_000, 10_000, List.of(64, KIB, 64 * KIB),
            List.of(64, KIB, 64 * KIB, KIB * KIB), List.of(1, 16, 256, 1_000, 10_000));
    private static final Plan GUEST = new Plan("guest", 1, 90_000, 5_000, 100, List.of(64, 64 * KIB),
            List.of(64 * KIB), List.of(1, 16, 100));
    /** Names of contenders that take part, between commas; all of them if there is none. */
    private static final String ONLY = System.getProperty("org.rdmasockets.benchmark.contenders", "");
    /** Options for short runs: how many connections are many, and the seconds to warm up and to ask for. */
    private static final String MANY = "org.rdmasockets.benchmark.many";
    private static final String SECONDS = "org.rdmasockets.benchmark.seconds";
    /** Times of a measurement that one connection asks. */
    private static final int ASK_TIMES = 6;
    /** Where one fork of the last plan takes too long to tell much. */
    private static final Plan TURNS = new Plan("guest-turns", 5, 20_000, 1_000, 100, List.of(64),
            List.of(), List.of(1));

    static Plan of(String name) {
        return List.of(SMOKE, FULL, GUEST, TURNS).stream().filter(plan -> plan.name.equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("smoke, full, guest or guest-turns, not " + name));
    }

    /** The questions, unless told otherwise: in the guest, which is slow, those that C programs answer too. */
    List<Question> questions() {
        return this == TURNS ? List.of(new Turns())
                : hasDevice() ? List.of(new RoundTrip(), new Streaming())
                : Question.ALL.stream().filter(question -> !(question instanceof Turns)).toList();
    }

    /** Whether a contender takes part: there is no device but in the guest, where those without it only take time. */
    boolean includes(Contender contender) {
        boolean asked = ONLY.isEmpty() || List.of(ONLY.split(",")).contains(contender.name());
        return asked && contender.isHere() && switch (contender) {
            case PRELOADED, RDMA_SPINNING -> hasDevice();
            case UNIX, AERON, JUCX, RDMA_ONE_JVM -> !hasDevice();
            default -> true;
        };
    }

    /** Whether it runs in the guest. */
    boolean hasDevice() {
        return this == GUEST || this == TURNS;
    }

    long warmUpNanos() {
        Long seconds = Long.getLong(SECONDS);
        return seconds == null ? TimeUnit.MILLISECONDS.toNanos(warmUpMillis) : TimeUnit.SECONDS.toNanos(seconds);
    }

    long measuredNanos() {
        return TimeUnit.MILLISECONDS.toNanos(measuredMillis);
    }

    /** For the processes to settle, and then for the measurement of what idle connections use. */
    long idleMillis() {
        return 5L * measuredMillis;
    }

    /** How many JVMs start for a median. */
    int starts() {
        return forks;
    }

    /** Connections that stay idle. */
    int idleConnections() {
        return connections.getLast();
    }

    /** Connections that stay open with a parked reader. */
    int manyConnections() {
        return Integer.getInteger(MANY, Math.min(3_000, connections.getLast()));
    }

    /** How long one connection asks. */
    long askNanos() {
        Long seconds = Long.getLong(SECONDS);
        return seconds == null ? ASK_TIMES * measuredNanos() : TimeUnit.SECONDS.toNanos(seconds);
    }

    /** Connections under a fixed rate. */
    int ratedConnections() {
        return Math.min(1_000, connections.getLast());
    }
}
