package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.HdrHistogram.Histogram;

/** How many connections are made, used for one round trip of 64 bytes and closed in a second? */
final class ConnectAndClose implements Question {
    private static final int MESSAGE_BYTES = 64;
    private static final int AT_ONCE = 16;

    @Override
    public String name() {
        return "connect-close";
    }

    @Override
    public String title() {
        return "Connect, one round trip of 64 B, close";
    }

    @Override
    public Metric headline() {
        return Metric.RATE;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender.mostConnections() > 1;
    }

    @Override
    public void measure(Trial trial) throws Exception {
        measure(trial, 1);
        measure(trial, AT_ONCE);
    }

    private static void measure(Trial trial, int atOnce) throws Exception {
        connect(trial, atOnce, trial.warmUpNanos());
        Usage before = trial.usage();
        long begin = System.nanoTime();
        Histogram times = connect(trial, atOnce, trial.plan().measuredNanos());
        long nanos = System.nanoTime() - begin;
        Usage spent = trial.usage().since(before);
        String scenario = atOnce + " at a time";
        trial.note(scenario, Metric.RATE, times.getTotalCount() * 1e9 / nanos);
        trial.noteTimes(scenario, times);
        trial.noteCost(scenario, spent, times.getTotalCount());
    }

    private static Histogram connect(Trial trial, int atOnce, long nanos) throws Exception {
        List<FutureTask<Histogram>> tasks = new ArrayList<>();
        for (int i = 0; i < atOnce; i++) {
            Callable<Histogram> work = () -> connect(trial, nanos);
            tasks.add(new FutureTask<>(work));
            trial.contender().threads().start(tasks.getLast());
        }
        Histogram all = Trial.histogram();
        for (FutureTask<Histogram> task : tasks) {
            all.add(task.get());
        }
        return all;
    }

    private static Histogram connect(Trial trial, long nanos) throws IOException {
        Histogram times = Trial.histogram();
        byte[] message = new byte[MESSAGE_BYTES];
        long begin = System.nanoTime();
        for (long start = begin; start - begin < nanos;) {
            try (Link link = trial.connect(Service.ECHO, MESSAGE_BYTES)) {
                link.exchange(message);
            }
            long now = System.nanoTime();
            times.recordValue(now - start);
            start = now;
        }
        return times;
    }
}
