package org.rdmasockets.benchmark;

import java.util.List;

/**
 * What the forks of a contender measured of one thing.
 *
 * @param contender title of the contender
 * @param scenario what of the question
 * @param metric what was measured
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
