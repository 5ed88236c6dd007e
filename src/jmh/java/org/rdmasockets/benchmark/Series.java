package org.rdmasockets.benchmark;

import java.util.List;

/**
 * The figures of a contender's forks for one metric of one scenario.
 *
 * @param contender title of the contender
 * @param scenario the scenario of the question
 * @param metric the metric that was measured
 * @param forks the values, one for each fork, in the metric's unit
 */
record Series(String contender, String scenario, Metric metric, List<Double> forks) {
    /** The median; of an even number the mean of the two in the middle. */
    double median() {
        return median(forks);
    }

    /** The same of any values, at least one. */
    static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }
}
