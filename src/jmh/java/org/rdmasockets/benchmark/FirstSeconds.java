package org.rdmasockets.benchmark;

import java.io.IOException;

/** How much does a new JVM do in each of its first seconds, which begin with its first connect? */
final class FirstSeconds implements Question {
    private static final int SECONDS = 5;
    private static final double BYTES_PER_MEGABYTE = 1e6;

    private final String name;
    private final int bytes;
    private final boolean oneWay;

    /**
     * A question.
     *
     * @param name of the question
     * @param bytes of a message
     * @param oneWay whether it is written one way, rather than there and back
     */
    FirstSeconds(String name, int bytes, boolean oneWay) {
        this.name = name;
        this.bytes = bytes;
        this.oneWay = oneWay;
    }

    /** The scenario of a second, from 1. */
    static String second(int number) {
        return "second " + number;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String title() {
        return "%s of %s in each of the first seconds of a JVM".formatted(oneWay ? "Writes" : "Round trips",
                Trial.size(bytes));
    }

    @Override
    public Metric headline() {
        return oneWay ? Metric.MEGABYTES : Metric.RATE;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender.isSocket();
    }

    @Override
    public void measure(Trial trial) throws Exception {
        long nanos = trial.plan().measuredNanos();
        long[] counts = trial.run(() -> count(trial, nanos));
        for (int i = 0; i < SECONDS; i++) {
            double perSecond = counts[i] * 1e9 / nanos;
            trial.note(second(i + 1), headline(), oneWay ? perSecond * bytes / BYTES_PER_MEGABYTE : perSecond);
        }
    }

    private long[] count(Trial trial, long nanos) throws IOException {
        long[] counts = new long[SECONDS];
        long begin = System.nanoTime();
        byte[] message = new byte[bytes];
        try (Link link = trial.connect(oneWay ? Service.SINK : Service.ECHO, bytes)) {
            for (long second = 0; second < SECONDS; second = (System.nanoTime() - begin) / nanos) {
                if (oneWay) {
                    link.write(message);
                } else {
                    link.exchange(message);
                }
                counts[(int) second]++;
            }
        }
        return counts;
    }
}
