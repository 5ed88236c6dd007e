package org.rdmasockets.internal.waiting;

import java.util.List;
import org.rdmasockets.internal.waiting.Simulation.Kind;
import org.rdmasockets.internal.waiting.Simulation.Plan;
import org.rdmasockets.internal.waiting.Simulation.Result;
import org.rdmasockets.internal.waiting.Simulation.Threads;

/**
 * The runs of the forked JVMs of {@link SimulationTest}, as many as the argument says: one line per run; the exit
 * status is 0 only if each was good.
 */
final class SimulationMain {
    private static final int PATIENCE_MILLIS = 20_000;
    private static final Kind D = Kind.DUPLEX;
    private static final Kind P = Kind.PING_PONG;
    private static final Kind O = Kind.ONE_WAY;
    private static final Kind I = Kind.IMPATIENT;

    private SimulationMain() {
    }

    public static void main(String[] args) throws Exception {
        System.exit(sound(Integer.parseInt(args[0])) ? 0 : 1);
    }

    private static PollerSettings settings(int spinNanos, boolean valve, int queueEntries) {
        // Spinning as on a machine with more processors, whatever this one has.
        PollerSettings spinning = Settings.withQueueEntries(queueEntries, queueEntries).withSpinBudgetNanos(spinNanos);
        return Settings.withValve(Settings.withProcessors(spinning, 3), valve);
    }

    private static boolean sound(int scale) throws Exception {
        int spin = 30_000;
        boolean good = true;
        good &= sound("ping-pong, spin", settings(spin, true, 64),
                new Plan(List.of(P), Threads.VIRTUAL, 40 * scale, 1, false, true));
        good &= sound("virtual, spin, valve", settings(spin, true, 64),
                new Plan(List.of(D, P, O, D, P, O), Threads.VIRTUAL, 60 * scale, 4, false, true));
        good &= sound("virtual, no spin, no valve", settings(0, false, 64),
                new Plan(List.of(D, P, O, D, P, O), Threads.VIRTUAL, 60 * scale, 4, true, true));
        good &= sound("mixed, spin, valve, one queue", settings(spin, true, 4096),
                new Plan(List.of(D, P, O, D, P, O, D, D), Threads.MIXED, 12 * scale, 2, true, true));
        good &= sound("mixed, no spin, lock-step", settings(0, true, 16),
                new Plan(List.of(D, D, P, D, I), Threads.MIXED, 10 * scale, 1, false, true));
        good &= sound("platform, spin", settings(spin, true, 64),
                new Plan(List.of(D, P, O), Threads.PLATFORM, 8 * scale, 2, false, true));
        good &= sound("handed over: ping-pong, spin", settings(spin, true, 64),
                new Plan(List.of(P), Threads.VIRTUAL, 40 * scale, 1, false, true).handingOver());
        good &= sound("handed over: mixed, spin, valve, one queue", settings(spin, true, 4096),
                new Plan(List.of(D, P, O, D, P, O, D, D), Threads.MIXED, 12 * scale, 2, true, true).handingOver());
        good &= sound("handed over: mixed, no spin, lock-step", settings(0, true, 16),
                new Plan(List.of(D, D, P, D, I), Threads.MIXED, 10 * scale, 1, false, true).handingOver());
        return good;
    }

    private static boolean sound(String name, PollerSettings settings, Plan plan) throws Exception {
        Result result = new Simulation(settings, PATIENCE_MILLIS).run(plan);
        System.out.println(name + ": " + result);
        return result.problem() == null;
    }
}
