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
    private Benchmarks() {
    }

    /**
     * Measures; the exit status is 1 if anything failed.
     *
     * @param arguments the plan, the folder for the results, and questions (all unless told otherwise)
     */
    static void main(String[] arguments) throws IOException, InterruptedException {
        Plan plan = Plan.of(arguments[0]);
        List<Question> questions = arguments.length == 2 ? Question.ALL
                : Arrays.stream(arguments).skip(2).map(Question::of).toList();
        Report report = new Report(Path.of(arguments[1]));
        boolean failed = false;
        for (Question question : questions) {
            Answer answer = ask(question, plan);
            failed |= !answer.failures().isEmpty();
            report.write(question, answer);
        }
        System.exit(failed ? 1 : 0);
    }

    /** One fork of each contender after the other, and again: so what the machine does meanwhile meets all of them. */
    private static Answer ask(Question question, Plan plan) throws IOException, InterruptedException {
        Answer answer = new Answer(question.name(), Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
                Machine.here(), plan, 0, new ArrayList<>(), new ArrayList<>());
        OtherLoad others = new OtherLoad();
        for (int fork = 1; fork <= plan.forks(); fork++) {
            others.sample();
            askAll(question, answer, fork);
        }
        return answer.withOthers(others.percent());
    }

    private static void askAll(Question question, Answer answer, int fork) throws InterruptedException {
        Plan plan = answer.plan();
        for (Contender contender : Contender.values()) {
            if (plan.includes(contender) && question.suits(contender)) {
                add(answer, contender.title(), fork, () -> Fork.measure(contender, question, plan));
            }
        }
        for (NativeTool tool : NativeTool.values()) {
            if (plan.hasDevice() && tool.suits(question)) {
                add(answer, tool.title(), fork, () -> tool.measure(question, plan));
            }
        }
    }

    /** What may fail. */
    @FunctionalInterface
    private interface Measurement {
        List<Figure> run() throws IOException, InterruptedException;
    }

    private static void add(Answer answer, String title, int fork, Measurement measurement)
            throws InterruptedException {
        System.out.printf("%s %d/%d: %s%n", answer.question(), fork, answer.plan().forks(), title);
        try {
            answer.add(title, measurement.run());
        } catch (IOException e) {
            System.err.println(e.getMessage());
            answer.failures().add(e.getMessage());
        }
    }
}
