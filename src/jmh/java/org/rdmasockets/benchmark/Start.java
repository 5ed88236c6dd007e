package org.rdmasockets.benchmark;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.guard.FirstAnswer;

/**
 * How long does a JVM that starts take until its first connect, and until the first answer after it? The server has
 * answered others before. Both are on one host.
 */
final class Start implements Question {
    /** A JVM without anything prepared. */
    static final String USUAL = "as usual";
    /** One that begins with a cache of loaded and linked classes; what was run to make it is the same for all. */
    static final String CACHED = "from an AOT cache";
    private static final int BACKLOG = 50;
    private static final long LIMIT_SECONDS = 120;
    private static final double MICROS_PER_MILLI = 1_000;

    @Override
    public String name() {
        return "start";
    }

    @Override
    public String title() {
        return "First connect and first answer of a JVM";
    }

    @Override
    public Metric headline() {
        return Metric.FIRST_ANSWER;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender == Contender.PLAIN || contender == Contender.RDMA;
    }

    @Override
    public void measure(Trial trial) throws Exception {
        Path folder = Files.createTempDirectory("start");
        try (ServerSocket server = trial.contender() == Contender.RDMA ? new RdmaServerSocket() : new ServerSocket()) {
            server.bind(new InetSocketAddress(FirstAnswer.host(), 0), BACKLOG);
            Thread.ofPlatform().daemon().start(() -> serve(server));
            String port = Integer.toString(server.getLocalPort());
            String path = jars(folder);
            measure(trial, USUAL, port, List.of("-cp", path));
            String cache = folder.resolve("cache").toString();
            run(trial, List.of("-cp", path, "-Xlog:disable", "-XX:AOTCacheOutput=" + cache), "train");
            measure(trial, CACHED, port, List.of("-cp", path, "-XX:AOTCache=" + cache, "-XX:AOTMode=on"));
        } finally {
            try (Stream<Path> files = Files.walk(folder)) {
                files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
            }
        }
    }

    private static void serve(ServerSocket server) {
        try {
            FirstAnswer.serve(server);
        } catch (IOException e) {
            return; // closed: the end of the measurement
        }
    }

    /** This class path without folders, which no cache is for. */
    private static String jars(Path folder) throws IOException {
        ToolProvider jar = ToolProvider.findFirst("jar").orElseThrow();
        List<String> entries = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (Files.isDirectory(Path.of(entry))) {
                Path made = folder.resolve(entries.size() + ".jar");
                if (jar.run(System.out, System.err, "--create", "--file", made.toString(), "-C", entry, ".") != 0) {
                    throw new IOException("no jar could be made of " + entry);
                }
                entries.add(made.toString());
            } else {
                entries.add(entry);
            }
        }
        return String.join(File.pathSeparator, entries);
    }

    /** The medians of some new JVMs; the first ones only warm the server up. */
    private static void measure(Trial trial, String scenario, String port, List<String> options)
            throws IOException, InterruptedException {
        String socket = trial.contender() == Contender.RDMA ? FirstAnswer.RDMA : FirstAnswer.PLAIN;
        int starts = trial.plan().starts();
        List<Double> connects = new ArrayList<>();
        List<Double> answers = new ArrayList<>();
        for (int i = -starts; i < starts; i++) {
            List<String> micros = run(trial, options, socket, port);
            if (i >= 0) {
                connects.add(Long.parseLong(micros.getFirst()) / MICROS_PER_MILLI);
                answers.add(Long.parseLong(micros.getLast()) / MICROS_PER_MILLI);
            }
        }
        trial.note(scenario, Metric.FIRST_CONNECT, Series.median(connects));
        trial.note(scenario, Metric.FIRST_ANSWER, Series.median(answers));
    }

    /** Runs the program: what it says. */
    private static List<String> run(Trial trial, List<String> options, String... arguments)
            throws IOException, InterruptedException {
        ProcessBuilder command = Jvm.command(trial.contender(), options, FirstAnswer.class, arguments);
        if (arguments.length == 1) {
            command.redirectError(ProcessBuilder.Redirect.DISCARD); // it says which options it has, whatever it is told
        }
        Process process = command.start();
        Thread limit = Thread.startVirtualThread(() -> Fork.endLate(process, LIMIT_SECONDS));
        try (BufferedReader lines = process.inputReader()) {
            List<String> said = lines.readAllLines();
            int status = process.waitFor();
            limit.join();
            if (status != 0) {
                throw new IOException("a JVM that starts ended with status %d, or after %d s".formatted(status,
                        LIMIT_SECONDS));
            }
            return said;
        } finally {
            process.destroyForcibly();
        }
    }
}
