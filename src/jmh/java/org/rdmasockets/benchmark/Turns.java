package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * How long does a message take there and back, of what it takes the program in C that waits in the same way, when the
 * two take turns of a second? Where all is emulated a fork takes minutes, and the machine is another one by then.
 */
final class Turns implements Question {
    private static final int TURNS = 7;
    /** Time in which a new connection adapts; its round trips do not count. */
    private static final long SETTLING_NANOS = TimeUnit.MILLISECONDS.toNanos(300);
    /** Length of one look at the compilers during the warm-up. */
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long LONGEST_WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(240);
    /** Compilers that have less of such a time, in both processes, rest. */
    private static final long RESTING_NANOS = LOOK_NANOS / 50;

    @Override
    public String name() {
        return "turns";
    }

    @Override
    public String title() {
        return "Round trip of a message, in turns with the program in C that waits in the same way";
    }

    @Override
    public Metric headline() {
        return Metric.TIMES_C;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender.rival().isPresent();
    }

    @Override
    public void measure(Trial trial) throws Exception {
        trial.forEach(trial.plan().roundTripBytes(), bytes -> measure(trial, bytes));
    }

    private static void measure(Trial trial, int bytes) throws IOException, InterruptedException {
        NativeTool rival = trial.contender().rival().orElseThrow();
        List<Double> ours = new ArrayList<>();
        List<Double> theirs = new ArrayList<>();
        List<Double> ratios = new ArrayList<>();
        warmUp(trial, bytes);
        for (int turn = 0; turn < TURNS; turn++) {
            theirs.add(rival.measure("round-trip", bytes).value());
            ours.add(turn(trial, bytes, trial.plan().measuredNanos()));
            ratios.add(ours.getLast() / theirs.getLast());
        }
        String scenario = Trial.size(bytes);
        trial.note(scenario, Metric.P50, Series.median(ours));
        trial.note(scenario, Metric.P50_C, Series.median(theirs));
        trial.note(scenario, Metric.TIMES_C, Series.median(ratios));
    }

    /** Has a connection of its own: the server of some contenders spins as long as there is one. The median, in us. */
    private static double turn(Trial trial, int bytes, long nanos) throws IOException {
        try (Link link = trial.connect(Service.ECHO, bytes)) {
            byte[] message = new byte[bytes];
            RoundTrip.exchange(link, message, SETTLING_NANOS, Trial.histogram());
            Histogram times = Trial.histogram();
            RoundTrip.exchange(link, message, nanos, times);
            return Trial.p50(times);
        }
    }

    /** Until the compilers rest, which takes them from half a minute to three; what they do later would be measured. */
    private static void warmUp(Trial trial, int bytes) throws IOException {
        long begin = System.nanoTime();
        turn(trial, bytes, trial.warmUpNanos());
        long compiled;
        do {
            long before = trial.compilerNanos();
            turn(trial, bytes, LOOK_NANOS);
            compiled = trial.compilerNanos() - before;
            if (System.nanoTime() - begin > LONGEST_WARM_UP_NANOS) {
                throw new IOException("after %d s the compilers still had %d ms of the last %d s".formatted(
                        seconds(System.nanoTime() - begin), TimeUnit.NANOSECONDS.toMillis(compiled),
                        seconds(LOOK_NANOS)));
            }
        } while (compiled > RESTING_NANOS);
        System.err.printf("    warm after %d s%n", seconds(System.nanoTime() - begin));
    }

    private static long seconds(long nanos) {
        return TimeUnit.NANOSECONDS.toSeconds(nanos);
    }
}
