package org.rdmasockets.benchmark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** The compilers of this JVM, as Linux sees their threads: the JDK tells of a method only when it is compiled. */
final class Compilers {
    private static final Path THREADS = Path.of("/proc/self/task");
    private static final Pattern NAME = Pattern.compile("C[12] Compiler.*");
    /** Fields of proc(5), counted from the one after the name, which may have spaces. */
    private static final int USER = 11;
    private static final int SYSTEM = 12;
    /** The length of a clock tick of proc(5), the same on all machines. */
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private Compilers() {
    }

    /** Time of all processors that the compilers' threads have had, in steps of 10 ms. */
    static long processorNanos() {
        long ticks = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(THREADS)) {
            for (Path thread : threads) {
                ticks += ticks(thread.resolve("stat"));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return ticks * TICK_NANOS;
    }

    private static long ticks(Path stat) {
        String line;
        try {
            line = Files.readString(stat);
        } catch (IOException e) {
            return 0; // It has ended.
        }
        int end = line.lastIndexOf(')');
        if (!NAME.matcher(line.substring(line.indexOf('(') + 1, end)).matches()) {
            return 0;
        }
        String[] fields = line.substring(end + 2).split(" ");
        return Long.parseLong(fields[USER]) + Long.parseLong(fields[SYSTEM]);
    }
}
