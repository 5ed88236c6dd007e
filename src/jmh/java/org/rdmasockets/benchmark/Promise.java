package org.rdmasockets.benchmark;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A ratio that the project promises, and what came out.
 *
 * @param claim what it is about
 * @param ours the contender that is to keep it
 * @param reference the contender that it is measured by; null if the limit is a figure itself
 * @param limit the ratio, or the figure
 * @param atMost whether the limit is the most, else the least
 */
record Promise(Claim claim, String ours, String reference, double limit, boolean atMost) {
    private static final String SMALL = "64 B";
    private static final String LARGE = "64 KiB";
    private static final String MANY = "1,000 connections";
    private static final String MOST = "10,000 connections";

    private static final Claim ROUND_TRIP = new Claim("full", "round-trip", SMALL, Metric.P50);
    private static final Claim IDLE = new Claim("full", "idle", MOST, null);
    private static final Claim ON_DEVICE = new Claim("guest", "round-trip", SMALL, Metric.P50);
    private static final Claim IN_TURNS = new Claim("guest-turns", "turns", SMALL, Metric.TIMES_C);

    /** All of them. */
    static final List<Promise> ALL = List.of(
            ROUND_TRIP.atMost(Contender.RDMA, 3, Contender.AERON.title()),
            ROUND_TRIP.atMost(Contender.RDMA, 1 / 40.0, Contender.PLAIN.title()),
            ROUND_TRIP.atMost(Contender.RDMA_PARKING, 1.2, Contender.UNIX.title()),
            ROUND_TRIP.atMost(Contender.RDMA_ONE_JVM, 1, Contender.RDMA.title()),
            new Claim("full", "stream", SMALL, Metric.MEGABYTES).atLeast(5, Contender.PLAIN.title()),
            new Claim("full", "stream", LARGE, Metric.MEGABYTES).atLeast(3, Contender.PLAIN.title()),
            new Claim("full", "request-response", MANY, Metric.RATE).atLeast(3, Contender.PLAIN.title()),
            new Claim("full", "request-response", MANY, Metric.P99).atMost(Contender.RDMA, 1, Contender.PLAIN.title()),
            IDLE.of(Metric.SHARED).atMost(Contender.RDMA, 64 * 1024, null),
            IDLE.of(Metric.HEAP).atMost(Contender.RDMA, 4 * 1024, null),
            IDLE.of(Metric.IDLE_PROCESSOR).atMost(Contender.RDMA, 1, null),
            IN_TURNS.atMost(Contender.RDMA_SPINNING, 1.2, null),
            IN_TURNS.atMost(Contender.RDMA_PARKING, 1.2, null),
            ON_DEVICE.atMost(Contender.RDMA_SPINNING, 1 / 4.0, Contender.PLAIN.title()),
            IN_TURNS.atMost(Contender.VERBS, 1.1, null),
            new Claim("guest", "stream", LARGE, Metric.MEGABYTES).atLeast(1, NativeTool.RSTREAM_POLLING.title()));

    /**
     * What a promise is about.
     *
     * @param plan name of the plan that shows it
     * @param question name of the question
     * @param scenario what of it
     * @param metric the figure
     */
    record Claim(String plan, String question, String scenario, Metric metric) {
        Claim of(Metric other) {
            return new Claim(plan, question, scenario, other);
        }

        Promise atMost(Contender ours, double limit, String reference) {
            return new Promise(this, ours.title(), reference, limit, true);
        }

        Promise atLeast(double limit, String reference) {
            return new Promise(this, Contender.RDMA.title(), reference, limit, false);
        }
    }

    /** A line of a table: what, the promise, the figure, and whether it holds. Empty if that was not measured here. */
    String line(Answer answer) {
        if (!answer.plan().name().equals(claim.plan) || !answer.question().equals(claim.question)) {
            return "";
        }
        double[] figures = reference == null
                ? answer.figures(ours, claim.scenario, claim.metric)
                : answer.ratios(ours, reference, claim.scenario, claim.metric);
        if (figures.length == 0) {
            return "";
        }
        double figure = Series.median(Arrays.stream(figures).boxed().toList());
        boolean holds = atMost ? figure <= limit : figure >= limit;
        return String.format(Locale.ROOT, "| %s of %s, %s, %s | at %s %s | %s%s | %s |%n", claim.metric.title(), ours,
                claim.question, claim.scenario, atMost ? "most" : "least", wanted(), Tables.number(figure),
                spread(figures), holds ? "holds" : "**does not hold**");
    }

    /** How far the forks are from each other. */
    private static String spread(double[] sorted) {
        return sorted.length == 1 ? "" : " (%s to %s in %d forks)".formatted(Tables.number(sorted[0]),
                Tables.number(sorted[sorted.length - 1]), sorted.length);
    }

    private String wanted() {
        return Tables.number(limit) + (reference == null ? "" : " of " + reference);
    }
}
