package org.rdmasockets.benchmark;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The results in a folder: for each question the raw figures as JSON and a chart, and tables of all of them. Questions
 * that were not asked this time keep the results that they have.
 */
final class Report {
    private static final Gson GSON = new GsonBuilder().setPrettyPrinting().create();

    private final Path folder;

    Report(Path folder) throws IOException {
        this.folder = Files.createDirectories(folder);
    }

    /** Writes the results of a question, and the tables anew; the chart alone takes seconds where all is emulated. */
    void write(Question question, Answer answer) throws IOException {
        writeFigures(question, answer);
        Chart.write(question, answer, folder.resolve(question.name() + ".svg"));
    }

    /** The same without the chart. */
    void writeFigures(Question question, Answer answer) throws IOException {
        Files.writeString(folder.resolve(question.name() + ".json"), GSON.toJson(answer) + "\n");
        List<Answer> answers = new ArrayList<>();
        for (Question each : Question.ALL) {
            Path file = folder.resolve(each.name() + ".json");
            if (Files.exists(file)) {
                answers.add(GSON.fromJson(Files.readString(file), Answer.class));
            }
        }
        Files.writeString(folder.resolve("results.md"), Tables.of(answers));
    }
}
