package org.rdmasockets.benchmark;

import java.io.IOException;
import java.util.List;

/** One question: a class, a page of results, a chart. */
interface Question {
    /** All of them, in the order of the results. */
    List<Question> ALL = List.of(new RoundTrip(), new Streaming(), new StreamKinds(), new RequestResponse(),
            new OpenLoop(), new Moderate(), new ConnectAndClose(),
            new FirstSeconds("first-seconds", 64, false), new FirstSeconds("first-seconds-8-kib", 8 * 1024, true),
            new FirstSeconds("first-seconds-64-kib", 64 * 1024, true), new Interpreted(), new Start(),
            new OpenParked("many-open", 1), new OpenParked("many-open-16", 16),
            new AskAmongParked("many-ask", 0), new AskAmongParked("many-ask-100", 100),
            new AskAmongParked("many-ask-1000", 1_000), new IdleConnections(), new Turns());

    /** On the command line and in names of files. */
    String name();

    /** The question. */
    String title();

    /** The figure that the chart shows. */
    Metric headline();

    /** Whether it makes sense for a contender. */
    default boolean suits(Contender contender) {
        return !contender.roundTripOnly() && contender.isOrdinary();
    }

    /** Options of its JVMs, beside those of the contender. */
    default List<String> jvmOptions() {
        return List.of();
    }

    /** Finds out what has to be known before the first fork. */
    default void prepare(Plan plan) throws IOException, InterruptedException {
        // Most need nothing.
    }

    /** Answers it once; the trial notes the figures. */
    void measure(Trial trial) throws Exception;

    static Question of(String name) {
        return ALL.stream().filter(question -> question.name().equals(name)).findFirst().orElseThrow(
                () -> new IllegalArgumentException(name + " is none of " + ALL.stream().map(Question::name).toList()));
    }
}
