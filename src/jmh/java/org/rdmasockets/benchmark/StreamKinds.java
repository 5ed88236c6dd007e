package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;

/**
 * What does each way to carry a stream give and cost: in writes one way, and in requests of which many are on their way
 * at once?
 */
final class StreamKinds implements Question {
    private static final List<Contender> CONTENDERS = List.of(Contender.PLAIN, Contender.RDMA,
            Contender.RDMA_MESSAGES, Contender.RDMA_READ_RING);
    private static final List<Integer> IN_FLIGHT = List.of(1, 64, 512);
    private static final int REQUEST_BYTES = 64;

    @Override
    public String name() {
        return "stream-kinds";
    }

    @Override
    public String title() {
        return "Ways to carry a stream: writes one way, and 64 B requests in flight, one connection";
    }

    @Override
    public Metric headline() {
        return Metric.MEGABYTES;
    }

    @Override
    public boolean suits(Contender contender) {
        return CONTENDERS.contains(contender);
    }

    @Override
    public void measure(Trial trial) throws Exception {
        new Streaming().measure(trial);
        for (int inFlight : IN_FLIGHT) {
            measure(trial, inFlight);
        }
    }

    private static void measure(Trial trial, int inFlight) throws Exception {
        try (Link link = trial.connect(Service.ECHO, REQUEST_BYTES)) {
            request(trial, link, inFlight, trial.warmUpNanos());
            Usage before = trial.usage();
            long begin = System.nanoTime();
            long requests = request(trial, link, inFlight, trial.plan().measuredNanos());
            double seconds = (System.nanoTime() - begin) / 1e9;
            String scenario = inFlight + " in flight";
            trial.noteCost(scenario, trial.usage().since(before), requests);
            trial.note(scenario, Metric.RATE, requests / seconds);
        }
    }

    /** One thread asks, as long as not too much is on its way, and one hears the answers; until all are there. */
    private static long request(Trial trial, Link link, int inFlight, long nanos) throws Exception {
        Semaphore allowed = new Semaphore(inFlight);
        FutureTask<Long> writer = start(trial, "asking", () -> ask(link, allowed, inFlight, nanos));
        FutureTask<Long> reader = start(trial, "hearing", () -> hear(link, allowed));
        long asked = writer.get();
        reader.get();
        return asked;
    }

    private static <T> FutureTask<T> start(Trial trial, String name, Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        trial.contender().threads().name(name).start(task);
        return task;
    }

    /** The last request says so. */
    private static long ask(Link link, Semaphore allowed, int inFlight, long nanos) throws Exception {
        byte[] request = new byte[REQUEST_BYTES];
        long begin = System.nanoTime();
        long asked = 1;
        while (System.nanoTime() - begin < nanos) {
            for (int i = 0; i < inFlight; i++, asked++) {
                allowed.acquire();
                link.write(request);
            }
        }
        allowed.acquire();
        request[0] = Service.LAST;
        link.write(request);
        return asked;
    }

    private static long hear(Link link, Semaphore allowed) throws IOException {
        byte[] answer = new byte[REQUEST_BYTES];
        for (long heard = 1; link.fill(answer); heard++) {
            allowed.release();
            if (answer[0] == Service.LAST) {
                return heard;
            }
        }
        throw new IOException("the other end closed");
    }
}
