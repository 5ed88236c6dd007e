package org.rdmasockets.benchmark;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The suite: asks every contender every question and writes the results. See {@code src/jmh/run}. */
final class Benchmarks {
    private final Plan plan;
    private final Report report;
    private boolean failed;
    private long rescues;

    private Benchmarks(Plan plan, Report report) {
        this.plan = plan;
        this.report = report;
    }

    /**
     * Measures; the exit status is 1 if anything failed.
     *
     * @param arguments the plan, the folder for the results, and questions (those of the plan unless told otherwise)
     */
    static void main(String[] arguments) throws IOException, InterruptedException {
        Plan plan = Plan.of(arguments[0]);
        List<Question> questions = arguments.length == 2 ? plan.questions()
                : Arrays.stream(arguments).skip(2).map(Question::of).toList();
        Benchmarks benchmarks = new Benchmarks(plan, new Report(Path.of(arguments[1])));
        for (Question question : questions) {
            benchmarks.ask(question);
        }
        System.out.println("rescued wake-ups: " + benchmarks.rescues);
        System.exit(benchmarks.failed ? 1 : 0);
    }

    /** One fork of each contender after the other, and again: so what the machine does meanwhile meets all of them. */
    private void ask(Question question) throws IOException, InterruptedException {
        Answer answer = new Answer(question.name(), Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
                Machine.here(), plan, 0, new ArrayList<>(), new ArrayList<>());
        question.prepare(plan);
        OtherLoad others = new OtherLoad();
        for (int fork = 1; fork <= plan.forks(); fork++) {
            others.sample();
            answer = answer.withOthers(others.percent());
            askAll(question, answer, fork);
            report.write(question, answer);
        }
        failed |= !answer.failures().isEmpty();
        rescues += answer.rescues().orElse(0);
    }

    /** Programs in C come first: they are done in seconds, and what is compared with them is then worth something. */
    private void askAll(Question question, Answer answer, int fork) throws IOException, InterruptedException {
        for (NativeTool tool : NativeTool.values()) {
            if (plan.hasDevice() && tool.suits(question)) {
                add(question, answer, fork, tool.title(), () -> tool.measure(question, plan));
            }
        }
        for (Contender contender : Contender.values()) {
            if (plan.includes(contender) && question.suits(contender)) {
                add(question, answer, fork, contender.title(), () -> Fork.measure(contender, question, plan));
            }
        }
    }

    /** A measurement, which may fail. */
    @FunctionalInterface
    private interface Measurement {
        List<Figure> run() throws IOException, InterruptedException;
    }

    /** Measures, and writes the figures at once: a run that is stopped keeps the figures that it has. */
    private void add(Question question, Answer answer, int fork, String title, Measurement measurement)
            throws IOException, InterruptedException {
        System.out.printf("%s %d/%d: %s%n", question.name(), fork, plan.forks(), title);
        try {
            List<Figure> figures = measurement.run();
            answer.add(title, figures);
            figures.stream().filter(figure -> figure.metric() == question.headline()).forEach(figure ->
                    System.out.printf("    %s: %s (%s)%n", figure.scenario(), Tables.number(figure.value()),
                            figure.metric().title()));
        } catch (IOException e) {
            System.err.println(e.getMessage());
            answer.failures().add(e.getMessage());
        }
        report.writeFigures(question, answer);
    }
}
