package org.rdmasockets.benchmark;

import java.io.IOException;
import org.HdrHistogram.Histogram;

/** How long does a message take there and back, with one thread in each of two JVMs and nothing else to do? */
final class RoundTrip implements Question {
    @Override
    public String name() {
        return "round-trip";
    }

    @Override
    public String title() {
        return "Round trip of a message, one connection";
    }

    @Override
    public Metric headline() {
        return Metric.P50;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender.isOrdinary();
    }

    @Override
    public void measure(Trial trial) throws Exception {
        trial.forEach(trial.plan().roundTripBytes(), bytes -> measure(trial, bytes));
    }

    private static void measure(Trial trial, int bytes) throws IOException {
        try (Link link = trial.connect(Service.ECHO, bytes)) {
            byte[] message = new byte[bytes];
            exchange(link, message, trial.warmUpNanos(), Trial.histogram());
            Histogram times = Trial.histogram();
            Usage before = trial.usage();
            exchange(link, message, trial.plan().measuredNanos(), times);
            Usage spent = trial.usage().since(before);
            trial.noteTimes(Trial.size(bytes), times);
            trial.noteCost(Trial.size(bytes), spent, times.getTotalCount());
        }
    }

    /** One look at the clock for each round trip. */
    static void exchange(Link link, byte[] message, long nanos, Histogram times) throws IOException {
        long begin = System.nanoTime();
        for (long start = begin; start - begin < nanos;) {
            link.exchange(message);
            long now = System.nanoTime();
            times.recordValue(now - start);
            start = now;
        }
    }
}
