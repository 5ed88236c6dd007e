package org.rdmasockets.benchmark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The suite itself: contenders carry bytes between two JVMs, and the results say what was measured. */
@Execution(ExecutionMode.CONCURRENT)
class BenchmarksTest {
    private static final Promise AT_MOST_HALF = new Promise(new Promise.Claim("full", "round-trip", "64 B", Metric.P50),
            Contender.RDMA.title(), Contender.PLAIN.title(), 0.5, true);

    @ParameterizedTest
    @EnumSource(names = {"PLAIN", "UNIX", "RDMA", "RDMA_ONE_JVM", "VERBS", "AERON"})
    void contendersAnswer(Contender contender) throws Exception {
        Plan moment = Plan.of("smoke");
        List<Figure> figures = Fork.measure(contender, new RoundTrip(), moment);
        for (int bytes : moment.roundTripBytes()) {
            Figure median = figures.stream().filter(figure -> figure.metric() == Metric.P50
                    && figure.scenario().equals(Trial.size(bytes))).findFirst().orElseThrow();
            assertTrue(median.value() > 0, median::toString);
        }
    }

    @Test
    void aPromiseThatDoesNotHoldIsSaidToBeOne() throws Exception {
        assertTrue(AT_MOST_HALF.line(answer(10, 5.1)).contains("does not hold"), "5.1 of 10");
        assertTrue(AT_MOST_HALF.line(answer(10, 4.9)).endsWith("| holds |\n"), "4.9 of 10");
        assertEquals("", AT_MOST_HALF.line(answer(10)), "not measured");
    }

    @Test
    void promisesAreThoseOfThePlan() throws IOException {
        assertEquals("", AT_MOST_HALF.line(answer("guest", 10, 4.9)), "a promise of the full plan");
        assertEquals(1, promises("guest", "round-trip", Metric.P50).size(), "of the guest's round trips");
        assertEquals(3, promises("guest-turns", "turns", Metric.TIMES_C).size(), "of the guest's turns with C");
        assertEquals(0, promises("guest", "turns", Metric.TIMES_C).size(), "of the guest's turns with C in one fork");
    }

    private static List<String> promises(String plan, String question, Metric metric) {
        Answer answer = new Answer(question, "", null, Plan.of(plan), 0, new ArrayList<>(), new ArrayList<>());
        for (Contender each : Contender.values()) {
            answer.add(each.title(), List.of(new Figure("64 B", metric, 1)));
        }
        return Promise.ALL.stream().map(each -> each.line(answer)).filter(line -> !line.isEmpty()).toList();
    }

    @Test
    void figuresThatArePromisedThemselvesHaveTheirRange() {
        Answer answer = new Answer("turns", "", null, Plan.of("guest-turns"), 0, new ArrayList<>(), new ArrayList<>());
        for (double figure : new double[] {1.3, 1.1, 1.25}) {
            answer.add(Contender.VERBS.title(), List.of(new Figure("64 B", Metric.TIMES_C, figure)));
        }
        String line = new Promise(new Promise.Claim("guest-turns", "turns", "64 B", Metric.TIMES_C),
                Contender.VERBS.title(), null, 1.2, true).line(answer);
        assertTrue(line.contains("| 1.25 (1.10 to 1.30 in 3 forks) | **does not hold** |"), line);
    }

    @ParameterizedTest
    @ValueSource(strings = {"many-open", "many-open-16", "many-ask-100"})
    void parkedReadersAreBesideWhatIsMeasured(String question) throws Exception {
        List<Figure> figures = Fork.measure(Contender.PLAIN, Question.of(question), Plan.of("smoke"));
        for (Metric metric : List.of(Question.of(question).headline(), Metric.P99, Metric.PROCESSOR)) {
            assertEquals(2, figures.stream().filter(figure -> figure.metric() == metric && figure.value() > 0).count(),
                    () -> metric + " of the first and of a warm time: " + figures);
        }
        assertEquals(1, figures.stream().filter(figure -> figure.metric() == Metric.RESCUES).count());
    }

