package org.rdmasockets.fault;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.rdmasockets.contract.ProcessStarts;

/** A process that runs {@link FaultNode} over instrumented classes, as {@link FaultCampaign} sees it. */
final class FaultProcess implements AutoCloseable {
    /** Name of a file beside the classes: points, and the class that is used there. */
    static final String USES = "uses";

    private static final long SECONDS_TO_LEAVE_NOTHING = 30;
    /** Far more than {@code exitWait} is as a rule. */
    private static final long SECONDS_TO_EXIT = 20;
    private static final int POLL_MILLIS = 50;
    /**
     * How much more may be held than in the beginning: what others just close, and slabs of a link, of which each is
     * twice as large as the one before and stays for the connections to come.
     */
    private static final long[] SLACK = {4, 8, 2};

    private final Process process;
    private final Path log;
    private final BufferedReader answers;
    private final BitSet[] seen = new BitSet[InjectedFault.Side.values().length];
    private long[] held;

    /**
     * Starts a process.
     *
     * @param classes the instrumented library; its folder's parent gets logs and dumps
     * @param overTcp whether its connections go over TCP, too
     */
    FaultProcess(Path classes, boolean overTcp) throws IOException {
        log = Files.createTempFile(classes.getParent(), "node-", ".log");
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java")
                .toString(), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-ea", "-Xmx256m",
                "--enable-native-access=ALL-UNNAMED", FaultNode.PATIENCE_OPTION,
                "-Dorg.rdmasockets.slowLooks=true",
                "--add-opens=java.base/java.lang=ALL-UNNAMED", "-Djava.io.tmpdir=" + classes.getParent(),
                "-Dorg.slf4j.simpleLogger.log.org.rdmasockets.internal.sharedmemory.LinkDispatcher=debug",
                "-cp", classes + ":" + System.getProperty("java.class.path"), FaultNode.class.getName(),
                "" + overTcp, "" + classes.resolveSibling(USES)));
        process = ProcessStarts.start(new ProcessBuilder(command).redirectError(log.toFile()));
        answers = process.inputReader();
    }

    /** Has a command obeyed: its answer. */
    String ask(String command) throws IOException {
        process.outputWriter().write(command + "\n");
        process.outputWriter().flush();
        String line = answers.readLine();
        while (line != null && !line.startsWith("= ")) {
            System.out.println("  " + line);
            line = answers.readLine();
        }
        if (line == null) {
            throw new IOException("a process has ended at '" + command + "', see " + log);
        }
        return line.substring(2);
    }

    /** Has errors thrown from now on. */
    void arm(List<InjectedFault.Plan> plans) throws IOException {
        if (!plans.isEmpty()) {
            ask("arm " + plans.stream().map(Object::toString).collect(Collectors.joining(" ")));
        }
    }

    /** Asks which points threads of a side have come by. */
    void learn() throws IOException {
        String[] sides = ask("seen").split(" ");
        for (int i = 0; i < seen.length; i++) {
            seen[i] = BitSet.valueOf(HexFormat.of().parseHex(sides[i].substring(1)));
        }
    }

    /** The points that threads of a side came by, by {@link #learn}. */
    BitSet seen(InjectedFault.Side side) {
        return seen[side.ordinal()];
    }

    /** Remembers what is held now, and learns. */
    void remember() throws IOException {
        learn();
        held = held();
    }

    private long[] held() throws IOException {
        return Arrays.stream(ask("held").split(" ")).mapToLong(Long::parseLong).toArray();
    }

    /** Waits until no more is held than in the beginning; why not, or null. */
    String awaitLeft() throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_TO_LEAVE_NOTHING);
        long[] now = held();
        while (isMore(now)) {
            if (System.nanoTime() - deadline > 0) {
                new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                        "" + process.pid(), "GC.class_histogram").redirectOutput(new File(log + ".classes")).start()
                        .waitFor();
                new ProcessBuilder("sh", "-c", "ls -l /proc/" + process.pid() + "/fd; cat /proc/net/unix /proc/net/tcp*"
                        + " /proc/net/udp*").redirectOutput(new File(log + ".descriptors")).start().waitFor();
                return "left: descriptors, mappings, threads " + Arrays.toString(now) + ", before "
                        + Arrays.toString(held) + " of process " + process.pid() + ", see " + log;
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
            now = held();
        }
        return null;
    }

    private boolean isMore(long[] now) {
        boolean more = false;
        for (int i = 0; i < SLACK.length; i++) {
            more |= now[i] > held[i] + SLACK[i];
        }
        return more;
    }

    /** How long it took to end on SIGTERM, in milliseconds, or -1. */
    long terminate() throws InterruptedException {
        long start = System.nanoTime();
        process.destroy();
        return process.waitFor(SECONDS_TO_EXIT, TimeUnit.SECONDS)
                ? TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start) : -1;
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    @Override
    public String toString() {
        return process.pid() + " (" + log + "): " + seen[0].cardinality() + " points of callers, "
                + seen[1].cardinality() + " of the library's threads; holds " + Arrays.toString(held);
    }
}
