package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.HdrHistogram.Histogram;

/**
 * How long does a client take to open thousands of connections while all that are open have a thread parked in a read?
 * Platform threads connect, send and read 64 B on each connection, and leave it to a virtual thread that reads on. The
 * first time is that of two new JVMs; the warm one comes after rounds of opening and closing.
 */
final class OpenParked implements Question {
    private static final int MESSAGE_BYTES = 64;
    private static final double NANOS_PER_MILLI = 1e6;

    private final String name;
    private final int atOnce;

    /**
     * A question.
     *
     * @param name of the question
     * @param atOnce how many threads open connections
     */
    OpenParked(String name, int atOnce) {
        this.name = name;
        this.atOnce = atOnce;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String title() {
        return "Opening connections beside parked readers, %d at a time".formatted(atOnce);
    }

    @Override
    public Metric headline() {
        return Metric.OPENED;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender == Contender.PLAIN || contender == Contender.RDMA;
    }

    @Override
    public void measure(Trial trial) throws Exception {
        String scenario = Trial.connections(trial.plan().manyConnections());
        measure(trial, scenario + ", cold");
        for (long begin = System.nanoTime(); System.nanoTime() - begin < trial.plan().warmUpNanos();) {
            Trial.close(open(trial, Trial.histogram()));
        }
        measure(trial, scenario + ", warm");
    }

    private void measure(Trial trial, String scenario) throws Exception {
        Histogram connects = Trial.histogram();
        Usage before = trial.usage();
        long begin = System.nanoTime();
        List<Link> links = open(trial, connects);
        long nanos = System.nanoTime() - begin;
        Usage spent = trial.usage().since(before);
        trial.note(scenario, Metric.OPENED, nanos / NANOS_PER_MILLI);
        trial.noteTimes(scenario, connects);
        trial.noteCost(scenario, spent, connects.getTotalCount());
        Trial.close(links);
    }

    /** Opens all of them; the histogram takes the times of the connects alone. */
    private List<Link> open(Trial trial, Histogram connects) throws Exception {
        List<FutureTask<List<Link>>> tasks = new ArrayList<>();
        for (int i = 0; i < atOnce; i++) {
            // The first ones take what is left over.
            int share = (trial.plan().manyConnections() + atOnce - 1 - i) / atOnce;
            Callable<List<Link>> work = () -> open(trial, share, connects);
            tasks.add(new FutureTask<>(work));
            Thread.ofPlatform().start(tasks.getLast());
        }
        List<Link> links = new ArrayList<>();
        for (FutureTask<List<Link>> task : tasks) {
            links.addAll(task.get());
        }
        return links;
    }

    private static List<Link> open(Trial trial, int count, Histogram connects) throws IOException {
        Histogram times = Trial.histogram();
        List<Link> links = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            long start = System.nanoTime();
            Link link = trial.connect();
            times.recordValue(System.nanoTime() - start);
            Service.ECHO.order(link, MESSAGE_BYTES);
            link.exchange(new byte[MESSAGE_BYTES]);
            trial.park(link);
            links.add(link);
        }
        synchronized (connects) {
            connects.add(times);
        }
        return links;
    }
}
