package org.rdmasockets.benchmark;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * All figures of a question in one run: a file of raw results.
 *
 * @param question name of the question
 * @param started when, in UTC
 * @param machine on what
 * @param plan how
 * @param otherPercent how busy others kept the processors, in percent of all, between the forks
 * @param series the figures
 * @param failures the failures, one line each
 */
record Answer(String question, String started, Machine machine, Plan plan, double otherPercent,
        List<Series> series, List<String> failures) {
    /** The contender that every ratio refers to. */
    static final String REFERENCE = Contender.PLAIN.title();

    /** The same with the load by others, which is known in the end. */
    Answer withOthers(double percent) {
        return new Answer(question, started, machine, plan, percent, series, failures);
    }

    /** Adds what one fork measured. */
    void add(String contender, List<Figure> figures) {
        for (Figure figure : figures) {
            find(contender, figure.scenario(), figure.metric()).orElseGet(() -> {
                Series first = new Series(contender, figure.scenario(), figure.metric(), new ArrayList<>());
                series.add(first);
                return first;
            }).forks().add(figure.value());
        }
    }

    private Optional<Series> find(String contender, String scenario, Metric metric) {
        return series.stream().filter(one -> one.contender().equals(contender) && one.scenario().equals(scenario)
                && one.metric() == metric).findFirst();
    }

    /** The median, if it was measured. */
    OptionalDouble median(String contender, String scenario, Metric metric) {
        return find(contender, scenario, metric).stream().mapToDouble(Series::median).findFirst();
    }

    /**
     * The ratios of a contender's figures to another's, fork by fork, sorted; where some forks failed, only the ratio
     * of the medians.
     */
    double[] ratios(String contender, String other, String scenario, Metric metric) {
        List<Double> ours = forks(contender, scenario, metric);
        List<Double> theirs = forks(other, scenario, metric);
        if (ours.isEmpty() || theirs.isEmpty()) {
            return new double[0];
        }
        if (ours.size() != theirs.size()) {
            return new double[] {Series.median(ours) / Series.median(theirs)};
        }
        return IntStream.range(0, ours.size()).mapToDouble(i -> ours.get(i) / theirs.get(i)).sorted().toArray();
    }

    /** The figures of a contender's forks, sorted. */
    double[] figures(String contender, String scenario, Metric metric) {
        return forks(contender, scenario, metric).stream().mapToDouble(Double::doubleValue).sorted().toArray();
    }

    private List<Double> forks(String contender, String scenario, Metric metric) {
        return find(contender, scenario, metric).map(Series::forks).orElse(List.of());
    }

    /** The scenarios in the order in which they were measured. */
    Set<String> scenarios() {
        Set<String> all = new LinkedHashSet<>();
        tabled().forEach(one -> all.add(one.scenario()));
        return all;
    }

    /** The contenders in the order in which they were measured. */
    Set<String> contenders() {
        Set<String> all = new LinkedHashSet<>();
        series.forEach(one -> all.add(one.contender()));
        return all;
    }

    /** The metrics in their own order. */
    List<Metric> metrics() {
        return tabled().map(Series::metric).distinct().sorted().toList();
    }

    /** The series that the table shows. */
    private Stream<Series> tabled() {
        return series.stream().filter(one -> one.metric() != Metric.RESCUES);
    }

    /** How many wake-ups were rescued in all forks of all contenders; empty where they were not counted. */
    OptionalLong rescues() {
        List<Double> counts = series.stream().filter(one -> one.metric() == Metric.RESCUES)
                .flatMap(one -> one.forks().stream()).toList();
        return counts.isEmpty() ? OptionalLong.empty()
                : OptionalLong.of(counts.stream().mapToLong(Double::longValue).sum());
    }
}
