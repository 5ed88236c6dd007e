package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * What does a request cost on one connection that asks every millisecond, and how long does its answer take, while
 * other connections have readers parked at both ends and say nothing? Times count from when a request was sent. The
 * first seconds are those after its connect, in two new JVMs that have opened the others; the warm ones come after a
 * closed loop and a time at the same pace.
 */
final class AskAmongParked implements Question {
    private static final int MESSAGE_BYTES = 64;
    private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /** The part of the warm-up that the pace has after the closed loop. */
    private static final int SETTLE = 5;

    private final String name;
    private final int parked;

    /**
     * A question.
     *
     * @param name of the question
     * @param parked how many connections are open beside the one that asks
     */
    AskAmongParked(String name, int parked) {
        this.name = name;
        this.parked = parked;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String title() {
        return "A request of 64 B every millisecond on one connection, "
                + (parked == 0 ? "alone" : "among %,d parked ones".formatted(parked));
    }

    @Override
    public Metric headline() {
        return Metric.P50;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender == Contender.PLAIN || contender == Contender.RDMA;
    }

    @Override
    public void measure(Trial trial) throws Exception {
        List<Link> others = new ArrayList<>();
        for (int i = Math.min(parked, trial.plan().manyConnections()); i > 0; i--) {
            Link link = trial.connect(Service.ECHO, MESSAGE_BYTES);
            link.exchange(new byte[MESSAGE_BYTES]);
            trial.park(link);
            others.add(link);
        }
        trial.run(() -> {
            try (Link link = trial.connect(Service.ECHO, MESSAGE_BYTES)) {
                measure(trial, link);
            }
            return null;
        });
        Trial.close(others);
    }

    private static void measure(Trial trial, Link link) throws IOException {
        long nanos = trial.plan().askNanos();
        measure(trial, link, "first seconds", nanos);
        byte[] message = new byte[MESSAGE_BYTES];
        for (long begin = System.nanoTime(); System.nanoTime() - begin < trial.plan().warmUpNanos();) {
            link.exchange(message);
        }
        ask(link, trial.plan().warmUpNanos() / SETTLE);
        measure(trial, link, "warm", nanos);
    }

    private static void measure(Trial trial, Link link, String scenario, long nanos) throws IOException {
        Usage before = trial.usage();
        Histogram times = ask(link, nanos);
        Usage spent = trial.usage().since(before);
        trial.noteTimes(scenario, times);
        trial.noteCost(scenario, spent, times.getTotalCount());
    }

    /** Asks for some time. A request whose time passes before the last answer comes is sent at once. */
    private static Histogram ask(Link link, long nanos) throws IOException {
        Histogram times = Trial.histogram();
        byte[] message = new byte[MESSAGE_BYTES];
        long begin = System.nanoTime();
        for (long due = begin, start = begin; start - begin < nanos; due = Math.max(due + PERIOD_NANOS, start)) {
            Load.awaitDue(due);
            start = System.nanoTime();
            link.exchange(message);
            times.recordValue(System.nanoTime() - start);
        }
        return times;
    }
}
