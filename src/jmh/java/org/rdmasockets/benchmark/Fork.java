package org.rdmasockets.benchmark;

import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Asks a contender one question in two new JVMs, and waits for the end: theirs, or that of its patience. */
final class Fork {
    private static final long LIMIT_SECONDS = 600;

    private Fork() {
    }

    /** The figures; one that fails or takes too long throws, and leaves no process behind. */
    static List<Figure> measure(Contender contender, Question question, Plan plan)
            throws IOException, InterruptedException {
        Process client = Jvm.command(contender, question.jvmOptions(), Client.class, contender.name(),
                question.name(), plan.name()).start();
        try (BufferedReader lines = client.inputReader()) {
            Thread limit = Thread.startVirtualThread(() -> endLate(client, LIMIT_SECONDS));
            List<Figure> figures = new ArrayList<>();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                figures.add(new Gson().fromJson(line, Figure.class));
            }
            int status = client.waitFor();
            limit.join();
            if (status != 0) {
                throw new IOException("%s, %s: ended with status %d, or after %d s".formatted(contender.title(),
                        question.name(), status, LIMIT_SECONDS));
            }
            return figures;
        } finally {
            client.destroyForcibly();
        }
    }

    /** Waits for the end of a process, which comes in time or by force. */
    static void endLate(Process process, long seconds) {
        try {
            if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
        }
    }
}
