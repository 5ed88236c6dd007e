package org.rdmasockets.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.ProcessBuilder.Redirect;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.ProcessStarts;

/**
 * Another process: started under {@code timeout}, so that it ends whatever happens, with its output kept. All waits are
 * bounded and fail with the output so far.
 */
public final class Program implements AutoCloseable {
    /** No program may run longer, in seconds. */
    private static final int LIFETIME_SECONDS = Integer.getInteger("org.rdmasockets.test.lifetime",
            110 * TestBed.PATIENCE_MILLIS / 60_000);

    private static final String PRELOAD = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so.1";

    private final List<String> command;
    private final Process process;
    private final ProcessHandle itself;
    private final Thread printer;

    /** Its output so far, line by line; guarded by itself. */
    private final List<String> lines = new ArrayList<>();

    private Program(Map<String, String> environment, List<String> command) throws IOException {
        this.command = command;
        List<String> limited = new ArrayList<>(List.of("timeout", "--kill-after=2", "" + LIFETIME_SECONDS));
        limited.addAll(command);
        ProcessBuilder builder = new ProcessBuilder(limited).redirectErrorStream(true);
        builder.environment().putAll(environment);
        process = ProcessStarts.start(builder);
        printer = Thread.ofPlatform().daemon().name("output of " + command.getFirst()).start(this::keepOutput);
        itself = findItself();
    }

    /**
     * Starts a command.
     *
     * @param command name and arguments
     * @return the running program
     * @throws IOException if it cannot be started
     */
    public static Program start(String... command) throws IOException {
        return new Program(Map.of(), List.of(command));
    }

    /**
     * Starts a main class with this JVM's class path and test properties.
     *
     * @param mainClass fully qualified name
     * @param arguments arguments
     * @return the running program
     * @throws IOException if it cannot be started
     */
    public static Program java(String mainClass, String... arguments) throws IOException {
        return java(List.of("-XX:TieredStopAtLevel=1"), mainClass, arguments);
    }

