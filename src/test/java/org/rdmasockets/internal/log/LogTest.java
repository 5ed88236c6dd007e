package org.rdmasockets.internal.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** The output of programs that end at once, or whose log blocks, fails or comes back to this library. */
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

    /** A program whose output, where slf4j-simple writes its lines, is slow, blocks, fails or logs itself. */
    public static final class OddOutput extends OutputStream {
        private static final Log LOG = new Log(OddOutput.class);
        private static final int LINES = 5 * Log.MOST_LINES;
        private static final long PATIENCE_SECONDS = 40;

        private final String kind;
        private final PrintStream before = System.err;
        private final CountDownLatch entered = new CountDownLatch(1);
        private final CountDownLatch gate = new CountDownLatch(1);

        private OddOutput(String kind) {
            this.kind = kind;
        }

        /** The argument is what it does. */
        public static void main(String[] arguments) throws InterruptedException {
            OddOutput output = new OddOutput(arguments[0]);
            System.setErr(new PrintStream(output, true));
            switch (output.kind) {
                case "slow" -> output.overflow();
                case "blocked" -> output.exitWhileItBlocks();
                case "fails", "comes back" -> {
                    for (int i = 0; i < 3; i++) {
                        LOG.warn("line {}", i);
                    }
                    System.exit(3);
                }
                default -> throw new IllegalArgumentException(output.kind);
            }
        }

        private void overflow() throws InterruptedException {
            StringBuilder changes = new StringBuilder("as it was");
            LOG.info("first, {}", changes);
            changes.replace(0, changes.length(), "as it is now");
            await(entered);
            for (int i = 0; i < LINES; i++) {
                LOG.info("line");
            }
            LOG.warn("a warning finds room");
            gate.countDown();
            System.exit(3);
        }

        private void exitWhileItBlocks() throws InterruptedException {
            LOG.info("line");
            await(entered);
            System.exit(3);
        }

        private static void await(CountDownLatch latch) throws InterruptedException {
            if (!latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError("not in " + PATIENCE_SECONDS + " s");
            }
        }

        @Override
        public void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            String text = new String(bytes, offset, length, StandardCharsets.UTF_8);
            if (text.isBlank()) {
                return;
            }
            entered.countDown();
            switch (kind) {
                case "slow", "blocked" -> {
                    try {
                        gate.await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                    before.print(text.strip() + "\n");
                }
                case "fails" -> {
                    before.print("failing at " + text.strip() + "\n");
                    throw new AssertionError("an output that fails");
                }
                default -> {
                    before.print(text.strip() + "\n");
                    LOG.debug("written: {}", text);
                }
            }
        }
    }

    private static List<String> runOdd(String kind) throws Exception {
        Process program = ChildJvm.start(List.of(), options("debug"), OddOutput.class, kind);
        try {
            List<String> said = program.inputReader().lines().toList();
            assertEquals(3, program.waitFor(), said::toString);
            return said;
        } finally {
            program.destroyForcibly();
        }
    }

    /** Each line that finds no room is counted, and each is as its arguments were when it was said. */
    @Test
    void linesThatComeTooFastAreCounted() throws Exception {
        List<String> said = runOdd("slow");
        assertEquals("INFO LogTest$OddOutput - first, as it was", said.getFirst());
        Matcher last = Pattern.compile("WARN LogTest\\$OddOutput - a warning finds room "
                + "\\((\\d+) lines before this one were lost: they came too fast\\)").matcher(said.getLast());
        assertTrue(last.matches(), said::getLast);
        assertEquals(OddOutput.LINES, said.size() - 2 + Integer.parseInt(last.group(1)), said::getLast);
    }

    @Test
    void anOutputThatBlocksDoesNotKeepTheProcess() throws Exception {
        assertEquals(List.of(), runOdd("blocked"));
    }

    @Test
    void anOutputThatFailsGetsTheNextLine() throws Exception {
        assertEquals(List.of("failing at WARN LogTest$OddOutput - line 0", "failing at WARN LogTest$OddOutput - line 1",
                "failing at WARN LogTest$OddOutput - line 2"), runOdd("fails"));
    }

    /** The exit right after the lines waits for them. */
    @Test
    void whatAnOutputBringsAboutIsNoNewLine() throws Exception {
        assertEquals(List.of("WARN LogTest$OddOutput - line 0", "WARN LogTest$OddOutput - line 1",
                "WARN LogTest$OddOutput - line 2"), runOdd("comes back"));
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
