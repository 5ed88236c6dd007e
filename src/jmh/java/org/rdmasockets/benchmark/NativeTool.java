package org.rdmasockets.benchmark;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Programs in C that come with rdma-core and perftest, on the RDMA device of the guest. */
enum NativeTool {
    RSTREAM_POLLING("rstream, polling", "round-trip", "stream") {
        @Override
        Figure measure(String question, int bytes) throws IOException, InterruptedException {
            return rstream("n", question, bytes);
        }
    },
    RSTREAM_BLOCKING("rstream, blocking", "round-trip", "stream") {
        @Override
        Figure measure(String question, int bytes) throws IOException, InterruptedException {
            return rstream("b", question, bytes);
        }
    },
    WRITE_LATENCY("ib_write_lat", "round-trip") {
        @Override
        Figure measure(String question, int bytes) throws IOException, InterruptedException {
            return latency("ib_write_lat", bytes);
        }
    },
    SEND_LATENCY("ib_send_lat", "round-trip") {
        @Override
        Figure measure(String question, int bytes) throws IOException, InterruptedException {
            return latency("ib_send_lat", bytes);
        }
    },
    WRITE_BANDWIDTH("ib_write_bw", "stream") {
        @Override
        Figure measure(String question, int bytes) throws IOException, InterruptedException {
            return bandwidth(bytes);
        }
    };

    private static final int ITERATIONS = 1_000;
    /** Messages of an iteration one way. */
    private static final int STREAM_MESSAGES = 100;
    private static final int STREAM_ITERATIONS = 10;
    /** rstream tells a mean, which one long pause spoils: the median of as many means is taken. */
    private static final int RSTREAM_RUNS = 3;
    private static final int RSTREAM_ITERATIONS = 200;
    private static final long CLIENT_SECONDS = 60;
    private static final long LISTENING_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final String PORT = "7471";
    /** Ends with the microseconds of a message, one way. */
    private static final Pattern RSTREAM = Pattern.compile("custom .* +([\\d.]+)\\s*$", Pattern.MULTILINE);
    /** Bytes, iterations, least, most and typical microseconds, one way. */
    private static final Pattern LATENCY = Pattern.compile("^ *\\d+ +\\d+ +[\\d.]+ +[\\d.]+ +([\\d.]+) ",
            Pattern.MULTILINE);
    /** Bytes, iterations, peak and average gigabits in a second. */
    private static final Pattern BANDWIDTH = Pattern.compile("^ *\\d+ +\\d+ +[\\d.]+ +([\\d.]+) ", Pattern.MULTILINE);
    private static final double MEGABYTES_PER_GIGABIT = 125;

    private final String title;
    private final List<String> questions;

    NativeTool(String title, String... questions) {
        this.title = title;
        this.questions = List.of(questions);
    }

    /** The name in tables. */
    String title() {
        return title;
    }

    boolean suits(Question question) {
        return questions.contains(question.name());
    }

    /** The figures of one run for each size. */
    List<Figure> measure(Question question, Plan plan) throws IOException, InterruptedException {
        List<Figure> figures = new ArrayList<>();
        boolean stream = question.name().equals("stream");
        for (int bytes : stream ? plan.streamBytes() : plan.roundTripBytes()) {
            figures.add(measure(question.name(), bytes));
        }
        return figures;
    }

    /** One run. */
    abstract Figure measure(String question, int bytes) throws IOException, InterruptedException;

    private static Figure rstream(String mode, String question, int bytes) throws IOException, InterruptedException {
        boolean stream = question.equals("stream");
        String[] common = {"rstream", "-p", PORT, "-T", mode, "-S", "" + bytes,
            "-C", "" + (stream ? STREAM_MESSAGES : 1), "-I", "" + (stream ? STREAM_ITERATIONS : RSTREAM_ITERATIONS)};
        List<Double> means = new ArrayList<>();
        for (int i = 0; i < RSTREAM_RUNS; i++) {
            means.add(run(RSTREAM, with(common, "-b", address()), with(common, "-s", address())));
        }
        double micros = Series.median(means);
        return stream ? new Figure(Trial.size(bytes), Metric.MEGABYTES, bytes / micros)
                : new Figure(Trial.size(bytes), Metric.P50, 2 * micros);
    }

    private static Figure latency(String tool, int bytes) throws IOException, InterruptedException {
        String[] common = {tool, "-R", "-p", PORT, "-s", "" + bytes, "-n", "" + ITERATIONS};
        double micros = run(LATENCY, with(common, "-d", device()), with(common, "-d", device(), address()));
        return new Figure(Trial.size(bytes), Metric.P50, 2 * micros);
    }

    private static Figure bandwidth(int bytes) throws IOException, InterruptedException {
        String[] common = {"ib_write_bw", "-R", "-p", PORT, "-s", "" + bytes, "-n", "" + ITERATIONS,
            "--report_gbits", "-d", device()};
        double gigabits = run(BANDWIDTH, common, with(common, address()));
        return new Figure(Trial.size(bytes), Metric.MEGABYTES, gigabits * MEGABYTES_PER_GIGABIT);
    }

    private static String[] with(String[] command, String... more) {
        String[] all = Arrays.copyOf(command, command.length + more.length);
        System.arraycopy(more, 0, all, command.length, more.length);
        return all;
    }

    private static String address() {
        return System.getProperty("org.rdmasockets.test.address");
    }

    private static String device() {
        return System.getProperty("org.rdmasockets.test.device");
    }

    /** Runs both sides. The server does not say when it listens: a client that comes too early comes again. */
    private static double run(Pattern result, String[] server, String[] client)
            throws IOException, InterruptedException {
        Process serving = new ProcessBuilder(server).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        try {
            long begin = System.nanoTime();
            String output = "";
            while (serving.isAlive() && System.nanoTime() - begin < LISTENING_NANOS) {
                output = output(client);
                Matcher figure = result.matcher(output);
                if (figure.find()) {
                    return Double.parseDouble(figure.group(1));
                }
            }
            throw new IOException(String.join(" ", client) + " has no result: " + output.strip());
        } finally {
            serving.destroyForcibly();
            serving.waitFor();
        }
    }

    private static String output(String[] command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        Thread limit = Thread.startVirtualThread(() -> Fork.endLate(process, CLIENT_SECONDS));
        try (BufferedReader lines = process.inputReader()) {
            return lines.lines().collect(Collectors.joining("\n"));
        } finally {
            limit.join();
        }
    }
}
