package org.rdmasockets.fault;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * The hook of instrumented classes at every point: notes the side whose thread comes by, and throws at the point, the
 * side and the pass that a plan names. See {@link FaultPoints}.
 */
public final class InjectedFault {
    /** The side that a thread belongs to. */
    enum Side {
        /** A thread that uses a socket and is meant to fail: its name begins with {@link #VICTIM}. */
        CALLER,
        /** A thread of the library. */
        LIBRARY,
        /** Any thread that loads a class: for errors in new processes only. */
        LOADING
    }

    /** How the name of a thread begins that uses a socket and is meant to fail. */
    static final String VICTIM = "victim";
    /** The message of every error. */
    static final String MARK = "injected";
    /** Methods that take in what has come: the thread does it for all connections. */
    private static final List<String> DELIVERIES = List.of("LinkDispatcher.onEntry", "CompletionInbox.put",
            "CompletionShard.put");
    private static final int MOST_POINTS = 1 << 16;
    private static final byte[][] SEEN = new byte[Side.values().length][MOST_POINTS];
    /** The class that is used at a point, or null. */
    private static final String[] USED = new String[MOST_POINTS];
    private static final MethodHandle FIND_LOADED = findLoaded();
    private static final InjectedFault[] NONE = {};
    /** Threads that look whether they have to throw, and may have seen what is armed. */
    private static final AtomicInteger INSIDE = new AtomicInteger();

    private static volatile boolean watching;
    /** Whether threads that load a class are watched. */
    private static volatile boolean watchesLoading;
    private static volatile InjectedFault[] armed = NONE;

    /**
     * The plan of an error.
     *
     * @param side the side whose threads throw it
     * @param point the point where it is thrown
     * @param error the error, by its name in {@link #raise}
     * @param hit the pass by the point, from 1, at which it is thrown
     * @param pause how many points, of that side and where memory is wanted, are spared after the first error
     * @param burst at how many of these it is thrown after that, as when there is no memory for a while
     */
    record Plan(Side side, int point, String error, int hit, int pause, int burst) {
        private static final int WORDS = 6;

        /** Parses what {@link #toString} gives, of several, behind the first word. */
        static List<Plan> of(String[] words) {
            List<Plan> plans = new ArrayList<>();
            for (int i = 1; i < words.length; i += WORDS) {
                plans.add(new Plan(Side.valueOf(words[i]), Integer.parseInt(words[i + 1]), words[i + 2],
                        Integer.parseInt(words[i + 3]), Integer.parseInt(words[i + 4]),
                        Integer.parseInt(words[i + 5])));
            }
            return plans;
        }

        @Override
        public String toString() {
            return side + " " + point + " " + error + " " + hit + " " + pause + " " + burst;
        }
    }

    private final Plan plan;
    /** Hits to go. */
    private final AtomicInteger left;
    /** Points to go after the first error, the pause first. */
    private final AtomicInteger more = new AtomicInteger();
    private final AtomicInteger count = new AtomicInteger();
    private final AtomicInteger delivering = new AtomicInteger();
    private volatile String thrownBy;

    private InjectedFault(Plan plan) {
        this.plan = plan;
        this.left = new AtomicInteger(plan.hit);
    }

    static void watch(boolean on) {
        watching = on;
    }

    /** Starts or stops watching for threads that load a class. */
    static void watchLoading(boolean on) {
        watchesLoading = on;
    }

    /** Notes the class that is used at a point. */
    static void used(int point, String className) {
        USED[point] = className;
    }

    /** Throws from now on. */
    static void arm(List<Plan> plans) {
        armed = plans.stream().map(InjectedFault::new).toArray(InjectedFault[]::new);
    }

