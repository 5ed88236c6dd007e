package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What does a connection cost that was used once and is idle, a virtual thread parked in a read at each end; and do all
 * of them still answer?
 */
final class IdleConnections implements Question {
    private static final int MESSAGE_BYTES = 64;
    private static final int ANSWER_SECONDS = 60;
    /** As many connections as make every thread park. */
    private static final int WARMING = 200;

    @Override
    public String name() {
        return "idle";
    }

    @Override
    public String title() {
        return "Idle connections, a virtual thread parked in a read at each end";
    }

    @Override
    public Metric headline() {
        return Metric.HEAP;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender.mostConnections() >= Contender.MANY && contender != Contender.RDMA_PARKING;
    }

    @Override
    public void measure(Trial trial) throws Exception {
        int count = trial.plan().idleConnections();
        // All that is made once; and stacks are smaller once the methods on them are compiled.
        new Load(trial, Service.ECHO).warmUp(Math.min(WARMING, count));
        try (Link first = trial.connect(Service.ECHO, MESSAGE_BYTES)) {
            first.exchange(new byte[MESSAGE_BYTES]);
            Footprint clientBefore = Footprint.now();
            Footprint serverBefore = trial.serverFootprint();
            List<Link> links = trial.connect(count, Service.ECHO, MESSAGE_BYTES);
            CountDownLatch answers = new CountDownLatch(count);
            for (Link link : links) {
                link.exchange(new byte[MESSAGE_BYTES]);
                trial.contender().threads().start(() -> awaitAnswer(link, answers));
            }
            TimeUnit.MILLISECONDS.sleep(trial.plan().idleMillis());
            noteIdle(trial, count); // before memory is measured, which has a JVM collect and compile for a while
            noteMemory(trial, count, clientBefore, serverBefore);
            askAll(links, answers);
            Trial.close(links);
        }
    }

    private static void awaitAnswer(Link link, CountDownLatch answers) {
        try {
            if (link.fill(new byte[MESSAGE_BYTES])) {
                answers.countDown();
            }
        } catch (IOException e) {
            System.err.println("idle connection: " + e); // its answer will be missed
        }
    }

    private static void noteMemory(Trial trial, int count, Footprint clientBefore, Footprint serverBefore)
            throws IOException {
        Footprint client = Footprint.now();
        Footprint server = trial.serverFootprint();
        double ends = 2.0 * count;
        String scenario = Trial.connections(count);
        trial.note(scenario, Metric.HEAP, (client.heapBytes() - clientBefore.heapBytes() + server.heapBytes()
                - serverBefore.heapBytes()) / ends);
        trial.note(scenario, Metric.RESIDENT, (client.residentBytes() - clientBefore.residentBytes()
                + server.residentBytes() - serverBefore.residentBytes()) / ends);
        long pinned = Footprint.segmentBytes(client, server) - Footprint.segmentBytes(clientBefore, serverBefore)
                + client.lockedBytes() - clientBefore.lockedBytes() + server.lockedBytes()
                - serverBefore.lockedBytes();
        trial.note(scenario, Metric.SHARED, pinned / ends);
        trial.note(scenario, Metric.THREADS, Math.max(client.libraryThreads(), server.libraryThreads()));
    }

    /** The share of a core that both processes use together while nothing happens. */
    private static void noteIdle(Trial trial, int count) throws IOException, InterruptedException {
        long millis = trial.plan().idleMillis();
        Usage before = trial.usage();
        TimeUnit.MILLISECONDS.sleep(millis);
        double nanos = trial.usage().since(before).processorNanos();
        trial.note(Trial.connections(count), Metric.IDLE_PROCESSOR,
                100 * nanos / TimeUnit.MILLISECONDS.toNanos(millis));
    }

    private static void askAll(List<Link> links, CountDownLatch answers) throws IOException, InterruptedException {
        for (Link link : links) {
            link.write(new byte[MESSAGE_BYTES]);
        }
        if (!answers.await(ANSWER_SECONDS, TimeUnit.SECONDS)) {
            throw new IOException(answers.getCount() + " connections have not answered");
        }
    }
}
