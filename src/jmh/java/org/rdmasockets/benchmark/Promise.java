package org.rdmasockets.benchmark;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A ratio that the project promises, and its outcome.
 *
 * @param claim the subject of the promise
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
    private static final Claim MODERATE = new Claim("full", "moderate", null, null);
    private static final Claim MIDDLE = new Claim("full", "moderate", "100 connections, 30 %", null);
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
            IDLE.of(Metric.HEAP).atMost(Contender.RDMA, 5 * 1024, null),
            IDLE.of(Metric.IDLE_PROCESSOR).atMost(Contender.RDMA, 1, null),
            IN_TURNS.atMost(Contender.RDMA_SPINNING, 1.2, null),
            IN_TURNS.atMost(Contender.RDMA_PARKING, 1.2, null),
            ON_DEVICE.atMost(Contender.RDMA_SPINNING, 1 / 4.0, Contender.PLAIN.title()),
            IN_TURNS.atMost(Contender.VERBS, 1.1, null),
            new Claim("guest", "stream", LARGE, Metric.MEGABYTES).atLeast(1, NativeTool.RSTREAM_POLLING.title()),
            new Claim("full", "connect-close", null, Metric.RATE).atLeast(1, Contender.PLAIN.title()),
            new Claim("full", "connect-close", null, Metric.PROCESSOR).atMostOfPlain(1),
            new Claim("full", "first-seconds", FirstSeconds.second(2), Metric.RATE).atLeast(1, Contender.PLAIN.title()),
            new Claim("full", "first-seconds", FirstSeconds.second(3), Metric.RATE).atLeast(1, Contender.PLAIN.title()),
            new Claim("full", "first-seconds-8-kib", FirstSeconds.second(3), Metric.MEGABYTES).atLeast(1,
                    Contender.PLAIN.title()),
            new Claim("full", "first-seconds-64-kib", FirstSeconds.second(3), Metric.MEGABYTES).atLeast(1,
                    Contender.PLAIN.title()),
            new Claim("full", "interpreted", SMALL, Metric.CLIENT_PROCESSOR).atMostOfPlain(1),
            new Claim("full", "interpreted", "8 KiB", Metric.MEGABYTES).atLeast(0.4, Contender.PLAIN.title()),
            new Claim("full", "start", Start.USUAL, Metric.FIRST_ANSWER).atMostOfPlain(5),
            new Claim("full", "start", Start.CACHED, Metric.FIRST_ANSWER).atMostOfPlain(2),
            MODERATE.of(Metric.P50).atMostOfPlain(1), MODERATE.of(Metric.P90).atMostOfPlain(1),
            MODERATE.of(Metric.P99).atMostOfPlain(1.1), MODERATE.of(Metric.PROCESSOR).atMostOfPlain(1),
            MIDDLE.of(Metric.P50).atMostOfPlain(0.8), MIDDLE.of(Metric.PROCESSOR).atMostOfPlain(0.8));

    /**
     * The subject of a promise.
     *
     * @param plan name of the plan that shows it
     * @param question name of the question
     * @param scenario the scenario; null for the one that is furthest from the promise
     * @param metric the figure
     */
    record Claim(String plan, String question, String scenario, Metric metric) {
        Claim of(Metric other) {
            return new Claim(plan, question, scenario, other);
        }

        Promise atMost(Contender ours, double limit, String reference) {
            return new Promise(this, ours.title(), reference, limit, true);
        }

        Promise atMostOfPlain(double limit) {
            return atMost(Contender.RDMA, limit, Contender.PLAIN.title());
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
        Stream<String> scenarios = claim.scenario == null ? answer.scenarios().stream() : Stream.of(claim.scenario);
        Comparator<String> order = Comparator.comparingDouble(scenario -> median(figures(answer, scenario)));
        Optional<String> furthest = scenarios.filter(scenario -> figures(answer, scenario).length > 0)
                .max(atMost ? order : order.reversed());
        return furthest.map(scenario -> line(scenario, figures(answer, scenario))).orElse("");
    }

    private double[] figures(Answer answer, String scenario) {
        return reference == null ? answer.figures(ours, scenario, claim.metric)
                : answer.ratios(ours, reference, scenario, claim.metric);
    }

    private static double median(double[] figures) {
        return Series.median(Arrays.stream(figures).boxed().toList());
    }

    private String line(String scenario, double[] figures) {
        double figure = median(figures);
        boolean holds = atMost ? figure <= limit : figure >= limit;
        return String.format(Locale.ROOT, "| %s of %s, %s, %s%s | at %s %s | %s%s | %s |%n", claim.metric.title(), ours,
                claim.question, claim.scenario == null ? "everywhere; the furthest: " : "", scenario,
                atMost ? "most" : "least", wanted(), Tables.number(figure), spread(figures),
                holds ? "holds" : "**does not hold**");
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
