package org.rdmasockets.fault;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.rdmasockets.RdmaSocket;

/**
 * Throws {@code Error}s at random points of the library, one after the other, in two processes that have bystanders
 * with each other. See {@code src/test/faults}. Each costs at most the connection in hand, and nothing is left.
 *
 * <p>Some come in bursts, as when there is no memory for a while: at the next points that the threads of that side come
 * by, too. Some are thrown in processes that have loaded nothing yet, as errors of the loading of a class.
 */
final class FaultCampaign implements AutoCloseable {
    private static final int ROUNDS = 10_000;
    /** Rounds without a fault before a session, so that points are known. */
    private static final int WARM_UP = 40;
    private static final int ROUNDS_OF_SESSION = 500;
    private static final int ROUNDS_PER_COUNT = 50;
    private static final int MOST_COMPLAINTS = 20;
    /** So many rounds in a row without an error end a session: its points are of another kind. */
    private static final int MOST_IDLE = 200;
    private static final boolean ALL = Boolean.getBoolean("org.rdmasockets.test.faults.all");
    /** So many victims in a hundred begin near the end of their stack. */
    private static final int DEEP_PERCENT = Integer.getInteger("org.rdmasockets.test.faults.deep", 15);
    /** So many errors in a hundred are the first of a burst. */
    private static final int BURST_PERCENT = Integer.getInteger("org.rdmasockets.test.faults.burst", 25);
    private static final int LONGEST_BURST = 12;
    private static final int LONGEST_PAUSE = 30;
    /** After so many rounds, one in new processes. */
    private static final int ROUNDS_PER_COLD = Integer.getInteger("org.rdmasockets.test.faults.cold", 25);
    private static final String[] COLD_ERRORS = {"NoClassDefFoundError", "ExceptionInInitializerError", "LinkageError"};
    private static final int SHOWN = 400;

    private final Random random;
    private final Path folder;
    private final Path classes;
    private final List<FaultPoints.Point> points;
    private final int[] injected;
    private final Map<String, Integer> kinds = new TreeMap<>();
    private final List<String> complaints = new ArrayList<>();
    /** The last errors that were thrown: what they spoil shows later at times. */
    private final List<String> history = new ArrayList<>();
    /** Points of classes that new processes come by, by whether they serve; null before the first ones. */
    private BitSet[] coldPoints;
    private long endNanos = Long.MAX_VALUE;
    private int thrown;
    private int cold;
    private int failed;
    private int lost;
    private int hung;
    private long longestExitMillis;
    private FaultProcess serving;
    private FaultProcess connecting;
    private List<String> transports;

