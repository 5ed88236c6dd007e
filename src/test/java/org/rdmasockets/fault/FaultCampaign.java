package org.rdmasockets.fault;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.RdmaSocket;

/**
 * Throws {@code Error}s at random points of the library, one after the other, in two processes that have bystanders
 * with each other. See {@code src/test/faults}. Each costs at most the connection in hand, and nothing is left.
 */
final class FaultCampaign {
    private static final int ROUNDS = 10_000;
    /** Rounds without a fault before a session, so that points are known. */
    private static final int WARM_UP = 40;
    private static final int ROUNDS_OF_SESSION = 500;
    private static final int ROUNDS_PER_COUNT = 50;
    private static final boolean ALL = Boolean.getBoolean("org.rdmasockets.test.faults.all");
    /** So many victims in a hundred begin near the end of their stack. */
    private static final int DEEP_PERCENT = 15;
    private static final int AGAIN_PERCENT = Integer.getInteger("org.rdmasockets.test.faults.again", 0);
    private static final long SECONDS_TO_EXIT = 20;
    private static final long WAIT_SECONDS = 120;

    private final Random random;
    private final Path classes;
    private final List<FaultPoints.Point> points;
    private final int[] injected;
    private final Map<String, Integer> kinds = new TreeMap<>();
    private final List<String> complaints = new ArrayList<>();
    /** The last errors that were thrown: what they spoil shows later at times. */
    private final List<String> history = new ArrayList<>();
    private int thrown;
    private int failed;
    private int lost;

    private FaultCampaign(Random random, Path classes, List<FaultPoints.Point> points) {
        this.random = random;
        this.classes = classes;
        this.points = points;
        this.injected = new int[points.size()];
    }

    /**
     * Runs and prints; the exit status is 0 if all held.
     *
     * @param arguments how many faults, and the seed
     */
    static void main(String[] arguments) throws Exception {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : ROUNDS;
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : System.nanoTime() & 0xffff_ffffL;
        List<String> complaints = run(rounds, seed);
        System.exit(complaints.isEmpty() ? 0 : 1);
    }

