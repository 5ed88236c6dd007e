package org.rdmasockets.guard;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.interop.Program;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/**
 * The client's cost of one connection to a process that it knows: connect, a round trip, close. Each wait in the kernel
 * is a change of threads: the caller waits for the connection and for the answer, the poller for the word that the
 * connection is there, for the answer and for the peer's close.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class WarmConnectGuardTest {
    private static final int CONNECTIONS = 1_000;
    private static final double MOST_WAITS = 9;
    /** A close for which the peer has no receive yet goes on in the pool. */
    private static final double MOST_TASKS = 0.2;
    /** A few of the process itself. */
    private static final double MOST_DESCRIPTORS = 0.2;

    @Test
    void aConnectionToAProcessThatIsKnownChangesFewThreads(TestReporter reporter) throws Exception {
        try (Program server = Program.java("EchoServer", "0")) {
            Matcher port = Pattern.compile(".*:(\\d+) listens over tcp.*").matcher(server.awaitLine("0.0.0.0"));
            assertTrue(port.matches(), server::output);
            String output = ChildJvm.run(List.of(), List.of("--enable-native-access=ALL-UNNAMED"),
                    WarmConnectMain.class, port.group(1), Integer.toString(CONNECTIONS));
            check(reporter, output, "waits", MOST_WAITS);
            check(reporter, output, "tasks", MOST_TASKS);
            check(reporter, output, "descriptors", MOST_DESCRIPTORS);
        }
    }

    private static void check(TestReporter reporter, String output, String what, double limit) {
        Matcher figure = Pattern.compile("(?m)^" + what + " (\\S+)$").matcher(output);
        assertTrue(figure.find(), output);
        reporter.publishEntry(what, figure.group(1));
        assertTrue(Double.parseDouble(figure.group(1)) <= limit,
                () -> "one connection takes " + figure.group(1) + " " + what + "; " + limit + " are allowed");
    }
}
