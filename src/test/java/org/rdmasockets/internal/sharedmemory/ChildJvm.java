package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.ProcessStarts;

/** Runs a main class of the tests in a JVM of its own. */
public final class ChildJvm {
    /** Longest life of a process that is waited for, in seconds. */
    public static final long LIMIT_SECONDS = 100;

    /** The jars that the library needs at run time, and a provider of SLF4J. */
    private static final Pattern LIBRARY = Pattern.compile("(slf4j|jctools).*\\.jar");

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
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m",
                "-Dorg.rdmasockets.slowLooks=true"));
        command.addAll(options);
        command.addAll(List.of("-cp", classPath(!prefix.isEmpty()), main.getName()));
        command.addAll(List.of(arguments));
        return ProcessStarts.start(new ProcessBuilder(command).redirectErrorStream(true));
    }

    /**
     * Sends a process a signal, and waits until the system has it in one of some states.
     *
     * @param name of the signal
     * @param states letters, as in {@code /proc/PID/stat}
     */
    public static void signal(long pid, String name, String states) throws Exception {
        ProcessBuilder kill = new ProcessBuilder("kill", "-" + name, Long.toString(pid)).inheritIO();
        assertEquals(0, ProcessStarts.start(kill).waitFor());
        Await.until("the process to be in a state of " + states, () -> {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            return states.indexOf(stat.charAt(stat.lastIndexOf(')') + 2)) >= 0;
        });
    }

    /** This JVM's; a command in front may change the user, so it has copies of the libraries that any user may read. */
    private static String classPath(boolean copies) throws IOException {
        String own = System.getProperty("java.class.path");
        return copies ? Copies.PATH + File.pathSeparator + own : own;
    }

    /** Made when first asked for. */
    private static final class Copies {
        static final String PATH = copyLibraries();
    }

    private static String copyLibraries() {
        try {
            Path folder = Files.createTempDirectory("rdma-libraries");
            folder.toFile().deleteOnExit();
            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
            StringJoiner copies = new StringJoiner(File.pathSeparator);
            for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
                Path library = Path.of(entry);
                if (LIBRARY.matcher(library.getFileName().toString()).matches()) {
                    Path copy = Files.copy(library, folder.resolve(library.getFileName()));
                    copy.toFile().deleteOnExit();
                    Files.setPosixFilePermissions(copy, PosixFilePermissions.fromString("rw-r--r--"));
                    copies.add(copy.toString());
                }
            }
            return copies.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
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