    /**
     * Throws.
     *
     * @param faults how many
     * @param seed of all that is random
     * @return what did not hold
     */
    static List<String> run(int faults, long seed) throws Exception {
        System.out.println("seed " + seed);
        Path library = Path.of(RdmaSocket.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path classes = Files.createTempDirectory("faults-");
        List<FaultPoints.Point> points = FaultPoints.copy(library, classes);
        FaultCampaign campaign = new FaultCampaign(new Random(seed), classes, points);
        System.out.println(points.size() + " points");
        for (int session = 0; campaign.thrown < faults && campaign.complaints.size() < 20; session++) {
            campaign.session(session % 3 != 2, Math.min(ROUNDS_OF_SESSION, faults - campaign.thrown));
        }
        System.out.println(campaign.thrown + " errors thrown at " + java.util.Arrays.stream(campaign.injected)
                .filter(count -> count > 0).count() + " points: " + campaign.kinds + "; " + campaign.failed
                + " victims failed, " + campaign.lost + " bystanders lost");
        return campaign.complaints;
    }

    private void complain(String what) {
        complaints.add(what);
        System.out.println("FAILED  " + what);
    }

    /**
     * Whether an error can come from there. Not where a method begins, or where a monitor is taken: that takes stack
     * and no memory of the heap. The stack of a caller ends in earnest instead, see {@link FaultNode}, and that of a
     * thread of the library begins empty and never does. Nor for want of a class that the place has used before: it is
     * there for good. With {@code -Dorg.rdmasockets.test.faults.all=true} all is thrown all the same.
     */
    private boolean isMeant(int point, InjectedFault.Side side) {
        FaultPoints.Point meant = points.get(point);
        return ALL || switch (meant.kind()) {
            case CLASS, ENTRY -> false;
            case LOCK -> !meant.place().endsWith("a monitor");
            default -> true;
        };
    }

    /** Two processes, until one of them is not as it should be. */
    private void session(boolean overTcp, int faults) throws Exception {
        try (Node serving = new Node(classes, "" + overTcp)) {
            String[] ports = serving.ask("ports").split(" ");
            try (Node connecting = new Node(classes, "" + overTcp, ports[0], ports[1])) {
                List<String> transports = overTcp ? List.of("SHARED_MEMORY", "AUTO", "TCP", "SHARED_MEMORY")
                        : List.of("SHARED_MEMORY");
                for (int i = 0; i < WARM_UP; i++) {
                    String transport = transports.get(random.nextInt(transports.size()));
                    String outcome = connecting.ask("round " + transport + " " + random.nextInt());
                    if (!outcome.equals("done")) {
                        complain("without a fault: " + transport + ": " + outcome);
                        return;
                    }
                }
                check(connecting.ask("probe"), "without a fault", 0);
                List<Node> nodes = List.of(serving, connecting);
                for (Node node : nodes) {
                    node.remember();
                }
                System.out.println((overTcp ? "with" : "without") + " TCP: " + serving + "; " + connecting);
                int end = thrown + faults;
                int idle = 0;
                for (int round = 0; thrown < end && idle < 200 && complaints.size() < 20; round++) {
                    int before = thrown;
                    if (!round(nodes, connecting, transports.get(random.nextInt(transports.size())))) {
                        return;
                    }
                    idle = thrown == before ? idle + 1 : 0;
                    if (round % ROUNDS_PER_COUNT == ROUNDS_PER_COUNT - 1) {
                        for (Node node : nodes) {
                            node.learn();
                            String left = node.awaitLeft();
                            if (left != null) {
                                complain(left);
                                return;
                            }
                        }
                    }
                }
                System.out.println(thrown + " errors: " + kinds);
                for (Node node : List.of(connecting, serving)) {
                    long millis = node.terminate();
                    System.out.println("SIGTERM: " + (millis < 0 ? "no end" : millis + " ms"));
                    if (millis < 0) {
                        complain("no end after SIGTERM");
                    }
                }
            }
        }
    }

    /** One fault; false ends the session. */
    private boolean round(List<Node> nodes, Node connecting, String transport) throws Exception {
        Node node = nodes.get(random.nextInt(nodes.size()));
        InjectedFault.Side side = InjectedFault.Side.values()[random.nextInt(2)];
        if (random.nextInt(100) < DEEP_PERCENT) {
            return deepRound(nodes, connecting);
        }
        int point = node.choose(side);
        FaultPoints.Kind kind = points.get(point).kind();
        if (!isMeant(point, side)) {
            return true;
        }
        String error = switch (kind) {
            case ENTRY -> "StackOverflowError";
            case CLASS -> "NoClassDefFoundError";
            default -> "OutOfMemoryError";
        };
        int hit = 1 + random.nextInt(1 + random.nextInt(8));
        int again = random.nextInt(100) < AGAIN_PERCENT ? 1 + random.nextInt(30) : 0;
        String plan = "arm " + side + " " + point + " " + error + " " + hit + " " + again;
        long seed = random.nextInt();
        node.ask(plan);
        String outcome = connecting.ask("round " + transport + " " + seed);
        String by = node.ask("disarm");
        String last = history.isEmpty() ? "" : "; before: " + String.join(" | ", history);
        String what = plan + (node == connecting ? " where connecting" : " where serving") + ", round " + transport
                + " " + seed + ": " + points.get(point) + ", thrown by " + by;
        if (!by.equals("null")) {
            history.add((node == connecting ? "connecting " : "serving ") + points.get(point) + " by " + by);
            if (history.size() > 3) {
                history.removeFirst();
            }
            thrown++;
            injected[point]++;
            kinds.merge(error + " " + side, 1, Integer::sum);
        }
        boolean good = true;
        if (!outcome.equals("done")) {
            failed++;
            if (!outcome.startsWith("failed")) {
                complain(what + ": " + outcome + "; the other process: " + nodes.getFirst().ask("dump")
                        + last);
                good = false;
            } else if (by.equals("null")) {
                complain(what + ": fails without an error: " + outcome);
            }
        }
        // A thread of the library has a bystander's connection in hand, too.
        int inHand = side == InjectedFault.Side.LIBRARY && outcome.equals("done") && !by.equals("null") ? 1 : 0;
        return check(connecting.ask("probe"), what + ": " + outcome + last, inHand) && good;
    }

    private boolean deepRound(List<Node> nodes, Node connecting) throws Exception {
        long seed = random.nextInt();
        String outcome = connecting.ask("round DEEP " + seed);
        String what = "round DEEP " + seed + ": " + outcome;
        if (outcome.contains("StackOverflowError")) {
            thrown++;
            failed++;
            kinds.merge("StackOverflowError CALLER, in earnest", 1, Integer::sum);
        } else if (!outcome.equals("done")) {
            complain(what + "; the other process: " + nodes.getFirst().ask("dump") + history);
            return false;
        }
        return check(connecting.ask("probe"), what, 0);
    }

    private boolean check(String probe, String what, int inHand) {
        if (probe.startsWith("LOST")) {
            int count = probe.split(";").length;
            lost += count;
            if (count > inHand || probe.contains("WRONG")) {
                complain(what + ": " + count + " " + probe.substring(0, Math.min(400, probe.length())));
            }
            return true;
        }
        if (!probe.equals("fine")) {
            complain(what + ": " + probe);
            return false;
        }
        return true;
    }

    /** A child. */
    private final class Node implements AutoCloseable {
        private final Process process;
        private final Path log;
        private final BufferedReader answers;
        private final BitSet[] seen = new BitSet[InjectedFault.Side.values().length];
        private long[] held;

        Node(Path library, String... arguments) throws IOException {
            log = Files.createTempFile("faults-", ".log");
            List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java")
                    .toString(), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-ea", "-Xmx256m",
                    "--enable-native-access=ALL-UNNAMED", FaultNode.PATIENCE_OPTION,
                    "-Dorg.slf4j.simpleLogger.log.org.rdmasockets.provider.sharedmemory.LinkEnd=debug",
                    "-cp", library + ":" + System.getProperty("java.class.path"), FaultNode.class.getName()));
            command.addAll(List.of(arguments));
            process = new ProcessBuilder(command).redirectError(log.toFile()).start();
            answers = process.inputReader();
        }

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

