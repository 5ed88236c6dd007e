package org.rdmasockets.benchmark;

/**
 * One figure of one fork.
 *
 * @param scenario the scenario of the question, such as {@code 64 B}
 * @param metric the metric that was measured
 * @param value in the metric's unit
 */
record Figure(String scenario, Metric metric, double value) {
}
