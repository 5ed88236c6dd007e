package org.rdmasockets.internal.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.contract.ProcessStarts;

/**
 * Millions of completions over a simulated device, in JVMs of their own, because the number of carriers is a property
 * of the JVM. {@code -Dorg.rdmasockets.test.simulationScale=N} (default 400) makes it longer.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
@Execution(ExecutionMode.CONCURRENT)
class SimulationTest {
    private static final String SCALE = System.getProperty("org.rdmasockets.test.simulationScale", "400");
    private static final long LIMIT_MINUTES = 2L + Integer.parseInt(SCALE) / 400;
    private static final long MAX_WAIT_MILLIS = 2_500;
    private static final Pattern MAX_WAIT = Pattern.compile("maxMillis=(\\d+)");

    @Test
    void nothingIsLostOnOneCarrier() throws Exception {
        run(1, SimulationMain.class, SCALE);
    }

    @Test
    void nothingIsLostOnTwoCarriers() throws Exception {
        run(2, SimulationMain.class, SCALE);
    }

    /** Without the valve the third thread does not run at all in these five seconds (JDK-8373118). */
    @Test
    void twoBusyPairsDoNotKeepAThirdThreadFromRunning() throws Exception {
        String output = run(2, StarvationMain.class, "true", "5");
        Matcher max = MAX_WAIT.matcher(output);
        assertTrue(max.find(), output);
        assertTrue(Long.parseLong(max.group(1)) <= MAX_WAIT_MILLIS, output);
    }

    /** Runs a main class with so many carriers; it must succeed in time. Returns what it printed. */
    private static String run(int carriers, Class<?> main, String... args) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-ea", "-Xmx512m",
                "-Djdk.virtualThreadScheduler.parallelism=" + carriers,
                "-Djdk.virtualThreadScheduler.maxPoolSize=" + (carriers + 2), "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                main.getName()));
        command.addAll(List.of(args));
        Process process = ProcessStarts.start(new ProcessBuilder(command).redirectErrorStream(true));
        try {
            StringBuffer output = new StringBuffer();
            Thread reader = Thread.ofPlatform().daemon().start(() -> copy(process, output));
            boolean ended = process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES);
            reader.join(ended ? TimeUnit.SECONDS.toMillis(10) : 1);
            System.out.println(output);
            assertTrue(ended, () -> "not done after " + LIMIT_MINUTES + " minutes:\n" + output);
            assertEquals(0, process.exitValue(), output::toString);
            return output.toString();
        } finally {
            process.destroyForcibly();
        }
    }

    private static void copy(Process process, StringBuffer output) {
        try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                output.append(line).append('\n');
            }
        } catch (IOException e) {
            output.append(e);
        }
    }
}
