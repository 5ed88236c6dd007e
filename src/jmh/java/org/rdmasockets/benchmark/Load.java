package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/** Requests and their answers on many connections at once, a thread for each; when the next one is due, a pace says. */
final class Load {
    private static final int MESSAGE_BYTES = 64;
    private static final long PATIENCE_MILLIS = 30_000;

    private final Trial trial;
    private final Service service;
    private final List<Thread> threads = new ArrayList<>();
    /** Where requests that end now are counted; null for the end. */
    private volatile Histogram times = histogram();
    /** Counts the connections that have not been used yet; set before the threads start. */
    private CountDownLatch begun;
    /** The first failure of a thread, or null. */
    private volatile IOException failure;

    Load(Trial trial, Service service) {
        this.trial = trial;
        this.service = service;
    }

    /** When requests begin. */
    @FunctionalInterface
    interface Pace {
        /** As soon as there is the last answer: a closed loop. */
        Pace AT_ONCE = (begin, connection, request) -> System.nanoTime();

        /**
         * Waits until a connection's next request is due.
         *
         * @param begin when the load began, by the clock of {@link System#nanoTime}
         * @param connection its number
         * @param request the number of the request on it
         * @return when it was due, which may be past, by the same clock
         */
        long await(long begin, int connection, long request);
    }

    /** Sleeps until a request is due, however often it is woken. */
    static void awaitDue(long due) {
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /**
     * Runs the load on new connections and notes times and costs, after all of the warm-up, also if it is not the first
     * load: other numbers of connections take other paths.
     */
    void run(String scenario, int connections, Pace pace) throws IOException, InterruptedException {
        run(scenario, connections, pace, trial.plan().warmUpNanos());
    }

    /** The same after a time to settle. */
    void run(String scenario, int connections, Pace pace, long settleNanos) throws IOException, InterruptedException {
        run(connections, pace, () -> measure(scenario, settleNanos));
    }

    /** Runs a closed loop on new connections until the JVMs are warm. */
    void warmUp(int connections) throws IOException, InterruptedException {
        run(connections, Pace.AT_ONCE, () -> TimeUnit.NANOSECONDS.sleep(trial.warmUpNanos()));
    }

    /** Runs while the load runs. */
    @FunctionalInterface
    private interface Meanwhile {
        void run() throws IOException, InterruptedException;
    }

    private void run(int connections, Pace pace, Meanwhile meanwhile) throws IOException, InterruptedException {
        begun = new CountDownLatch(connections);
        List<Link> links = trial.connect(connections, service, MESSAGE_BYTES);
        try {
            long begin = System.nanoTime();
            for (int i = 0; i < connections; i++) {
                int number = i;
                threads.add(trial.contender().threads().start(
                        () -> exchange(links.get(number), request -> pace.await(begin, number, request))));
            }
            awaitAll(connections);
            meanwhile.run();
        } finally {
            times = null;
            end(links);
        }
        if (failure != null) {
            throw failure;
        }
    }

    private static Histogram histogram() {
        Histogram histogram = new ConcurrentHistogram(3);
        histogram.setAutoResize(true);
        return histogram;
    }

    /** Lets the last requests end; who has no answer then loses the connection. */
    private void end(List<Link> links) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS);
        for (Thread thread : threads) {
            thread.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
        }
        Trial.close(links);
    }

    private void awaitAll(int connections) throws IOException, InterruptedException {
        if (!begun.await(PATIENCE_MILLIS, TimeUnit.MILLISECONDS)) {
            throw new IOException("%d of %d connections had no answer to their first request after %d ms".formatted(
                    begun.getCount(), connections, PATIENCE_MILLIS));
        }
    }

    private void measure(String scenario, long settleNanos) throws IOException, InterruptedException {
        TimeUnit.NANOSECONDS.sleep(settleNanos);
        Usage before = trial.usage();
        Histogram measured = histogram();
        long begin = System.nanoTime();
        times = measured;
        TimeUnit.NANOSECONDS.sleep(trial.plan().measuredNanos());
        long nanos = System.nanoTime() - begin;
        Histogram done = measured.copy();
        Usage spent = trial.usage().since(before);
        if (done.getTotalCount() == 0) {
            throw new IOException("no request was answered in %d ms, %s".formatted(trial.plan().measuredMillis(),
                    scenario));
        }
        trial.note(scenario, Metric.RATE, done.getTotalCount() * 1e9 / nanos);
        trial.noteTimes(scenario, done);
        trial.noteCost(scenario, spent, done.getTotalCount());
    }

    private void exchange(Link link, LongUnaryOperator pace) {
        byte[] message = new byte[MESSAGE_BYTES];
        try {
            for (long request = 0;; request++) {
                long due = pace.applyAsLong(request);
                link.exchange(message);
                Histogram into = times;
                if (into == null) {
                    return;
                }
                into.recordValue(System.nanoTime() - due);
                if (request == 0) {
                    begun.countDown();
                }
            }
        } catch (IOException e) {
            failure = e;
            begun.countDown();
        }
    }
}
