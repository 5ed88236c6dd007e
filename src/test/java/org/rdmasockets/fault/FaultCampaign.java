package org.rdmasockets.fault;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.rdmasockets.RdmaSocket;

/**
 * Throws {@code Error}s at random points of the library, a few in each round, in two processes that have bystanders
 * with each other. See {@code src/test/faults}. Each costs at most the connection in hand, and nothing is left.
 *
 * <p>Some come in bursts, as when there is no memory for a while: at the next points that the threads of that side come
 * by, too. Some are thrown in processes that have loaded nothing yet, as errors of the loading of a class.
 */
final class FaultCampaign implements AutoCloseable {
    private static final int ROUNDS = 10_000;
    /** Rounds without a fault before a session, so that points are known. */
    private static final int WARM_UP = 20;
    private static final int ERRORS_OF_SESSION = 1000;
    private static final int ROUNDS_PER_COUNT = 20;
    /** Errors that are planned for a round in each process; less than half of them are thrown. */
    private static final int PLANS = Integer.getInteger("org.rdmasockets.test.faults.plans", 16);
    private static final int VICTIMS = 6;
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
    private static final int ROUNDS_PER_COLD = Integer.getInteger("org.rdmasockets.test.faults.cold", 50);
    /** Errors that are planned in each of these. */
    private static final int COLD_PLANS = 3;
    /** A caller that polls delivers for others, too: an error there costs the connection that the completion is of. */
    private static final String[] COLD_ERRORS = {"NoClassDefFoundError", "ExceptionInInitializerError", "LinkageError"};
    private static final int SHOWN = 1000;

