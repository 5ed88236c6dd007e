package org.rdmasockets.provider.sharedmemory;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a main class of the tests in a JVM of its own. */
public final class ChildJvm {
    /** Longest life of a process that is waited for, in seconds. */
    public static final long LIMIT_SECONDS = 100;

    private ChildJvm() {
    }

    /**
     * Starts a main class; both outputs are its standard output.
     *
     * @param prefix command in front of java
     * @param options options of java
     * @param main the class
     * @param arguments its arguments
     * @return the process
     */
    public static Process start(List<String> prefix, List<String> options, Class<?> main, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(prefix);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** Runs a main class to its end: what it printed. */
    public static String run(List<String> prefix, List<String> options, Class<?> main, String... arguments)
            throws Exception {
        Process process = start(prefix, options, main, arguments);
        try {
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError(main + " does not end: " + output);
            }
            return output;
        } finally {
            process.destroyForcibly();
        }
    }
}