        void learn() throws IOException {
            String[] sides = ask("seen").split(" ");
            for (int i = 0; i < seen.length; i++) {
                seen[i] = BitSet.valueOf(HexFormat.of().parseHex(sides[i].substring(1)));
            }
        }

        void remember() throws Exception {
            learn();
            held = held();
        }

        private long[] held() throws IOException {
            return java.util.Arrays.stream(ask("held").split(" ")).mapToLong(Long::parseLong).toArray();
        }

        /** Waits until no more is held than in the beginning; why not, or null. */
        String awaitLeft() throws Exception {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            long[] now = held();
            while (now[0] > held[0] + 4 || now[1] > held[1] + 4 || now[2] > held[2] + 2) {
                if (System.nanoTime() - deadline > 0) {
                    return "left: descriptors, mappings, threads " + java.util.Arrays.toString(now) + ", before "
                            + java.util.Arrays.toString(held) + " of process " + process.pid() + ", see " + log;
                }
                Thread.sleep(50);
                now = held();
            }
            return null;
        }

        /** A point that threads of a side come by; rather one at which little was thrown. */
        int choose(InjectedFault.Side side) {
            BitSet known = seen[side.ordinal()];
            int best = -1;
            for (int i = 0; i < 3; i++) {
                int point = known.stream().skip(random.nextInt(known.cardinality())).findFirst().orElseThrow();
                if (best < 0 || injected[point] < injected[best]) {
                    best = point;
                }
            }
            return best;
        }

        /** How long it took to end, in milliseconds, or -1. */
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
                    + seen[1].cardinality() + " of the library's threads; holds " + java.util.Arrays.toString(held);
        }
    }
}
