package org.rdmasockets.internal.waiting;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Runs the algorithm over a simulated device until every message has arrived, or nothing moves any more. */
final class Simulation {
    /** The threads of a connection. */
    enum Kind {
        /** A reader and a writer at both ends, all at once. */
        DUPLEX(4, 4),
        /** One thread at each end, which writes and reads by turns. */
        PING_PONG(2, 4),
        /** A writer at one end, a reader at the other. */
        ONE_WAY(2, 2),
        /** The same, and at the writer's end a reader that never gets anything and gives up soon, again and again. */
        IMPATIENT(3, 2);

        final int threads;
        /** Calls that count as progress, per message. */
        final int calls;

        Kind(int threads, int calls) {
            this.threads = threads;
            this.calls = calls;
        }
    }

    /** The kinds of threads that talk. */
    enum Threads {
        /** Virtual ones only. */
        VIRTUAL,
        /** Platform threads only. */
        PLATFORM,
        /** Each second one virtual. */
        MIXED
    }

    /**
     * The run to make.
     *
     * @param kinds the connections
     * @param threads the kind of threads
     * @param messages how many per direction and connection
     * @param window messages in flight per direction
     * @param lateSends send completions come from a thread of their own, some time later
     * @param inOrder whether the order of messages is checked
     * @param handsOver whether the thread that posts is offered the events
     */
    record Plan(List<Kind> kinds, Threads threads, int messages, int window, boolean lateSends, boolean inOrder,
            boolean handsOver) {
        /** Events go to the poller. */
        Plan(List<Kind> kinds, Threads threads, int messages, int window, boolean lateSends, boolean inOrder) {
            this(kinds, threads, messages, window, lateSends, inOrder, false);
        }

        /** The same with events offered to the thread that posts. */
        Plan handingOver() {
            return new Plan(kinds, threads, messages, window, lateSends, inOrder, true);
        }
    }

    /**
     * The result of a run.
     *
     * @param completions how many completions there were
     * @param nanos how long it took
     * @param problem null, or what is wrong with the state at that time
     * @param lostWakeup true when nothing moved, and waking all waiters from outside made it move again
     */
    record Result(long completions, long nanos, String problem, boolean lostWakeup) {
        @Override
        public String toString() {
            return (problem == null ? "ok" : (lostWakeup ? "LOST WAKE-UP\n" : "FAILED\n") + problem)
                    + " completions=" + completions + " millis=" + nanos / 1_000_000;
        }
    }

    private static final int WATCH_MILLIS = 20;
    private static final int MAX_GLANCE_NANOS = 100_000;

    private final PollerSettings settings;
    private final int stallMillis;
    private final List<SimulatedEnd> ends = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();

    Simulation(PollerSettings settings, int stallMillis) {
        this.settings = settings;
        this.stallMillis = stallMillis;
    }

