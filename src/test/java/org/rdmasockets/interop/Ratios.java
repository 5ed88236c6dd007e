package org.rdmasockets.interop;

import java.io.IOException;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Round trip of 64 bytes and throughput of 64 KiB, one after the other on one machine: RdmaSocket, rstream in C and
 * java.net.Socket, all speaking rstream's protocol between two processes. See {@code src/test/guest/ratios}.
 */
final class Ratios {
    private static final int SMALL_BYTES = 64;
    private static final int LARGE_BYTES = 65_536;

    /** Iterations of the measured run, and messages per iteration. */
    private static final int SMALL_ITERATIONS = 3_000;
    private static final int LARGE_ITERATIONS = 10;
    private static final int LARGE_MESSAGES = 100;

    private static final int RUNS = 4;
    /** Longest wait for a measurement, on an emulated machine. */
    private static final long RUN_MILLIS = 110_000;
    private static final String C_PORT = "7471";
    private static final Pattern RSTREAM_RESULT = Pattern.compile("custom .* ([\\d.]+)s +\\S+ +([\\d.]+)\\s*$",
            Pattern.MULTILINE);

    /**
     * A line of the table.
     *
     * @param name what was measured
     * @param roundTripMicros round trip of a small message
     * @param megabytesPerSecond throughput of large messages, one direction after the other
     */
    private record Line(String name, double roundTripMicros, double megabytesPerSecond) {
    }

    private Ratios() {
    }