    /**
     * Starts a main class with this JVM's class path and test properties.
     *
     * @param options options for the JVM, which win over this JVM's
     * @param mainClass fully qualified name
     * @param arguments arguments
     * @return the running program
     * @throws IOException if it cannot be started
     */
    public static Program java(List<String> options, String mainClass, String... arguments) throws IOException {
        Path launcher = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> command = new ArrayList<>(List.of(launcher.toString(), "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path")));
        System.getProperties().stringPropertyNames().stream().filter(name -> name.startsWith("org.rdmasockets."))
                .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
        command.addAll(options);
        command.add(mainClass);
        command.addAll(List.of(arguments));
        return new Program(Map.of(), command);
    }

    /**
     * Starts a Python script of this package. Where RDMA is under test, librspreload turns its sockets into rsockets.
     *
     * @param script file name
     * @param arguments arguments
     * @return the running program
     * @throws IOException if it cannot be started
     */
    public static Program python(String script, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of("/usr/bin/python3", "-B", file(script)));
        command.addAll(List.of(arguments));
        return new Program(TestBed.tcp() ? Map.of() : Map.of("LD_PRELOAD", PRELOAD), command);
    }

    /** A file beside this class. */
    static String file(String resource) {
        URL url = Program.class.getResource(resource);
        if (url == null) {
            throw new IllegalArgumentException("no such file beside this class: " + resource);
        }
        try {
            return Path.of(url.toURI()).toString();
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException(url.toString(), e);
        }
    }

    private void keepOutput() {
        try (BufferedReader reader = new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                append(line);
            }
        } catch (IOException e) {
            append("(output lost: " + e + ")");
        }
    }

    private void append(String line) {
        synchronized (lines) {
            lines.add(line);
            lines.notifyAll();
        }
    }

    /** The program is the child of {@code timeout}; it may take a moment to appear, or have ended already. */
    private ProcessHandle findItself() {
        long deadline = deadline();
        while (process.isAlive() && System.nanoTime() < deadline) {
            var child = process.children().findFirst();
            if (child.isPresent()) {
                return child.get();
            }
            Thread.onSpinWait();
        }
        return process.toHandle();
    }

    private static long deadline() {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TestBed.PATIENCE_MILLIS);
    }

    /**
     * The process itself.
     *
     * @return its number
     */
    public long pid() {
        return itself.pid();
    }

    /**
     * Tells whether it still runs.
     *
     * @return false once it has ended
     */
    public boolean isAlive() {
        return process.isAlive();
    }

    /**
     * Waits for a line.
     *
     * @param start how the line begins
     * @return the rest of the line
     * @throws InterruptedException if interrupted
     */
    public String awaitLine(String start) throws InterruptedException {
        return awaitLine(start, TestBed.PATIENCE_MILLIS);
    }

    /**
     * Waits for a line.
     *
     * @param start how the line begins
     * @param limitMillis longest wait, in milliseconds
     * @return the rest of the line
     * @throws InterruptedException if interrupted
     */
    public String awaitLine(String start, long limitMillis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
        synchronized (lines) {
            while (true) {
                for (String line : lines) {
                    if (line.startsWith(start)) {
                        return line.substring(start.length()).strip();
                    }
                }
                long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                if (millis <= 0 || !printer.isAlive()) {
                    throw new AssertionError("no line beginning with '" + start + "' from " + this + threads());
                }
                lines.wait(Math.min(millis, 200));
            }
        }
    }

    /**
     * Waits for a text anywhere in the output: what the library logs comes from a thread of its own.
     *
     * @param text the text
     * @throws Exception if interrupted
     */
    public void awaitText(String text) throws Exception {
        Await.until("'" + text + "'", () -> output().contains(text), this::toString);
    }

    /**
     * Waits for the end, which must be a success.
     *
     * @return all output
     * @throws InterruptedException if interrupted
     */
    public String awaitSuccess() throws InterruptedException {
        if (awaitEnd() != 0) {
            throw new AssertionError("no success: " + this);
        }
        return output();
    }

    /**
     * Waits for the end.
     *
     * @return the exit status
     * @throws InterruptedException if interrupted
     */
    public int awaitEnd() throws InterruptedException {
        if (!process.waitFor(LIFETIME_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("no end: " + this);
        }
        printer.join(TestBed.PATIENCE_MILLIS);
        return process.exitValue();
    }

    /**
     * Waits for the end, but not for long.
     *
     * @param seconds longest wait
     * @return false if it still runs
     * @throws InterruptedException if interrupted
     */
    boolean endsWithin(int seconds) throws InterruptedException {
        return process.waitFor(seconds, TimeUnit.SECONDS);
    }

    /** Kills it as {@code kill -9} does: it gets no chance to say goodbye. */
    public void kill() {
        itself.destroyForcibly();
    }

    /**
     * Its output so far.
     *
     * @return all lines
     */
    public String output() {
        synchronized (lines) {
            return String.join("\n", lines);
        }
    }

    /** Kills it if it still runs. */
    @Override
    public void close() {
        itself.destroyForcibly();
        process.destroyForcibly();
    }

    /** The threads of a JVM that are in code of this project, virtual ones too, or nothing. */
    private String threads() {
        Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
        if (!process.isAlive() || !command.getFirst().endsWith("/java")) {
            return "";
        }
        try {
            Path dump = Files.createTempFile("threads", ".txt");
            try {
                new ProcessBuilder("timeout", "20", jcmd.toString(), "" + pid(), "Thread.dump_to_file", "-overwrite",
                        dump.toString()).redirectErrorStream(true).redirectOutput(Redirect.DISCARD).start().waitFor();
                return Arrays.stream(Files.readString(dump).split("\n\n"))
                        .filter(each -> each.contains("org.rdmasockets"))
                        .collect(Collectors.joining("\n\n", "\nthreads:\n", ""));
            } finally {
                Files.delete(dump);
            }
        } catch (IOException | InterruptedException e) {
            return "\nno dump of its threads: " + e;
        }
    }

    @Override
    public String toString() {
        String state = process.isAlive() ? "still running" : "ended with " + process.exitValue();
        return String.join(" ", command) + " (" + state + "), output:\n" + output();
    }
}
