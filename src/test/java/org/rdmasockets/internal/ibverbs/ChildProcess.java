package org.rdmasockets.internal.ibverbs;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a main class of the tests in a JVM of its own. */
final class ChildProcess {
    /** Two starts of a JVM in an emulated machine that is busy take minutes. */
    private static final long LIMIT_SECONDS = 240;

    /** How a process ended, and what it printed to both outputs. */
    record Result(int status, String output) {
    }

    private ChildProcess() {
    }

    /**
     * Runs a main class.
     *
     * @param prefix command in front of java, such as one that changes the user
     * @param options options of java
     * @param main the class
     * @param arguments its arguments
     * @return how it ended
     */
    static Result java(List<String> prefix, List<String> options, Class<?> main, String... arguments)
            throws Exception {
        List<String> command = new ArrayList<>(prefix);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // The second compiler has crashed under emulation, see src/test/guest/test.
        command.add("-XX:TieredStopAtLevel=1");
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError(command + " does not end: " + output);
            }
            return new Result(process.exitValue(), output);
        } finally {
            process.destroyForcibly();
        }
    }
}
