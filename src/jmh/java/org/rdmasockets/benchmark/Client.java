package org.rdmasockets.benchmark;

import com.google.gson.Gson;

/** The process that asks: starts the server of a contender, measures, and prints each figure in a line. */
final class Client {
    private Client() {
    }

    /**
     * Measures.
     *
     * @param arguments the names of contender, question and plan
     */
    static void main(String[] arguments) {
        Gson gson = new Gson();
        int status = 0;
        try (Trial trial = new Trial(Contender.valueOf(arguments[0]), Plan.of(arguments[2]),
                figure -> System.out.println(gson.toJson(figure)))) {
            Question.of(arguments[1]).measure(trial);
            trial.noteRescues();
        } catch (Exception e) {
            e.printStackTrace();
            status = 1;
        }
        System.exit(status);
    }
}
