package org.rdmasockets.completion;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.rdmasockets.completion.Simulation.Kind;
import org.rdmasockets.completion.Simulation.Plan;
import org.rdmasockets.completion.Simulation.Result;
import org.rdmasockets.completion.Simulation.Threads;

/**
 * What the forked JVMs of {@link SimulationTest} run: {@code sound SCALE} runs the algorithm as it is, and
 * {@code mutants} without one step each. One line per run; the exit status is 0 only if each came out as it must.
 */
final class SimulationMain {
    private static final int PATIENCE_MILLIS = 20_000;
    /** A mutant's threads have milliseconds of work, so this is for ever. */
    private static final int MUTANT_PATIENCE_MILLIS = 400;
    private static final long MUTANT_NANOS = 20_000_000_000L;
    private static final Kind D = Kind.DUPLEX;
    private static final Kind P = Kind.PING_PONG;
    private static final Kind O = Kind.ONE_WAY;
    private static final Kind I = Kind.IMPATIENT;

    private SimulationMain() {
    }

    public static void main(String[] args) throws Exception {
        boolean good = args[0].equals("sound") ? sound(Integer.parseInt(args[1])) : mutants();
        System.exit(good ? 0 : 1);
    }

    private static PollerSettings settings(int spinNanos, boolean valve, int queueEntries) {
        // Spinning as on a machine with more processors, whatever this one has.
        PollerSettings spinning = Settings.withQueueEntries(queueEntries, queueEntries).withSpinBudgetNanos(spinNanos);
        return Settings.withValve(Settings.withProcessors(spinning, 3), valve);
    }

    /** Who watches does so for ever, so that a wake-up that is lost there shows. */
    private static PollerSettings watched(int spinNanos, int queueEntries) {
        return settings(spinNanos, true, queueEntries).withWatchMillis((int) TimeUnit.HOURS.toMillis(1));
    }

    private static boolean sound(int scale) throws Exception {
        int spin = 30_000;
        boolean good = true;
        good &= sound("ping-pong, spin", settings(spin, true, 64), Faults.NONE,
                new Plan(List.of(P), Threads.VIRTUAL, 40 * scale, 1, false, true));
        good &= sound("virtual, spin, valve", settings(spin, true, 64), Faults.NONE,
                new Plan(List.of(D, P, O, D, P, O), Threads.VIRTUAL, 60 * scale, 4, false, true));
        good &= sound("virtual, no spin, no valve", settings(0, false, 64), Faults.NONE,
                new Plan(List.of(D, P, O, D, P, O), Threads.VIRTUAL, 60 * scale, 4, true, true));
        good &= sound("mixed, spin, valve, one queue", settings(spin, true, 4096), Faults.NONE,
                new Plan(List.of(D, P, O, D, P, O, D, D), Threads.MIXED, 12 * scale, 2, true, true));
        good &= sound("mixed, no spin, lock-step", settings(0, true, 16), Faults.NONE,
                new Plan(List.of(D, D, P, D, I), Threads.MIXED, 10 * scale, 1, false, true));
        good &= sound("platform, spin", settings(spin, true, 64), Faults.NONE,
                new Plan(List.of(D, P, O), Threads.PLATFORM, 8 * scale, 2, false, true));
        good &= sound("mixed, spin, bad timing", settings(spin, true, 64), new Adversary(8),
                new Plan(List.of(D, P, O, D, I), Threads.MIXED, 3 * scale, 2, true, true));
        good &= sound("mixed, spin, store buffers", settings(spin, true, 64), new Adversary.StoreBuffer(8, true),
                new Plan(List.of(D, P, O, D), Threads.MIXED, 3 * scale, 1, true, false));
        good &= sound("watched: ping-pong", watched(0, 64), new Adversary.Watching(1_000),
                new Plan(List.of(P), Threads.VIRTUAL, 10 * scale, 1, false, true));
        good &= sound("watched: mixed, spin, bad timing", watched(spin, 64), new Adversary.Watching(8),
                new Plan(List.of(D, P, O, D, I), Threads.MIXED, 3 * scale, 2, true, true));
        good &= sound("watched: mixed, no spin, one queue", watched(0, 4096), new Adversary.Watching(8),
                new Plan(List.of(D, P, O, D, I), Threads.MIXED, 3 * scale, 1, false, true).handingOver());
        good &= sound("handed over: ping-pong, spin", settings(spin, true, 64), Faults.NONE,
                new Plan(List.of(P), Threads.VIRTUAL, 40 * scale, 1, false, true).handingOver());
        good &= sound("handed over: mixed, spin, valve, one queue", settings(spin, true, 4096), Faults.NONE,
                new Plan(List.of(D, P, O, D, P, O, D, D), Threads.MIXED, 12 * scale, 2, true, true).handingOver());
        good &= sound("handed over: mixed, no spin, lock-step", settings(0, true, 16), Faults.NONE,
                new Plan(List.of(D, D, P, D, I), Threads.MIXED, 10 * scale, 1, false, true).handingOver());
        good &= sound("handed over: mixed, spin, bad timing", settings(spin, true, 64), new Adversary(8),
                new Plan(List.of(D, P, O, D, I), Threads.MIXED, 3 * scale, 2, true, true).handingOver());
        good &= sound("handed over: mixed, spin, store buffers", settings(spin, true, 64),
                new Adversary.StoreBuffer(8, true),
                new Plan(List.of(D, P, O, D), Threads.MIXED, 3 * scale, 1, true, false).handingOver());
        return good;
    }

