package org.rdmasockets.benchmark;

import java.io.IOException;

/** How many bytes go one way in a second, in writes of one size, until the reader has them all? */
final class Streaming implements Question {
    /** Bytes between two looks at the clock, so that small writes do not measure that. */
    private static final int CLOCK_BYTES = 64 * 1024;
    private static final int WARM_UPS = 6;
    private static final double NANOS_PER_MICRO = 1_000;

    /**
     * The messages written.
     *
     * @param messages how many
     * @param nanos how long it took until all was read
     */
    record Written(long messages, long nanos) {
    }

    @Override
    public String name() {
        return "stream";
    }

    @Override
    public String title() {
        return "Writes one way, one connection";
    }

    @Override
    public Metric headline() {
        return Metric.MEGABYTES;
    }

    @Override
    public void measure(Trial trial) throws Exception {
        trial.forEach(trial.plan().streamBytes(), bytes -> measure(trial, bytes));
    }

    private static void measure(Trial trial, int bytes) throws IOException {
        try (Link link = trial.connect(Service.SINK, bytes)) {
            byte[] message = new byte[bytes];
            warmUp(trial, link, message);
            Usage before = trial.usage();
            Written written = write(link, message, trial.plan().measuredNanos());
            Usage spent = trial.usage().since(before);
            String scenario = Trial.size(bytes);
            // Bytes in a microsecond are megabytes in a second.
            trial.note(scenario, Metric.MEGABYTES, written.messages * bytes / (written.nanos / NANOS_PER_MICRO));
            trial.noteCost(scenario, spent, written.messages);
        }
    }

    /**
     * In rounds, with all that a measurement has: what a JVM meets for the first time when the warm-up is over makes it
     * throw away compiled code that took something for granted.
     */
    private static void warmUp(Trial trial, Link link, byte[] message) throws IOException {
        long nanos = trial.warmUpNanos();
        for (int round = 0; round < WARM_UPS; round++) {
            trial.usage();
            write(link, message, nanos / WARM_UPS);
        }
    }

    /** Writes for a time, and until all is read. */
    static Written write(Link link, byte[] message, long nanos) throws IOException {
        int batch = Math.max(1, CLOCK_BYTES / message.length);
        long begin = System.nanoTime();
        long messages = 0;
        while (System.nanoTime() - begin < nanos) {
            for (int i = 0; i < batch; i++) {
                link.write(message);
            }
            messages += batch;
        }
        link.write(new byte[] {Service.LAST});
        if (!link.fill(new byte[1])) {
            throw new IOException("the reader closed");
        }
        return new Written(messages, System.nanoTime() - begin);
    }
}
