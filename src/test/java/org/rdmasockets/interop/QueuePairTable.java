package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The kernel's own list of queue pairs ({@code rdma resource show qp}). A failed rconnect under librspreload silently
 * becomes TCP, so success of a program proves nothing; its queue pair does.
 */
public final class QueuePairTable {
    private static final Pattern LINE = Pattern.compile(
            "link (\\S+)/\\d+ lqpn (\\d+) .*?type (\\S+) (?:.*? pid (\\d+) )?");

    /**
     * A line of the list.
     *
     * @param device device name
     * @param number queue pair number
     * @param type RC, or GSI for the kernel's own
     * @param thread thread that made it, -1 for the kernel's own and once that thread has ended
     */
    public record Entry(String device, int number, String type, long thread) {
        /** Made by a thread of that process, or of a process that has lost the thread. */
        private boolean mayBelongTo(long pid) {
            return thread < 0 || Files.exists(Path.of("/proc", "" + pid, "task", "" + thread));
        }
    }

    private QueuePairTable() {
    }

    /**
     * Reads the list.
     *
     * @return all queue pairs of this machine
     * @throws IOException if the tool cannot be run
     * @throws InterruptedException if interrupted
     */
    public static List<Entry> read() throws IOException, InterruptedException {
        try (Program rdma = Program.start("rdma", "resource", "show", "qp")) {
            return rdma.awaitSuccess().lines().map(LINE::matcher).filter(Matcher::lookingAt)
                    .map(m -> new Entry(m.group(1), Integer.parseInt(m.group(2)), m.group(3),
                            m.group(4) == null ? -1 : Long.parseLong(m.group(4))))
                    .collect(Collectors.toList());
        }
    }

    /**
     * Checks that a process talks through the device under test. Does nothing where TCP stands in.
     *
     * @param pid a process with an open connection
     * @throws IOException if the tool cannot be run
     * @throws InterruptedException if interrupted
     */
    public static void assertConnected(long pid) throws IOException, InterruptedException {
        if (TestBed.tcp()) {
            return;
        }
        List<Entry> entries = read();
        assertTrue(entries.stream().anyMatch(
                e -> e.mayBelongTo(pid) && e.type().equals("RC") && e.device().equals(TestBed.device())),
                () -> "process " + pid + " has no queue pair on " + TestBed.device() + ": " + entries);
    }
}
