package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/** One run of a question: a contender whose server runs, and a consumer that notes the figures. */
final class Trial implements AutoCloseable {
    private static final double NANOS_PER_MICRO = 1_000;
    /** The part of the first warm-up that later ones take. */
    private static final int LATER = 4;

    private final Contender contender;
    private final Plan plan;
    private final Consumer<Figure> figures;
    private final Peer peer;
    private final ServerProcess server;
    /** Whether it has been warmed up; one thread at a time. */
    private boolean warm;

    Trial(Contender contender, Plan plan, Consumer<Figure> figures) throws IOException {
        this.contender = contender;
        this.plan = plan;
        this.figures = figures;
        peer = contender.peer();
        server = ServerProcess.start(contender);
    }

    Contender contender() {
        return contender;
    }

    Plan plan() {
        return plan;
    }

    /** How long to warm up now: after the first time it is for what is new alone. */
    long warmUpNanos() {
        long nanos = warm ? plan.warmUpNanos() / LATER : plan.warmUpNanos();
        warm = true;
        return nanos;
    }

    /** A connection whose service is still to be ordered. */
    Link connect() throws IOException {
        return peer.connect(server.address());
    }

    /** A connection with a service at its other end. */
    Link connect(Service service, int messageBytes) throws IOException {
        Link link = connect();
        service.order(link, messageBytes);
        return link;
    }

    /** Many connections. */
    List<Link> connect(int connections, Service service, int messageBytes) throws IOException {
        List<Link> links = new ArrayList<>(connections);
        try {
            for (int i = 0; i < connections; i++) {
                links.add(connect(service, messageBytes));
            }
            return links;
        } catch (IOException e) {
            close(links);
            throw new IOException("connection " + links.size() + " of " + connections, e);
        }
    }

    /** Leaves a connection to a thread of the contender's kind that reads until one end closes. */
    void park(Link link) {
        contender.threads().start(() -> {
            try {
                link.read(new byte[1], 0, 1);
            } catch (IOException e) {
                return; // closed: the end of the measurement
            }
        });
    }

    static void close(List<Link> links) throws IOException {
        for (Link link : links) {
            link.close();
        }
    }

    /** A measurement for one size of a message. */
    interface Sized {
        void measure(int bytes) throws Exception;
    }

    /** Measures each size in a thread of the contender's kind. */
    void forEach(List<Integer> sizes, Sized work) throws Exception {
        for (int bytes : sizes) {
            run(() -> {
                work.measure(bytes);
                return null;
            });
        }
    }

    /** Runs a measurement in a thread of the contender's kind. */
    <T> T run(Callable<T> work) throws Exception {
        FutureTask<T> task = new FutureTask<>(work);
        contender.threads().name("client").start(task);
        return task.get();
    }

    /** The resources that both processes have used until now. */
    Usage usage() throws IOException {
        return Usage.now().plus(server.usage());
    }

    /** Processor time of the compilers of both processes until now. */
    long compilerNanos() throws IOException {
        return Compilers.processorNanos() + server.compilerNanos();
    }

    /** The resources that the server holds. */
    Footprint serverFootprint() throws IOException {
        return server.footprint();
    }

    /** Notes how many wake-ups of both processes were rescued, in the end. */
    void noteRescues() throws IOException {
        note("", Metric.RESCUES, Rescues.rescues() + server.rescues());
    }

    /** A histogram of times, in nanoseconds. */
    static Histogram histogram() {
        Histogram histogram = new Histogram(3);
        histogram.setAutoResize(true);
        return histogram;
    }

    void note(String scenario, Metric metric, double value) {
        figures.accept(new Figure(scenario, metric, value));
    }

    /** The median of times in nanoseconds, in microseconds. */
    static double p50(Histogram nanos) {
        return nanos.getValueAtPercentile(50) / NANOS_PER_MICRO;
    }

    void noteTimes(String scenario, Histogram nanos) {
        note(scenario, Metric.P50, p50(nanos));
        note(scenario, Metric.P90, nanos.getValueAtPercentile(90) / NANOS_PER_MICRO);
        note(scenario, Metric.P99, nanos.getValueAtPercentile(99) / NANOS_PER_MICRO);
        note(scenario, Metric.P99_9, nanos.getValueAtPercentile(99.9) / NANOS_PER_MICRO);
    }

    void noteCost(String scenario, Usage spent, long operations) {
        note(scenario, Metric.ALLOCATED, (double) spent.allocatedBytes() / operations);
        note(scenario, Metric.PROCESSOR, spent.processorNanos() / NANOS_PER_MICRO / operations);
    }

    /** A size for people. */
    static String size(int bytes) {
        int kib = bytes / 1024;
        return kib == 0 ? bytes + " B" : kib < 1024 ? kib + " KiB" : kib / 1024 + " MiB";
    }

    /** A number of connections for people. */
    static String connections(int count) {
        return count == 1 ? "1 connection" : "%,d connections".formatted(count);
    }

    @Override
    public void close() throws IOException {
        peer.close();
        server.close();
    }
}