    private final Random random;
    private final Path folder;
    private final Path classes;
    private final List<FaultPoints.Point> points;
    /** How often it was planned to throw at a point, and where it was thrown. */
    private final int[] tried;
    private final BitSet injected = new BitSet();
    private final Map<String, Integer> kinds = new TreeMap<>();
    private final List<String> complaints = new ArrayList<>();
    /** The errors of the last round: what they spoil shows later at times. */
    private final List<String> history = new ArrayList<>();
    /** Points of classes that new processes come by, by the transport, and by whether they serve. */
    private final Map<String, BitSet[]> coldPoints = new HashMap<>();
    private long endNanos = Long.MAX_VALUE;
    /** How many errors or bursts were thrown, and how many errors in all. */
    private int thrown;
    private int errors;
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
        tried = new int[points.size()];
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
            if (start(overTcp) && serveCalls()) {
                System.out.println((overTcp ? "with" : "without") + " TCP: " + serving + "; " + connecting);
                session((int) Math.min(faults, thrown + (long) ERRORS_OF_SESSION));
            }
            stop();
        }
        System.out.println(thrown + " errors thrown, " + cold + " of them in new processes, and " + (errors - thrown)
                + " more in bursts, at " + injected.cardinality() + " points: " + kinds + "; " + failed
                + " victims failed, " + hung + " waited in vain, " + lost
                + " bystanders lost that were not in hand; longest end after SIGTERM " + longestExitMillis + " ms; "
                + complaints.size() + " failures");
    }

    private void complain(String what) {
        complaints.add(what);
        System.out.println("FAILED  " + what);
    }

    /** The violations found. */
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
        return warmUp();
    }

    private boolean warmUp() throws Exception {
        for (int i = 0; i < WARM_UP; i++) {
            String round = "round " + random.nextInt() + " " + String.join(" ",
                    IntStream.range(0, VICTIMS).mapToObj(victim -> anyTransport()).toList());
            String outcome = connecting.ask(round);
            if (!outcome.matches("done(\\|done)*")) {
                complain("without a fault: " + round + ": " + outcome);
                return false;
            }
        }
        boolean fine = check(connecting.ask("probe"), "without a fault", 0);
        serving.remember();
        connecting.remember();
        return fine;
    }

    /**
     * Has the serving process serve calls and datagrams, too, with bystanders, and shows both what there is; false if
     * that fails.
     */
    boolean serveCalls() throws Exception {
        List<String> sockets = transports;
        connecting.ask("callsAt " + serving.ask("serveCalls"));
        String started = connecting.ask("callBystanders");
        transports = CallVictims.KINDS;
        boolean fine = started.equals("started") && warmUp();
        if (!started.equals("started")) {
            complain("without a fault: " + started);
        }
        transports = Stream.concat(sockets.stream(), CallVictims.KINDS.stream()).toList();
        return fine;
    }

    /** From now on victims make calls only. */
    void onlyCalls() {
        transports = CallVictims.KINDS;
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

    /** Has the serving process serve endpoints, too, and shows the other one where, and both what there is. */
    void serveEndpoints() throws Exception {
        connecting.ask("endpointsAt " + serving.ask("serveEndpoints"));
        String outcome = connecting.ask("round 0 " + FaultNode.ENDPOINT);
        if (!outcome.equals("done")) {
            complain("without a fault: " + outcome);
        }
        serving.remember();
        connecting.remember();
        transports = List.of(FaultNode.ENDPOINT);
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

    /** Whether no process holds more than in the beginning, after a while, and no timer has rescued a wake-up. */
    boolean nothingIsLeft() throws Exception {
        boolean nothing = true;
        for (FaultProcess process : List.of(serving, connecting)) {
            process.learn();
            String left = process.awaitLeft();
            if (left != null) {
                complain(left + history);
                nothing = false;
            }
            String rescues = process.ask("rescues");
            if (!rescues.equals("{}")) {
                complain("wake-ups were lost, and timers found that: " + rescues + history);
                nothing = false;
            }
        }
        return nothing;
    }

    /**
     * Whether an error can come from there. Not where a method begins, or where a monitor is taken: that takes stack
     * and no memory of the heap. The stack of a caller ends in earnest instead, see {@link FaultNode}, and that of a
     * thread of the library begins empty and never does. Nor for lack of a class that the place has used before: it is
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

    /** Several victims and errors at the same time; false ends the session. */
    private boolean randomRound() throws Exception {
        List<InjectedFault.Plan> served = plans(serving);
        List<InjectedFault.Plan> connected = plans(connecting);
        List<String> victims = IntStream.range(0, VICTIMS)
                .mapToObj(i -> (random.nextInt(100) < DEEP_PERCENT ? FaultNode.DEEP : "") + anyTransport()).toList();
        return round(served, connected, victims);
    }

    private String anyTransport() {
        return transports.get(random.nextInt(transports.size()));
    }

    /** The errors of a round in a process, each thrown if a thread comes by its point. */
    private List<InjectedFault.Plan> plans(FaultProcess process) {
        List<InjectedFault.Plan> plans = new ArrayList<>();
        for (int i = 0; i < PLANS; i++) {
            InjectedFault.Side side = InjectedFault.Side.values()[random.nextInt(2)]; // not LOADING
            int point = choose(process.seen(side));
            if (isMeant(point)) {
                String error = switch (points.get(point).kind()) {
                    case ENTRY -> "StackOverflowError";
                    case CLASS -> "NoClassDefFoundError";
                    default -> "OutOfMemoryError";
                };
                int hit = 1 + random.nextInt(1 + random.nextInt(8));
                boolean burst = random.nextInt(100) < BURST_PERCENT;
                plans.add(new InjectedFault.Plan(side, point, error, hit,
                        burst ? random.nextInt(1 + random.nextInt(LONGEST_PAUSE)) : 0,
                        burst ? 1 + random.nextInt(LONGEST_BURST) : 0));
            }
        }
        return plans;
    }

    /** A point that threads of a side come by; rather one at which little was tried. */
    private int choose(BitSet known) {
        int best = -1;
        for (int i = 0; i < 3; i++) {
            int point = known.nextSetBit(random.nextInt(known.length()));
            if (best < 0 || tried[point] < tried[best]) {
                best = point;
            }
        }
        tried[best]++;
        return best;
    }

    /**
     * Throws at every point that a thread of a side has come by, one after the other.
     *
     * @param serves in which process
     * @param side by whose threads
     * @param place a pattern that its text matches
     * @param burst at how many points more it is thrown each time
     * @return how many points there are
     */
    int throwAt(boolean serves, InjectedFault.Side side, Pattern place, int burst) throws Exception {
        int[] found = (serves ? serving : connecting).seen(side).stream()
                .filter(point -> isMeant(point) && place.matcher(points.get(point).place()).find()).toArray();
        for (int point : found) {
            for (String transport : transports.subList(0, Math.min(transports.size(), 3))) {
                List<InjectedFault.Plan> plan =
                        List.of(new InjectedFault.Plan(side, point, "OutOfMemoryError", 1, 0, burst));
                if (!round(serves ? plan : List.of(), serves ? List.of() : plan, List.of(transport))) {
                    return found.length;
                }
            }
        }
        return found.length;
    }

    /**
     * Throws at every point of a place in two processes that have just started: they have no link and no connection
     * yet. They are new for each point, or for three where a class is loaded: such an error needs no other beside.
     *
     * @param side by whose threads; with {@code LOADING}, where another class is used for the first time
     * @param serves in which process
     * @param place a pattern that the point's text matches
     * @param burst at how many points more it is thrown each time
     * @return how many points there are
     */
    int throwInNewProcesses(InjectedFault.Side side, boolean serves, Pattern place, int burst) throws Exception {
        boolean loading = side == InjectedFault.Side.LOADING;
        int[] found = IntStream.range(0, points.size())
                .filter(point -> loading ? points.get(point).kind() == FaultPoints.Kind.CLASS : isMeant(point))
                .filter(point -> place.matcher(points.get(point).place()).find()).toArray();
        int together = loading ? COLD_PLANS : 1;
        for (int first = 0; first < found.length; first += together) {
            List<InjectedFault.Plan> plans = Arrays.stream(found).skip(first).limit(together)
                    .mapToObj(point -> new InjectedFault.Plan(side, point,
                            loading ? "NoClassDefFoundError" : "OutOfMemoryError", 1, 0, burst)).toList();
            cold(serves ? plans : List.of(), serves ? List.of() : plans, "SHARED_MEMORY", false);
        }
        return found.length;
    }

    /**
     * Throws all planned errors, then checks every connection: each error costs one connection at most, and the first
     * error that is thrown in the thread of a victim costs no other connection. False if the processes are of no use
     * any more.
     */
    private boolean round(List<InjectedFault.Plan> served, List<InjectedFault.Plan> connected, List<String> victims)
            throws Exception {
        serving.arm(served);
        connecting.arm(connected);
        String round = "round " + random.nextInt() + " " + String.join(" ", victims);
        List<String> outcomes = List.of(connecting.ask(round).split("\\|"));
        List<String> fired = new ArrayList<>();
        int before = errors;
        int mayBeLost = take(serving, "serving", served, fired) + take(connecting, "connecting", connected, fired);
        int bad = 0;
        boolean good = true;
        for (int i = 0; i < outcomes.size(); i++) {
            String outcome = outcomes.get(i);
            if (outcome.contains("StackOverflowError") && victims.get(i).startsWith(FaultNode.DEEP)) {
                noteThrown("STACK of a caller", 1);
            }
            bad += outcome.equals("done") ? 0 : 1;
            good &= outcome.equals("done") || outcome.startsWith("failed");
        }
        failed += bad;
        String what = round + ": " + outcomes + ", thrown " + fired + (history.isEmpty() ? "" : "; before: " + history);
        if (!good) {
            hung++;
            complain(what + "; the other process: " + serving.ask("dump"));
        } else if (bad > errors - before) {
            complain("fails without an error: " + what);
        }
        history.clear();
        history.addAll(fired);
        return check(connecting.ask("probe"), what, Math.min(mayBeLost, errors - before - bad)) && good;
    }

    /** Takes what was thrown in a process; how many connections may be lost by it that are not meant to fail. */
    private int take(FaultProcess process, String where, List<InjectedFault.Plan> plans, List<String> fired)
            throws IOException {
        int mayBeLost = 0;
        if (!plans.isEmpty()) {
            String[] counts = process.ask("disarm").split("\\|");
            for (int i = 0; i < counts.length; i++) {
                String[] words = counts[i].split(" ", 3);
                int count = Integer.parseInt(words[0]);
                if (count > 0) {
                    InjectedFault.Plan plan = plans.get(i);
                    FaultPoints.Point point = points.get(plan.point());
                    fired.add(where + " " + plan + " " + point + ", thrown " + count + " " + words[2]);
                    injected.set(plan.point());
                    noteThrown(point.kind() + switch (plan.side()) {
                        case CALLER -> " of a caller";
                        case LIBRARY -> " of the library";
                        case LOADING -> " in a new process";
                    }, count);
                    boolean own = plan.side() == InjectedFault.Side.CALLER
                            && !words[2].contains(CallVictims.HANDLES); // those serve the others as well
                    mayBeLost += own ? Math.max(count - 1, Integer.parseInt(words[1])) : count;
                }
            }
        }
        return mayBeLost;
    }

    private void noteThrown(String kind, int count) {
        thrown++;
        errors += count;
        kinds.merge(kind, 1, Integer::sum);
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

    /** Errors of the loading of classes, in two processes that have loaded nothing yet. */
    private void coldRound() throws Exception {
        String transport = anyTransport();
        if (!coldPoints.containsKey(transport)) {
            coldPoints.put(transport, new BitSet[] {new BitSet(), new BitSet()});
            cold(List.of(), List.of(), transport, true);
        }
        BitSet[] known = coldPoints.get(transport);
        cold(coldPlans(known[1]), coldPlans(known[0]), transport, false);
    }

    private List<InjectedFault.Plan> coldPlans(BitSet known) {
        return IntStream.range(0, COLD_PLANS).mapToObj(i -> new InjectedFault.Plan(InjectedFault.Side.LOADING,
                choose(known), COLD_ERRORS[random.nextInt(COLD_ERRORS.length)], 1, 0, 0)).toList();
    }

    /** In new processes; may learn what can be planned. */
    private void cold(List<InjectedFault.Plan> served, List<InjectedFault.Plan> connected, String transport,
            boolean learns) throws Exception {
        try (FaultProcess server = new FaultProcess(classes, true);
                FaultProcess client = new FaultProcess(classes, true)) {
            server.arm(served);
            client.arm(connected);
            List<String> outcomes = new ArrayList<>();
            boolean calls = CallVictims.KINDS.contains(transport);
            do {
                outcomes.add(server.ask(calls ? "serveCalls" : "serve"));
            } while (outcomes.getLast().startsWith("FAILED") && outcomes.size() <= COLD_PLANS);
            client.ask((calls ? "callsAt " : "connect ") + outcomes.removeLast());
            String round = "round " + random.nextInt() + " " + transport;
            do {
                outcomes.add(client.ask(round));
            } while (outcomes.getLast().startsWith("failed") && outcomes.size() <= 2 * COLD_PLANS);
            List<String> fired = new ArrayList<>();
            int before = errors;
            int mayFail = take(server, "serving", served, fired) + take(client, "connecting", connected, fired);
            cold += errors - before;
            outcomes.add(client.ask(round));
            String what = "new processes, " + round + ": " + outcomes + ", thrown " + fired;
            if (outcomes.stream().filter(outcome -> !outcome.equals("done")).count() > mayFail
                    || !outcomes.getLast().equals("done")
                    || outcomes.stream().anyMatch(outcome -> !outcome.matches("done|failed.*|FAILED.*"))) {
                hung++;
                complain(what + "; the other process: " + server.ask("dump"));
            }
            if (learns) {
                learnCold(server, coldPoints.get(transport)[1]);
                learnCold(client, coldPoints.get(transport)[0]);
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

    private static void learnCold(FaultProcess process, BitSet points) throws IOException {
        process.learn();
        points.or(process.seen(InjectedFault.Side.LOADING));
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