    /**
     * Without processes yet.
     *
     * @param seed of all that is random
     */
    FaultCampaign(long seed) throws Exception {
        Path library = Path.of(RdmaSocket.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        random = new Random(seed);
        folder = Files.createTempDirectory(library.toAbsolutePath().getParent(), "faults-");
        classes = Files.createDirectory(folder.resolve("classes"));
        points = FaultPoints.copy(library, classes);
        injected = new int[points.size()];
        Files.write(folder.resolve(FaultProcess.USES), IntStream.range(0, points.size())
                .filter(point -> points.get(point).used() != null)
                .mapToObj(point -> point + " " + points.get(point).used()).toList());
    }

    /**
     * Runs and prints; the exit status is 0 if all held.
     *
     * @param arguments how many faults, or for how many seconds ({@code 40s}); and the seed
     */
    static void main(String[] arguments) throws Exception {
        String length = arguments.length > 0 ? arguments[0] : "" + ROUNDS;
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : System.nanoTime() & 0xffff_ffffL;
        boolean timed = length.endsWith("s");
        int amount = Integer.parseInt(timed ? length.substring(0, length.length() - 1) : length);
        System.out.println("seed " + seed);
        try (FaultCampaign campaign = new FaultCampaign(seed)) {
            if (timed) {
                campaign.endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(amount);
            }
            campaign.run(timed ? Integer.MAX_VALUE : amount);
            System.exit(campaign.complaints.isEmpty() ? 0 : 1);
        }
    }

    private boolean goesOn(int end) {
        return thrown < end && complaints.size() < MOST_COMPLAINTS && System.nanoTime() - endNanos < 0;
    }

    private void run(int faults) throws Exception {
        System.out.println(points.size() + " points");
        for (int session = 0; goesOn(faults); session++) {
            boolean overTcp = session % 3 != 2;
            if (start(overTcp)) {
                System.out.println((overTcp ? "with" : "without") + " TCP: " + serving + "; " + connecting);
                session((int) Math.min(faults, thrown + (long) ROUNDS_OF_SESSION));
            }
            stop();
        }
        System.out.println(thrown + " errors thrown, " + cold + " of them in new processes, at "
                + Arrays.stream(injected).filter(count -> count > 0).count() + " points: " + kinds + "; " + failed
                + " victims failed, " + hung + " waited in vain, " + lost
                + " bystanders lost that were not in hand; longest end after SIGTERM " + longestExitMillis + " ms; "
                + complaints.size() + " failures");
    }

    private void complain(String what) {
        complaints.add(what);
        System.out.println("FAILED  " + what);
    }

    /** What did not hold. */
    List<String> complaints() {
        return complaints;
    }

    /** Starts two processes and shows them what there is; false if that fails. */
    boolean start(boolean overTcp) throws Exception {
        serving = new FaultProcess(classes, overTcp);
        connecting = new FaultProcess(classes, overTcp);
        transports = overTcp ? List.of("SHARED_MEMORY", "AUTO", "TCP", "SHARED_MEMORY") : List.of("SHARED_MEMORY");
        connecting.ask("connect " + serving.ask("serve"));
        String started = connecting.ask("bystanders");
        if (!started.equals("started")) {
            complain("without a fault: " + started);
            return false;
        }
        for (int i = 0; i < WARM_UP; i++) {
            String transport = transports.get(random.nextInt(transports.size()));
            String outcome = connecting.ask("round " + transport + " " + random.nextInt());
            if (!outcome.equals("done")) {
                complain("without a fault: " + transport + ": " + outcome);
                return false;
            }
        }
        boolean fine = check(connecting.ask("probe"), "without a fault", 0);
        serving.remember();
        connecting.remember();
        return fine;
    }

    /** Ends both as the system does. */
    void stop() throws InterruptedException {
        for (FaultProcess process : new FaultProcess[] {connecting, serving}) {
            if (process != null) {
                terminate(process, "after " + thrown + " errors");
            }
        }
        connecting = null;
        serving = null;
    }

    /** Two processes, until one of them is not as it should be. */
    private void session(int end) throws Exception {
        int idle = 0;
        for (int round = 1; goesOn(end) && idle < MOST_IDLE; round++) {
            int before = thrown;
            if (!randomRound() || round % ROUNDS_PER_COUNT == 0 && !nothingIsLeft()) {
                return;
            }
            if (ROUNDS_PER_COLD > 0 && round % ROUNDS_PER_COLD == 0) {
                coldRound();
            }
            idle = thrown == before ? idle + 1 : 0;
        }
        nothingIsLeft();
    }

    private boolean nothingIsLeft() throws Exception {
        boolean nothing = true;
        for (FaultProcess process : List.of(serving, connecting)) {
            process.learn();
            String left = process.awaitLeft();
            if (left != null) {
                complain(left + history);
                nothing = false;
            }
        }
        return nothing;
    }

    /**
     * Whether an error can come from there. Not where a method begins, or where a monitor is taken: that takes stack
     * and no memory of the heap. The stack of a caller ends in earnest instead, see {@link FaultNode}, and that of a
     * thread of the library begins empty and never does. Nor for want of a class that the place has used before: it is
     * there for good. With {@code -Dorg.rdmasockets.test.faults.all=true} all is thrown all the same.
     */
    private boolean isMeant(int point) {
        FaultPoints.Point meant = points.get(point);
        return ALL || switch (meant.kind()) {
            case CLASS, ENTRY -> false;
            case LOCK -> !meant.place().endsWith("a monitor");
            default -> true;
        };
    }

    /** One fault or none; false ends the session. */
    private boolean randomRound() throws Exception {
        boolean serves = random.nextBoolean();
        InjectedFault.Side side = InjectedFault.Side.values()[random.nextInt(2)]; // not LOADING
        String transport = transports.get(random.nextInt(transports.size()));
        if (random.nextInt(100) < DEEP_PERCENT) {
            return deepRound();
        }
        int point = choose((serves ? serving : connecting).seen(side));
        if (!isMeant(point)) {
            return true;
        }
        String error = switch (points.get(point).kind()) {
            case ENTRY -> "StackOverflowError";
            case CLASS -> "NoClassDefFoundError";
            default -> "OutOfMemoryError";
        };
        int hit = 1 + random.nextInt(1 + random.nextInt(8));
        boolean burst = random.nextInt(100) < BURST_PERCENT;
        return round(serves, new InjectedFault.Plan(side, point, error, hit,
                burst ? random.nextInt(1 + random.nextInt(LONGEST_PAUSE)) : 0,
                burst ? 1 + random.nextInt(LONGEST_BURST) : 0), transport);
    }

    /** A point that threads of a side come by; rather one at which little was thrown. */
    private int choose(BitSet known) {
        int best = -1;
        for (int i = 0; i < 3; i++) {
            int point = known.stream().skip(random.nextInt(known.cardinality())).findFirst().orElseThrow();
            if (best < 0 || injected[point] < injected[best]) {
                best = point;
            }
        }
        return best;
    }

    /**
     * Throws at every point that a thread of a side has come by, one after the other.
     *
     * @param serves in which process
     * @param side by whose threads
     * @param place what its text has in it
     * @param burst at how many points more it is thrown each time
     * @return how many points there are
     */
    int throwAt(boolean serves, InjectedFault.Side side, Pattern place, int burst) throws Exception {
        int[] found = (serves ? serving : connecting).seen(side).stream()
                .filter(point -> isMeant(point) && place.matcher(points.get(point).place()).find()).toArray();
        for (int point : found) {
            for (String transport : transports.subList(0, Math.min(transports.size(), 3))) {
                InjectedFault.Plan plan = new InjectedFault.Plan(side, point, "OutOfMemoryError", 1, 0, burst);
                if (!round(serves, plan, transport)) {
                    return found.length;
                }
            }
        }
        return found.length;
    }

    /** What is planned, and then a look at everybody; false if the processes are of no use any more. */
    private boolean round(boolean serves, InjectedFault.Plan plan, String transport) throws Exception {
        FaultProcess process = serves ? serving : connecting;
        FaultPoints.Point point = points.get(plan.point());
        long seed = random.nextInt();
        process.ask(plan.toString());
        String outcome = connecting.ask("round " + transport + " " + seed);
        String by = process.ask("disarm");
        int count = Integer.parseInt(by.split(" ")[0]);
        String where = serves ? "serving" : "connecting";
        String what = plan + " where " + where + ", round " + transport + " " + seed + ": " + point + ", thrown " + by
                + ": " + outcome + (history.isEmpty() ? "" : "; before: " + String.join(" | ", history));
        if (count > 0) {
            noteThrown(plan, where + " " + point + ", thrown " + by);
        }
        boolean good = true;
        if (!outcome.equals("done")) {
            failed++;
            if (!outcome.startsWith("failed")) {
                hung++;
                complain(what + "; the other process: " + serving.ask("dump"));
                good = false;
            } else if (count == 0) {
                complain("fails without an error: " + what);
            }
        }
        // A thread of the library has a bystander's connection in hand, too, and in a burst another one each time.
        int inHand = plan.side() == InjectedFault.Side.LIBRARY || plan.burst() > 0
                ? count - (outcome.equals("done") || count == 0 ? 0 : 1) : 0;
        return check(connecting.ask("probe"), what, inHand) && good;
    }

    private void noteThrown(InjectedFault.Plan plan, String what) {
        history.add(what);
        if (history.size() > 3) {
            history.removeFirst();
        }
        thrown++;
        injected[plan.point()]++;
        kinds.merge(plan.error() + " " + plan.side() + (plan.burst() > 0 ? ", a burst" : ""), 1, Integer::sum);
    }

    /** A victim whose stack ends. */
    private boolean deepRound() throws Exception {
        long seed = random.nextInt();
        String outcome = connecting.ask("round DEEP " + seed);
        String what = "round DEEP " + seed + ": " + outcome;
        if (outcome.contains("StackOverflowError")) {
            thrown++;
            failed++;
            kinds.merge("StackOverflowError CALLER, in earnest", 1, Integer::sum);
        } else if (!outcome.equals("done")) {
            hung++;
            complain(what + "; the other process: " + serving.ask("dump") + history);
            return false;
        }
        return check(connecting.ask("probe"), what, 0);
    }

    private boolean check(String probe, String what, int inHand) {
        if (probe.startsWith("LOST")) {
            int count = probe.split(";").length;
            if (count > inHand || probe.contains("WRONG")) {
                lost += count;
                complain(what + ": " + count + " " + probe.substring(0, Math.min(SHOWN, probe.length())));
            }
            return true;
        }
        if (!probe.equals("fine")) {
            complain(what + ": " + probe);
            return false;
        }
        return true;
    }

    /** An error of the loading of a class, in two processes that have loaded nothing yet. */
    private void coldRound() throws Exception {
        if (coldPoints == null) {
            coldPoints = new BitSet[] {new BitSet(), new BitSet()};
            cold(null, false, "SHARED_MEMORY");
        }
        boolean serves = random.nextBoolean();
        BitSet known = coldPoints[serves ? 1 : 0];
        InjectedFault.Plan plan = new InjectedFault.Plan(InjectedFault.Side.LOADING, choose(known),
                COLD_ERRORS[random.nextInt(COLD_ERRORS.length)], 1, 0, 0);
        cold(plan, serves, transports.get(random.nextInt(transports.size())));
    }

    /** Without a plan, learns what can be planned. */
    private void cold(InjectedFault.Plan plan, boolean serves, String transport) throws Exception {
        try (FaultProcess server = new FaultProcess(classes, true);
                FaultProcess client = new FaultProcess(classes, true)) {
            FaultProcess process = serves ? server : client;
            if (plan != null) {
                process.ask(plan.toString());
            }
            String ports = server.ask("serve");
            String outcome = ports.startsWith("FAILED") ? ports + "; " : "";
            client.ask("connect " + (outcome.isEmpty() ? ports : server.ask("serve")));
            String first = client.ask("round " + transport + " " + random.nextInt());
            String by = process.ask("disarm");
            String again = client.ask("round " + transport + " " + random.nextInt());
            String what = plan == null ? "new processes" : plan + (serves ? " where serving" : " where connecting")
                    + ", in new processes, round " + transport + ": " + points.get(plan.point()) + ", thrown " + by
                    + ": " + outcome + first + "; and afterwards: " + again;
            if (!first.equals("done") && !first.startsWith("failed") || !again.equals("done")) {
                hung++;
                complain(what + "; the other process: " + server.ask("dump"));
            }
            if (plan == null) {
                learnCold(server, 1);
                learnCold(client, 0);
            } else if (!by.startsWith("0")) {
                noteThrown(plan, what);
                cold++;
            }
            for (FaultProcess ended : List.of(client, server)) {
                terminate(ended, what);
            }
        }
    }

    private void terminate(FaultProcess process, String what) throws InterruptedException {
        long millis = process.terminate();
        longestExitMillis = Math.max(longestExitMillis, millis);
        if (millis < 0) {
            complain(what + ": no end after SIGTERM");
        }
        process.close();
    }

    private void learnCold(FaultProcess process, int index) throws IOException {
        process.learn();
        coldPoints[index].or(process.seen(InjectedFault.Side.LOADING));
    }

    /** Ends what runs; logs and dumps stay if something did not hold. */
    @Override
    public void close() throws IOException {
        for (FaultProcess process : new FaultProcess[] {connecting, serving}) {
            if (process != null) {
                process.close();
            }
        }
        try (var files = Files.walk(complaints.isEmpty() ? folder : classes)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