    /**
     * Throws no more. For each plan, tells how often an error was thrown, how many of these while the thread took in
     * what had come, perhaps for another connection, and the first thread that threw one.
     */
    static String disarm() {
        InjectedFault[] faults = armed;
        armed = NONE;
        while (INSIDE.get() > 0) { // a thread that was about to throw, and had no processor for a while
            Thread.onSpinWait();
        }
        return Arrays.stream(faults).map(fault -> fault.count + " " + fault.delivering + " " + fault.thrownBy)
                .collect(Collectors.joining("|"));
    }

    /** The points that threads of a side have come by. */
    static byte[] seen(Side side) {
        return SEEN[side.ordinal()];
    }

    /** Called by instrumented classes where memory is wanted. */
    public static void at(int point) {
        pass(point, true);
    }

    /** Called by instrumented classes elsewhere. */
    public static void by(int point) {
        pass(point, false);
    }

    private static void pass(int point, boolean wantsMemory) {
        if (!watching) {
            return;
        }
        Thread thread = Thread.currentThread();
        if (watchesLoading && USED[point] != null && !isLoaded(USED[point])) {
            pass(point, Side.LOADING, thread, wantsMemory);
        }
        String name = thread.getName();
        if (name.startsWith(VICTIM)) {
            pass(point, Side.CALLER, thread, wantsMemory);
        } else if (name.startsWith("rdma-")) {
            pass(point, Side.LIBRARY, thread, wantsMemory);
        }
    }

    private static void pass(int point, Side side, Thread thread, boolean wantsMemory) {
        byte[] seen = SEEN[side.ordinal()];
        if (seen[point] == 0) {
            seen[point] = 1;
        }
        if (armed.length == 0) {
            return;
        }
        INSIDE.incrementAndGet();
        try {
            for (InjectedFault fault : armed) {
                fault.meet(side, point, thread, wantsMemory);
            }
        } finally {
            INSIDE.decrementAndGet();
        }
    }

    private void meet(Side hitSide, int hitPoint, Thread thread, boolean wantsMemory) {
        if (hitSide != plan.side) {
            return;
        }
        if (wantsMemory && more.get() > 0 && !initialises()) {
            if (more.getAndDecrement() <= plan.burst) {
                raise();
            }
        } else if (hitPoint == plan.point && left.get() > 0 && !initialises() && left.decrementAndGet() == 0) {
            thrownBy = thread.getName() + (thread.isVirtual() ? "(virtual)" : "");
            more.set(plan.burst == 0 ? 0 : plan.pause + plan.burst);
            raise();
        }
    }

    /** A class whose initialiser fails cannot be used again, says the JVM's specification: not the library's fault. */
    private static boolean initialises() {
        return isWithin("<clinit>");
    }

    private static boolean isWithin(String end) {
        return StackWalker.getInstance().walk(frames -> frames.anyMatch(
                frame -> (frame.getClassName() + "." + frame.getMethodName()).endsWith(end)));
    }

    /** Asks the class loader, which has to be open for that: what it has once loaded is there for good. */
    private static boolean isLoaded(String className) {
        try {
            return (Class<?>) FIND_LOADED.invokeExact(InjectedFault.class.getClassLoader(), className) != null;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static MethodHandle findLoaded() {
        try {
            return MethodHandles.privateLookupIn(ClassLoader.class, MethodHandles.lookup()).findVirtual(
                    ClassLoader.class, "findLoadedClass", MethodType.methodType(Class.class, String.class));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private void raise() {
        count.incrementAndGet();
        if (DELIVERIES.stream().anyMatch(InjectedFault::isWithin)) {
            delivering.incrementAndGet();
        }
        Error raised = switch (plan.error) {
            case "OutOfMemoryError" -> new OutOfMemoryError(MARK);
            case "StackOverflowError" -> new StackOverflowError(MARK);
            case "ExceptionInInitializerError" -> new ExceptionInInitializerError(MARK);
            case "LinkageError" -> new LinkageError(MARK);
            default -> new NoClassDefFoundError(MARK);
        };
        throw raised;
    }
}
