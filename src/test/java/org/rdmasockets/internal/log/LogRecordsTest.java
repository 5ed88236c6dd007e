package org.rdmasockets.internal.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.logging.LogManager;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.rdmasockets.interop.Program;

/** The log of a program whose SLF4J writes by {@code java.util.logging}. */
class LogRecordsTest {
    /** Writes by {@code java.util.logging}, before and after the JVM has removed its handlers. */
    public static final class ToJavaLogging {
        private static final Log LOG = new Log(ToJavaLogging.class);

        private static final int WARNING = System.Logger.Level.WARNING.getSeverity();

        private ToJavaLogging() {
        }

        /** The argument is when. */
        public static void main(String[] arguments) {
            if (arguments[0].equals("handlers are removed")) {
                LogManager.getLogManager().reset();
                LogRecords.write("nobody", WARNING, "is to see this", null);
                Runtime.getRuntime().addShutdownHook(new Thread(
                        () -> LogRecords.write("somebody", WARNING, "is to see this", null)));
                return;
            }
            LOG.warn("last {}", "words", new IllegalStateException("which happened"));
        }
    }

    private static String toJavaLogging(String when) throws Exception {
        String classPath = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !entry.contains("slf4j-simple")).collect(Collectors.joining(File.pathSeparator));
        try (Stream<Path> files = Files.list(Path.of("target", "programs", "slf4j-jdk14"))) {
            classPath += File.pathSeparator + files.findFirst().orElseThrow();
        }
        try (Program program = Program.java(List.of("-cp", classPath), ToJavaLogging.class.getName(), when)) {
            return program.awaitSuccess();
        }
    }

    @Test
    void javaLoggingNamesTheClassThatSpeaks() throws Exception {
        List<String> said = toJavaLogging("at the end").lines().toList();
        assertTrue(said.get(0).endsWith(" " + ToJavaLogging.class.getName()), said::toString);
        assertEquals(List.of("WARNING: last words", "java.lang.IllegalStateException: which happened"),
                said.subList(1, 3));
    }

    /** Where an application has removed the handlers, no line is shown. */
    @Test
    void aWarningThatComesAfterTheHandlersOfJavaLoggingIsWritten() throws Exception {
        List<String> said = toJavaLogging("handlers are removed").lines().toList();
        assertTrue(said.get(0).endsWith(" somebody"), said::toString);
        assertEquals(List.of("WARNING: is to see this"), said.subList(1, said.size()));
    }
}