    private static boolean sound(String name, PollerSettings settings, Faults faults, Plan plan)
            throws Exception {
        Result result = new Simulation(settings, faults, PATIENCE_MILLIS).run(plan);
        System.out.println(name + ": " + result);
        return result.problem() == null;
    }

    private static boolean mutants() throws Exception {
        int spin = 30_000;
        List<Boolean> caught = new ArrayList<>();
        caught.add(mutant("no fence before the look at the waiters", () -> new Adversary.StoreBuffer(2, false),
                settings(0, true, 64), new Plan(List.of(D), Threads.MIXED, 2_000, 1, false, false)));
        caught.add(mutant("poller try-locks", () -> new Adversary.PollerTriesLock(2), settings(spin, true, 64),
                new Plan(List.of(D, P), Threads.MIXED, 2_000, 1, true, true)));
        caught.add(mutant("no last drain when leaving", () -> new Adversary.NoDrainWhenLeaving(2),
                settings(0, true, 64), new Plan(List.of(I, I, I), Threads.MIXED, 5_000, 1, false, true)));
        // Short runs: what comes later makes up for a wake-up that was lost before.
        caught.add(mutant("poller forgets to clear armed", () -> new Adversary.ForgetsArmed(2),
                settings(0, true, 64), new Plan(List.of(P), Threads.VIRTUAL, 200, 1, false, true)));
        caught.add(mutant("no poll after arming", () -> new Adversary.NoPollAfterArming(2),
                settings(0, true, 16), new Plan(List.of(O, O, O, O), Threads.MIXED, 1, 1, false, true)));
        caught.add(mutant("send completions do not wake who owes credit", () -> new Adversary.NoWakeForCredit(2),
                settings(0, true, 64), new Plan(List.of(O), Threads.MIXED, 2_000, 2, true, true)));
        caught.add(mutant("who watches is not woken", () -> new Adversary.WatcherSleepsOn(2), watched(0, 64),
                new Plan(List.of(D, P), Threads.MIXED, 2_000, 1, true, true)));
        caught.add(mutant("an event that a busy poster does not take is lost", () -> new Adversary.PosterDropsEvent(2),
                settings(0, true, 64), new Plan(List.of(D, P), Threads.MIXED, 2_000, 1, false, true).handingOver()));
        caught.add(mutant("poster forgets to clear armed", () -> new Adversary.ForgetsArmed(2),
                settings(0, true, 64), new Plan(List.of(P), Threads.VIRTUAL, 2_000, 1, false, true).handingOver()));
        return !caught.contains(false);
    }

    /** The plan of a mutant, with the same bad timing and nothing left out, must pass: else the plan is at fault. */
    private static boolean control(String name, PollerSettings settings, Faults faults, Plan plan)
            throws Exception {
        Faults whole = switch (faults) {
            case Adversary.StoreBuffer _ -> new Adversary.StoreBuffer(2, true);
            case Adversary.Watching _ -> new Adversary.Watching(2);
            default -> new Adversary(2);
        };
        Result result = new Simulation(settings, whole, PATIENCE_MILLIS).run(plan);
        if (result.problem() != null) {
            System.out.println("the algorithm itself fails where '" + name + "' is to be seen: " + result);
        }
        return result.problem() == null;
    }

    /** Runs a mutant until it loses a wake-up; true if it does within the time. */
    private static boolean mutant(String name, Supplier<Faults> faults, PollerSettings settings, Plan plan)
            throws Exception {
        if (!control(name, settings, faults.get(), plan)) {
            return false;
        }
        long start = System.nanoTime();
        long completions = 0;
        for (int runs = 1; System.nanoTime() - start < MUTANT_NANOS; runs++) {
            Result result = new Simulation(settings, faults.get(), MUTANT_PATIENCE_MILLIS).run(plan);
            completions += result.completions();
            if (result.lostWakeup()) {
                System.out.println("mutant '" + name + "' caught in run " + runs + " after " + completions
                        + " completions, " + (System.nanoTime() - start) / 1_000_000 + " ms");
                return true;
            }
        }
        System.out.println("mutant '" + name + "' NOT CAUGHT in " + completions + " completions");
        return false;
    }
}