    @Test
    void rescuesAreToldBelowTheTable() throws IOException {
        Answer answer = answer(10, 5);
        assertTrue(answer.rescues().isEmpty(), "not counted");
        answer.add(Contender.PLAIN.title(), List.of(new Figure("", Metric.RESCUES, 0)));
        answer.add(Contender.RDMA.title(), List.of(new Figure("", Metric.RESCUES, 2)));
        answer.add(Contender.RDMA.title(), List.of(new Figure("", Metric.RESCUES, 1)));
        assertEquals(3, answer.rescues().orElseThrow());
        assertEquals(List.of(Metric.P50), answer.metrics());
        assertTrue(Tables.of(List.of(answer)).contains("\n\nRescued wake-ups: 3.\n\n"), "below the table");
    }

    @Test
    void whatCompilersHadIsCounted() {
        assertTrue(Compilers.processorNanos() > 0, "JUnit alone makes them work");
        assertTrue(Compilers.processorNanos() <= Usage.now().processorNanos(), "a part of all");
    }

    @Test
    void forksAreComparedOneByOne() throws IOException {
        Answer answer = answer(10, 1, 9, 4);
        answer.add(Contender.PLAIN.title(), List.of(new Figure("64 B", Metric.P50, 30)));
        answer.add(Contender.PLAIN.title(), List.of(new Figure("64 B", Metric.P50, 10)));
        assertTrue(AT_MOST_HALF.line(answer).contains("| 0.300 (0.100 to 0.400 in 3 forks) | holds |"),
                AT_MOST_HALF.line(answer));
    }

    @Test
    void mediansAreThoseOfTheForks() {
        assertEquals(3, new Series("", "", Metric.P50, List.of(9.0, 1.0, 3.0)).median());
        assertEquals(2, new Series("", "", Metric.P50, List.of(9.0, 1.0, 3.0, 1.0)).median());
    }

    @Test
    void theReportKeepsWhatWasNotAskedAgain(@TempDir Path folder) throws IOException {
        new Report(folder).write(new RoundTrip(), answer(10, 5));
        Answer stream = new Answer("stream", "", Machine.here(), Plan.of("full"), 0, new ArrayList<>(),
                new ArrayList<>(List.of("the server ended")));
        stream.add(Contender.PLAIN.title(), List.of(new Figure("64 B", Metric.MEGABYTES, 20)));
        new Report(folder).write(new Streaming(), stream);
        String results = Files.readString(folder.resolve("results.md"));
        assertTrue(results.contains("| 64 B | RdmaSocket | 5.00 (0.500) |"), results);
        assertTrue(results.contains("| 64 B | java.net.Socket | 20.0 (1.00) |"), results);
        assertTrue(results.contains("Failed: the server ended"), results);
        String chart = Files.readString(folder.resolve("stream.svg"));
        assertTrue(chart.contains("<svg"), "a chart");
        stream.add(Contender.PLAIN.title(), List.of(new Figure("64 B", Metric.MEGABYTES, 2_000)));
        new Report(folder).write(new Streaming(), stream);
        assertNotEquals(chart, Files.readString(folder.resolve("stream.svg")), "the bars do not follow the figures");
    }

    private static Answer answer(double plain, double... ours) throws IOException {
        return answer("full", plain, ours);
    }

    private static Answer answer(String plan, double plain, double... ours) throws IOException {
        Answer answer = new Answer("round-trip", "", Machine.here(), Plan.of(plan), 0, new ArrayList<>(),
                new ArrayList<>());
        answer.add(Contender.PLAIN.title(), List.of(new Figure("64 B", Metric.P50, plain)));
        for (double figure : ours) {
            answer.add(Contender.RDMA.title(), List.of(new Figure("64 B", Metric.P50, figure)));
        }
        return answer;
    }
}
