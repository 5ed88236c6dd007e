package org.rdmasockets.benchmark;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/** The results as Markdown. */
final class Tables {
    private Tables() {
    }

    static String of(List<Answer> answers) {
        StringBuilder text = new StringBuilder("""
                # Results

                Written by `src/jmh/run`; `docs/benchmarks/README.md` says what was measured and how. Medians of the
                forks; in parentheses the ratio to java.net.Socket on virtual threads in the same run. Promises are
                compared fork by fork, as neighbours in time, and then the median of the ratios is taken.

                """);
        promises(text, answers);
        for (Answer answer : answers) {
            Question question = Question.of(answer.question());
            text.append("## ").append(question.title()).append("\n\n![](").append(question.name()).append(".svg)\n\n");
            table(text, answer);
            answer.rescues().ifPresent(count -> text.append("Rescued wake-ups: ").append(count).append(".\n\n"));
            answer.failures().forEach(failure -> text.append("Failed: ").append(failure).append("\n\n"));
            text.append("%d forks, %s, plan `%s`. %s; others kept %s %% of it busy.%n%n".formatted(
                    answer.plan().forks(), answer.started(), answer.plan().name(), answer.machine(),
                    number(answer.otherPercent())));
        }
        return text.toString().stripTrailing() + "\n";
    }

    private static void promises(StringBuilder text, List<Answer> answers) {
        StringBuilder lines = new StringBuilder();
        for (Promise promise : Promise.ALL) {
            answers.forEach(answer -> lines.append(promise.line(answer)));
        }
        if (!lines.isEmpty()) {
            text.append("## Promises\n\n| figure | promise | measured | |\n|---|---|---|---|\n").append(lines)
                    .append('\n');
        }
    }

    private static void table(StringBuilder text, Answer answer) {
        List<Metric> metrics = answer.metrics();
        List<String> head = new ArrayList<>(List.of("", ""));
        metrics.forEach(metric -> head.add(metric.title()));
        row(text, head);
        text.append("|---|---|").append("---:|".repeat(metrics.size())).append('\n');
        for (String scenario : answer.scenarios()) {
            for (String contender : answer.contenders()) {
                List<String> cells = new ArrayList<>(List.of(scenario, contender));
                metrics.forEach(metric -> cells.add(cell(answer, contender, scenario, metric)));
                if (cells.stream().skip(2).anyMatch(cell -> !cell.isEmpty())) {
                    row(text, cells);
                }
            }
        }
        text.append('\n');
    }

    private static void row(StringBuilder text, List<String> cells) {
        text.append("| ").append(String.join(" | ", cells)).append(" |\n");
    }

    private static String cell(Answer answer, String contender, String scenario, Metric metric) {
        OptionalDouble figure = answer.median(contender, scenario, metric);
        OptionalDouble reference = answer.median(Answer.REFERENCE, scenario, metric);
        if (figure.isEmpty()) {
            return "";
        }
        if (reference.isEmpty() || reference.getAsDouble() == 0) {
            return number(figure.getAsDouble());
        }
        return number(figure.getAsDouble()) + " (" + number(figure.getAsDouble() / reference.getAsDouble()) + ")";
    }

    /** Three digits, or all before the point. */
    static String number(double value) {
        double size = Math.abs(value);
        int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
        return String.format(Locale.ROOT, "%,." + decimals + "f", value);
    }
}
