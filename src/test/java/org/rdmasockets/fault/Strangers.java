package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.ffi.Descriptors;
import org.rdmasockets.internal.ffi.StrangersMain;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/**
 * Another user attacks a serving process while this one exchanges data with it. See {@code src/test/strangers}. In the
 * second half of the time the file of the listener's name is open to every user, so that the hub's own defence is
 * tested, too. Then the same again with a process that permits the user.
 */
final class Strangers {
    private static final int SECONDS = 120;
    private static final int MOST_LINES = 100;
    private static final double LEAST_RATE = 0.5;
    private static final List<String> NOBODY = List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups");
    private static final List<String> GRANTED = List.of("--enable-native-access=ALL-UNNAMED");

    private Strangers() {
    }

    /**
     * Runs and prints; the exit status is 0 if all held.
     *
     * @param arguments how long, in seconds
     */
    static void main(String[] arguments) throws Exception {
        System.out.println(run(arguments.length > 0 ? Integer.parseInt(arguments[0]) : SECONDS, LEAST_RATE));
        System.exit(0);
    }

    /**
     * Is attacked.
     *
     * @param seconds how long
     * @param leastRate the part of their rate that bystanders must keep; 0 in a test, which measures no times
     * @return a summary
     */
    static String run(int seconds, double leastRate) throws Exception {
        return "not permitted: " + run(seconds, leastRate, List.of()) + "\npermitted: "
                + run(seconds, 0, List.of("-Dorg.rdmasockets.shared.users=65534")); // no rate is promised
    }

    private static String run(int seconds, double leastRate, List<String> options) throws Exception {
        try (Companion companion = new Companion(options, "auto")) {
            companion.assertServes();
            Path name = Descriptors.named("*-" + companion.port());
            int half = Math.max(1, seconds / 2);
            // A first attack loads what stays, such as the files of classes.
            String first = attack(companion, 1, "attack", "1", "" + companion.port(), name.toString()).said();
            Attack alone = attack(companion, half, "burn", "" + half);
            long linesBefore = companion.lines();
            long[] before = left(companion.pid());
            Attack closed = attack(companion, half, "attack", "" + half, "" + companion.port(), name.toString());
            Files.setPosixFilePermissions(name, PosixFilePermissions.fromString("rwxrwxrwx"));
            Attack open = attack(companion, half, "attack", "" + half, "" + companion.port(), name.toString());
            Files.setPosixFilePermissions(name, PosixFilePermissions.fromString("rw-------"));
            companion.assertServes();
            long[] after = new long[2];
            Await.until("the serving process to clean up", () -> {
                System.arraycopy(left(companion.pid()), 0, after, 0, 2);
                return after[0] <= before[0] && after[1] <= before[1];
            }, () -> after[0] + " descriptors, " + after[1] + " mappings; before " + before[0] + " and " + before[1]);
            long lines = companion.lines() - linesBefore;
            String seen = String.format(Locale.ROOT, "bystanders: %.0f exchanges/s beside processes that only burn, "
                    + "%.0f (%.2f) under attack, %.0f (%.2f) with the name open; the log grew by %d lines; "
                    + "descriptors %d, then %d; mappings %d, then %d%n  %s%n  %s%n  %s", alone.rate(), closed.rate(),
                    closed.rate() / alone.rate(), open.rate(), open.rate() / alone.rate(), lines, before[0], after[0],
                    before[1], after[1], first, closed.said(), open.said());
            assertTrue(closed.rate() >= leastRate * alone.rate(), seen);
            assertTrue(open.rate() >= leastRate * alone.rate(), seen);
            assertTrue(lines < MOST_LINES, seen);
            return seen;
        }
    }

    /** How fast bystanders were meanwhile, and what the attackers said. */
    private record Attack(double rate, String said) {
    }

    private static Attack attack(Companion companion, int seconds, String... arguments) throws Exception {
        Process process = ChildJvm.start(NOBODY, GRANTED, StrangersMain.class, arguments);
        try {
            long start = System.nanoTime();
            long before = companion.exchanges();
            if (!process.waitFor(seconds + ChildJvm.LIMIT_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError("the attackers do not end");
            }
            double rate = (companion.exchanges() - before) * 1e9 / (System.nanoTime() - start);
            String said = new String(process.getInputStream().readAllBytes()).strip();
            assertTrue(process.exitValue() == 0, said);
            companion.assertServes();
            return new Attack(rate, said);
        } finally {
            process.destroyForcibly();
        }
    }

    /** Descriptors and mappings of memory files of a process. */
    private static long[] left(long process) throws IOException {
        Path directory = Path.of("/proc", "" + process);
        try (Stream<Path> descriptors = Files.list(directory.resolve("fd"));
                Stream<String> mappings = Files.lines(directory.resolve("maps"))) {
            return new long[] {descriptors.count(), mappings.filter(line -> line.contains("memfd:")).count()};
        }
    }
}
