package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/**
 * The time and the cost of a request while a server is far from busy: requests of 64 B due at random times (an open
 * loop, exponential distances), at parts of the rate that java.net.Socket has in a closed loop, with and without work
 * for each. Times count from when a request was due, and hold how late the JVM's timers wake the sender.
 */
final class Moderate implements Question {
    private static final List<Integer> CONNECTIONS = List.of(10, 100, 1_000);
    private static final List<Service> SERVICES = List.of(Service.ECHO, Service.WORK);
    private static final List<Integer> PERCENT = List.of(10, 30, 60);
    /** Tells the JVMs of a fork the rates of java.net.Socket, in the order of {@link #kinds}. */
    private static final String RATES = "org.rdmasockets.benchmark.rates";
    /** The part of the warm-up that each point of the grid has once the JVM is warm. */
    private static final int SETTLE = 5;

    /** Rates of java.net.Socket, as a property has them; null before they are known. */
    private String rates = System.getProperty(RATES);

    /**
     * A number of connections and a service, which have a rate.
     *
     * @param connections how many
     * @param service the work at the server
     */
    private record Kind(int connections, Service service) {
        @Override
        public String toString() {
            return Trial.connections(connections) + (service == Service.WORK ? ", 20 us of work" : "");
        }
    }

    @Override
    public String name() {
        return "moderate";
    }

    @Override
    public String title() {
        return "Requests of 64 B due at random times, at parts of what java.net.Socket can do";
    }

    @Override
    public Metric headline() {
        return Metric.P50;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender.isSocket();
    }

    @Override
    public List<String> jvmOptions() {
        return rates == null ? List.of() : List.of("-D" + RATES + "=" + rates);
    }

    @Override
    public void prepare(Plan plan) throws IOException, InterruptedException {
        rates = null;
        rates = Fork.measure(Contender.PLAIN, this, plan).stream().filter(figure -> figure.metric() == Metric.RATE)
                .map(figure -> Long.toString(Math.round(figure.value()))).collect(Collectors.joining(","));
    }

    @Override
    public void measure(Trial trial) throws Exception {
        List<Kind> kinds = kinds(trial.plan());
        long settle = trial.plan().warmUpNanos() / SETTLE;
        if (rates == null) {
            new Load(trial, Service.ECHO).warmUp(CONNECTIONS.getFirst());
            for (Kind kind : kinds) {
                new Load(trial, kind.service).run(kind.toString(), kind.connections, Load.Pace.AT_ONCE, settle);
            }
            return;
        }
        long[] known = Arrays.stream(rates.split(",")).mapToLong(Long::parseLong).toArray();
        // The first point has all of the warm-up.
        long wait = trial.plan().warmUpNanos();
        for (int i = 0; i < kinds.size(); i++) {
            Kind kind = kinds.get(i);
            for (int percent : PERCENT) {
                String scenario = "%s, %d %%".formatted(kind, percent);
                new Load(trial, kind.service).run(scenario, kind.connections,
                        random(kind.connections, known[i] * percent / 100.0), wait);
                wait = settle;
            }
        }
    }

    private static List<Kind> kinds(Plan plan) {
        List<Kind> kinds = new ArrayList<>();
        for (int connections : CONNECTIONS) {
            if (connections <= plan.ratedConnections()) {
                SERVICES.forEach(service -> kinds.add(new Kind(connections, service)));
            }
        }
        return kinds;
    }

    /** Each connection has its own times; the same for each contender. */
    private static Load.Pace random(int connections, double rate) {
        double mean = connections * 1e9 / rate;
        SplittableRandom[] randoms = new SplittableRandom[connections];
        Arrays.setAll(randoms, SplittableRandom::new);
        double[] next = new double[connections];
        return (begin, connection, request) -> {
            next[connection] -= mean * Math.log(1 - randoms[connection].nextDouble());
            long due = begin + (long) next[connection];
            Load.awaitDue(due);
            return due;
        };
    }
}
