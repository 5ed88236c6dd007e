package org.rdmasockets.benchmark;

import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/**
 * A ratio that the project promises, and what came out.
 *
 * @param question name of the question
 * @param scenario what of it
 * @param metric the figure
 * @param ours the contender that is to keep it
 * @param reference the contender that it is measured by; null if the limit is a figure itself
 * @param limit the ratio, or the figure
 * @param atMost whether the limit is the most, else the least
 */
record Promise(String question, String scenario, Metric metric, Contender ours, Contender reference, double limit,
        boolean atMost) {
    private static final String SMALL = "64 B";
    private static final String LARGE = "64 KiB";
    private static final String MANY = "1,000 connections";
    private static final String MOST = "10,000 connections";

    /** On shared memory, between two JVMs. */
    static final List<Promise> SHARED_MEMORY = List.of(
            most("round-trip", SMALL, Metric.P50, Contender.RDMA, Contender.AERON, 3),
            most("round-trip", SMALL, Metric.P50, Contender.RDMA, Contender.PLAIN, 1 / 40.0),
            most("round-trip", SMALL, Metric.P50, Contender.RDMA_PARKING, Contender.UNIX, 1.2),
            most("round-trip", SMALL, Metric.P50, Contender.RDMA_ONE_JVM, Contender.RDMA, 1),
            least("stream", SMALL, Metric.MEGABYTES, Contender.RDMA, Contender.PLAIN, 5),
            least("stream", LARGE, Metric.MEGABYTES, Contender.RDMA, Contender.PLAIN, 3),
            least("request-response", MANY, Metric.RATE, Contender.RDMA, Contender.PLAIN, 3),
            most("request-response", MANY, Metric.P99, Contender.RDMA, Contender.PLAIN, 1),
            most("idle", MOST, Metric.SHARED, Contender.RDMA, null, 64 * 1024),
            most("idle", MOST, Metric.HEAP, Contender.RDMA, null, 4 * 1024),
            most("idle", MOST, Metric.IDLE_PROCESSOR, Contender.RDMA, null, 1));

    private static Promise most(String question, String scenario, Metric metric, Contender ours, Contender reference,
            double limit) {
        return new Promise(question, scenario, metric, ours, reference, limit, true);
    }

    private static Promise least(String question, String scenario, Metric metric, Contender ours,
            Contender reference, double limit) {
        return new Promise(question, scenario, metric, ours, reference, limit, false);
    }

    /** A line of a table: what, the promise, the figure, and whether it holds. Empty if it was not measured. */
    String line(Answer answer) {
        OptionalDouble figure = answer.median(ours.title(), scenario, metric);
        OptionalDouble base = reference == null ? OptionalDouble.of(1)
                : answer.median(reference.title(), scenario, metric);
        if (figure.isEmpty() || base.isEmpty()) {
            return "";
        }
        double ratio = figure.getAsDouble() / base.getAsDouble();
        boolean holds = atMost ? ratio <= limit : ratio >= limit;
        return String.format(Locale.ROOT, "| %s, %s: %s of %s | at %s %s | %s | %s |%n", question, scenario,
                metric.title(), ours.title(), atMost ? "most" : "least", wanted(), Tables.number(ratio),
                holds ? "holds" : "**does not hold**");
    }

    private String wanted() {
        return Tables.number(limit) + (reference == null ? "" : " of " + reference.title());
    }
}