    Result run(Plan plan) throws Exception {
        SimulatedEvents events = new SimulatedEvents();
        SimulatedDevice device = new SimulatedDevice(events, plan.handsOver());
        ExecutorService late = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().factory());
        long start = System.nanoTime();
        try (CompletionPoller poller = new CompletionPoller(events, settings)) {
            long expected = 0;
            for (Kind kind : plan.kinds()) {
                boolean direct = !plan.lateSends() || ends.size() % 4 == 2;
                connect(kind, plan, SimulatedEnd.pair(poller, device, plan.window(), plan.inOrder(),
                        direct ? Runnable::run : late));
                expected += (long) kind.calls * plan.messages();
            }
            threads.forEach(Thread::start);
            boolean stalled = watch(expected);
            String problem = stalled ? describe(device) : failures();
            boolean lost = stalled && movesAgain(expected);
            long nanos = System.nanoTime() - start;
            ends.forEach(SimulatedEnd::close);
            problem = joinAll(problem);
            return new Result(device.completions(), nanos, problem, lost);
        } finally {
            late.shutdown();
            late.awaitTermination(5, TimeUnit.SECONDS);
        }
    }

    private void connect(Kind kind, Plan plan, SimulatedEnd[] pair) {
        int messages = plan.messages();
        ends.addAll(List.of(pair));
        switch (kind) {
            case DUPLEX -> {
                for (SimulatedEnd end : pair) {
                    add(plan, () -> repeat(messages, end::write));
                    add(plan, () -> repeat(messages, end::read));
                }
            }
            case PING_PONG -> {
                add(plan, () -> repeat(messages, () -> pair[0].write() && pair[0].read()));
                add(plan, () -> repeat(messages, () -> pair[1].read() && pair[1].write()));
            }
            case ONE_WAY, IMPATIENT -> {
                if (kind == Kind.IMPATIENT) {
                    add(plan, () -> glanceUntil(messages, pair[0]));
                }
                add(plan, () -> repeat(messages, pair[0]::write));
                add(plan, () -> repeat(messages, pair[1]::read));
            }
        }
    }

    private void add(Plan plan, Runnable body) {
        boolean virtual = switch (plan.threads()) {
            case VIRTUAL -> true;
            case PLATFORM -> false;
            // Not by twos: pairs of any mixture shall occur.
            case MIXED -> threads.size() * 5 % 7 % 2 == 0;
        };
        ThreadFactory factory = virtual ? Thread.ofVirtual().name("v" + threads.size()).factory()
                : Thread.ofPlatform().daemon().name("p" + threads.size()).factory();
        threads.add(factory.newThread(body));
    }

    private static void repeat(int times, BooleanSupplier call) {
        for (int i = 0; i < times && call.getAsBoolean(); i++) {
            Thread.onSpinWait();
        }
    }

    /** After each glance it stays away until the writer has moved, so that no other thread drains in its stead. */
    private static void glanceUntil(int messages, SimulatedEnd end) {
        while (end.writes() < messages && end.glance(ThreadLocalRandom.current().nextInt(MAX_GLANCE_NANOS))) {
            int seen = end.writes();
            while (end.writes() == seen && seen < messages && end.isOpen()) {
                LockSupport.parkNanos(1_000);
            }
        }
    }

    private long progress() {
        return ends.stream().mapToLong(SimulatedEnd::progress).sum();
    }

    /** Watches until all is done; true if nothing moved for too long. */
    private boolean watch(long expected) throws InterruptedException {
        long moved = System.nanoTime();
        long last = -1;
        while (true) {
            long now = progress();
            if (now >= expected) {
                return false;
            }
            Thread alive = threads.stream().filter(Thread::isAlive).findFirst().orElse(null);
            if (alive == null) {
                // Read again: the last one may have moved between the two looks.
                return progress() < expected && failures() == null;
            }
            if (now != last) {
                last = now;
                moved = System.nanoTime();
            } else if (System.nanoTime() - moved > stallMillis * 1_000_000L) {
                return true;
            }
            alive.join(WATCH_MILLIS);
        }
    }

    private String failures() {
        for (SimulatedEnd end : ends) {
            Throwable failure = end.failure();
            if (failure != null) {
                return failure.toString();
            }
        }
        return null;
    }

    private String describe(SimulatedDevice device) {
        StringBuilder text = new StringBuilder("nothing moved for " + stallMillis + " ms");
        ends.stream().map(end -> end.inbox().shard()).distinct().forEach(s -> text.append("\n  ").append(s));
        device.queues().forEach(queue -> text.append("\n  ").append(queue));
        ends.forEach(end -> text.append("\n  ").append(end));
        return text.toString();
    }

    /** Wakes all waiters and polls every queue from outside; true if that makes it move. */
    private boolean movesAgain(long expected) throws InterruptedException {
        long before = progress();
        long deadline = System.nanoTime() + 5_000_000_000L;
        while (progress() == before && before < expected && System.nanoTime() - deadline < 0) {
            ends.forEach(end -> end.inbox().drainThenOffer("wake up"));
            TimeUnit.MILLISECONDS.sleep(WATCH_MILLIS);
        }
        return progress() != before;
    }

    private String joinAll(String problem) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join(10_000);
            if (thread.isAlive()) {
                return problem + "\n" + thread.getName() + " did not end after close";
            }
        }
        return problem;
    }
}
