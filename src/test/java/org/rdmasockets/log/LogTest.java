package org.rdmasockets.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.provider.sharedmemory.ChildJvm;

/** What is said before SLF4J has its provider, by a program that ends at once. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LogTest {
    /** Says a few things and ends. */
    public static final class Program {
        private static final Log LOG = new Log(Program.class);

        private Program() {
        }

        /** An argument, if it is to stay until its input ends. */
        public static void main(String[] arguments) throws IOException {
            for (int i = 0; i < 5; i++) {
                LOG.info("line {}", i);
                LOG.debug("detail {} of {}", i, "line", new IllegalStateException("which happened"));
            }
            if (arguments.length > 0) {
                System.in.read();
            }
        }
    }

    private static List<String> options(String level) {
        return List.of("-Dorg.slf4j.simpleLogger.defaultLogLevel=" + level,
                "-Dorg.slf4j.simpleLogger.showThreadName=false", "-Dorg.slf4j.simpleLogger.showDateTime=false",
                "-Dorg.slf4j.simpleLogger.showShortLogName=true");
    }

    private static String run(String level) throws Exception {
        return ChildJvm.run(List.of(), options(level), Program.class);
    }

    @Test
    void aProgramThatGoesOnWritesThem() throws Exception {
        Process program = ChildJvm.start(List.of(), options("info"), Program.class, "stays");
        try (BufferedReader said = program.inputReader()) {
            for (int i = 0; i < 5; i++) {
                assertEquals("INFO LogTest$Program - line " + i, said.readLine());
            }
            program.getOutputStream().close();
            assertNull(said.readLine());
        } finally {
            program.destroyForcibly();
        }
    }

    @Test
    void linesBeforeThereIsAProviderAreWrittenInOrder() throws Exception {
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < 5; i++) {
            lines.append("INFO LogTest$Program - line ").append(i).append('\n');
        }
        assertEquals(lines.toString(), run("info"));
        assertEquals("", run("warn"));
    }

    @Test
    void anExceptionAtTheEndIsWrittenWithItsStack() throws Exception {
        List<String> said = run("debug").lines().toList();
        assertEquals(5, said.stream().filter("java.lang.IllegalStateException: which happened"::equals).count(),
                said::toString);
        assertEquals(5, said.stream().filter(line -> line.startsWith("DEBUG LogTest$Program - detail ")).count(),
                said::toString);
    }
}