    /**
     * Measures and prints; as {@code server} or {@code client} it is one of the two processes.
     *
     * @param arguments nothing, or {@code server THREADS BYTES}, or {@code client THREADS BYTES PORT}
     */
    static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            print(measure());
            return;
        }
        boolean virtual = arguments[1].equals("virtual");
        int bytes = Integer.parseInt(arguments[2]);
        Throwable[] failure = new Throwable[1];
        Thread thread = (virtual ? Thread.ofVirtual() : Thread.ofPlatform()).unstarted(() -> {
            try {
                if (arguments[0].equals("server")) {
                    serve(bytes);
                } else {
                    System.out.println("nanos " + dial(bytes, Integer.parseInt(arguments[3])));
                }
            } catch (IOException e) {
                failure[0] = e;
            }
        });
        thread.start();
        thread.join();
        if (failure[0] != null) {
            failure[0].printStackTrace();
            System.exit(1);
        }
    }

    private static int messages(int bytes) {
        return bytes == SMALL_BYTES ? 1 : LARGE_MESSAGES;
    }

    private static int iterations(int bytes) {
        return bytes == SMALL_BYTES ? SMALL_ITERATIONS : LARGE_ITERATIONS;
    }

    private static void serve(int bytes) throws IOException {
        try (ServerSocket server = TestBed.listen()) {
            System.out.println("listening " + server.getLocalPort());
            try (Socket socket = server.accept()) {
                socket.setTcpNoDelay(true);
                for (int i = 0; i < RUNS; i++) {
                    new RstreamPeer(socket, bytes, false).runServer(iterations(bytes), messages(bytes));
                }
            }
        }
    }

    /** The best of the runs, which also warm up, in nanoseconds. */
    private static long dial(int bytes, int port) throws IOException {
        try (Socket socket = TestBed.connect(port)) {
            socket.setTcpNoDelay(true);
            long best = Long.MAX_VALUE;
            for (int i = 0; i < RUNS; i++) {
                best = Math.min(best,
                        new RstreamPeer(socket, bytes, false).runClient(iterations(bytes), messages(bytes)));
            }
            return best;
        }
    }

    private static List<Line> measure() throws IOException, InterruptedException {
        List<Line> lines = new ArrayList<>();
        lines.add(rstream("rstream, blocking", "b"));
        lines.add(rstream("rstream, polling", "n"));
        for (String kind : List.of("rdma", "tcp")) {
            for (String threads : List.of("virtual", "platform")) {
                String name = (kind.equals("rdma") ? "RdmaSocket, " : "java.net.Socket, ") + threads + " threads";
                lines.add(new Line(name, roundTripMicros(java(kind, threads, SMALL_BYTES)),
                        megabytesPerSecond(java(kind, threads, LARGE_BYTES))));
            }
        }
        return lines;
    }

    private static double roundTripMicros(double nanos) {
        return nanos / SMALL_ITERATIONS / 1_000;
    }

    private static double megabytesPerSecond(double nanos) {
        return 2.0 * LARGE_BYTES * LARGE_MESSAGES * LARGE_ITERATIONS / nanos * 1_000;
    }

    private static double java(String kind, String threads, int bytes) throws IOException, InterruptedException {
        // The first compiler alone, for both: patching code that runs crashes JVMs on the emulated processors.
        List<String> options = List.of("-XX:TieredStopAtLevel=1", "-Dorg.rdmasockets.test.sockets=" + kind);
        try (Program server = Program.java(options, Ratios.class.getName(), "server", threads, "" + bytes);
                Program client = Program.java(options, Ratios.class.getName(), "client", threads, "" + bytes,
                        server.awaitLine("listening"))) {
            try {
                double nanos = Double.parseDouble(client.awaitLine("nanos", RUN_MILLIS));
                client.awaitSuccess();
                server.awaitSuccess();
                return nanos;
            } catch (AssertionError e) {
                throw new AssertionError(e.getMessage() + "\nand its server: " + server, e);
            }
        }
    }

    private static Line rstream(String name, String mode) throws IOException, InterruptedException {
        return new Line(name, roundTripMicros(rstreamNanos(mode, SMALL_BYTES)),
                megabytesPerSecond(rstreamNanos(mode, LARGE_BYTES)));
    }

    /** The best of the runs; rstream connects anew for each. */
    private static double rstreamNanos(String mode, int bytes) throws IOException, InterruptedException {
        double best = Double.MAX_VALUE;
        for (int i = 0; i < RUNS; i++) {
            try (Program server = rstream(mode, bytes, "-b")) {
                best = Math.min(best, rstreamClient(mode, bytes));
                server.awaitSuccess();
            }
        }
        return best;
    }

    /** The server does not say when it listens: who comes too early is refused, and comes again. */
    private static double rstreamClient(String mode, int bytes) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TestBed.PATIENCE_MILLIS * 1_000_000L;
        while (true) {
            try (Program client = rstream(mode, bytes, "-s")) {
                client.awaitEnd();
                Matcher result = RSTREAM_RESULT.matcher(client.output());
                if (result.find()) {
                    // The time is printed in hundredths of a second, the microseconds per transfer in hundredths.
                    return Double.parseDouble(result.group(2)) * 1_000 * 2 * iterations(bytes) * messages(bytes);
                }
                if (System.nanoTime() > deadline) {
                    throw new IOException("no result: " + client);
                }
            }
        }
    }

    private static Program rstream(String mode, int bytes, String role) throws IOException {
        return Program.start("rstream", "-p", C_PORT, "-T", mode, "-S", "" + bytes, "-C", "" + messages(bytes),
                "-I", "" + iterations(bytes), role, TestBed.address().getHostAddress());
    }

    private static void print(List<Line> lines) {
        PrintStream out = System.out;
        Line reference = lines.getFirst();
        out.printf(Locale.ROOT, "%s%n%-34s %14s %8s %18s %8s%n", TestBed.device(), "", "RTT 64 B [us]", "ratio",
                "64 KiB [MB/s]", "ratio");
        for (Line line : lines) {
            out.printf(Locale.ROOT, "%-34s %14.1f %8.2f %18.1f %8.2f%n", line.name(), line.roundTripMicros(),
                    line.roundTripMicros() / reference.roundTripMicros(), line.megabytesPerSecond(),
                    line.megabytesPerSecond() / reference.megabytesPerSecond());
        }
        out.println("ratios to the first line; higher is slower for the round trip, faster for the throughput");
    }
}
