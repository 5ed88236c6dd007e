package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * How long is the path of a byte? Without compilers each bytecode costs about the same, so processor time counts them,
 * and it hardly depends on what else the machine does. It is also what a JVM has in its first seconds.
 */
final class Interpreted implements Question {
    private static final int SMALL = 64;
    private static final int LARGE = 8 * 1024;
    private static final double NANOS_PER_MICRO = 1_000;

    @Override
    public String name() {
        return "interpreted";
    }

    @Override
    public String title() {
        return "In JVMs without compilers: round trips of 64 B, writes of 8 KiB";
    }

    @Override
    public Metric headline() {
        return Metric.CLIENT_PROCESSOR;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender.isSocket();
    }

    @Override
    public List<String> jvmOptions() {
        return List.of(Jvm.INTERPRETER);
    }

    @Override
    public void measure(Trial trial) throws Exception {
        trial.run(() -> {
            exchange(trial);
            return null;
        });
        trial.run(() -> {
            write(trial);
            return null;
        });
    }

    private static void exchange(Trial trial) throws IOException {
        String scenario = Trial.size(SMALL);
        try (Link link = trial.connect(Service.ECHO, SMALL)) {
            byte[] message = new byte[SMALL];
            RoundTrip.exchange(link, message, trial.plan().measuredNanos(), Trial.histogram());
            Histogram times = Trial.histogram();
            long before = Usage.now().processorNanos();
            RoundTrip.exchange(link, message, trial.plan().measuredNanos(), times);
            long spent = Usage.now().processorNanos() - before;
            trial.noteTimes(scenario, times);
            trial.note(scenario, Metric.CLIENT_PROCESSOR, spent / NANOS_PER_MICRO / times.getTotalCount());
        }
    }

    private static void write(Trial trial) throws IOException {
        String scenario = Trial.size(LARGE);
        try (Link link = trial.connect(Service.SINK, LARGE)) {
            byte[] message = new byte[LARGE];
            Streaming.write(link, message, trial.plan().measuredNanos());
            long before = Usage.now().processorNanos();
            Streaming.Written written = Streaming.write(link, message, trial.plan().measuredNanos());
            long spent = Usage.now().processorNanos() - before;
            trial.note(scenario, Metric.MEGABYTES, written.messages() * LARGE / (written.nanos() / NANOS_PER_MICRO));
            trial.note(scenario, Metric.CLIENT_PROCESSOR, spent / NANOS_PER_MICRO / written.messages());
        }
    }
}
