package org.rdmasockets.fault;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * What instrumented classes call at every point: notes who comes by, and throws at the point, the thread and the time
 * that was asked for. See {@link FaultPoints}.
 */
public final class InjectedFault {
    /** Whose thread. */
    enum Side {
        /** One that uses a socket, of those that are meant to fail. */
        CALLER,
        /** One of the library. */
        LIBRARY
    }

    /** What every error says. */
    static final String MARK = "injected";
    private static final int MOST_POINTS = 1 << 16;
    private static final byte[][] SEEN = new byte[Side.values().length][MOST_POINTS];

    private static volatile boolean watching;
    /** The thread that is a caller meant to fail, or null. */
    private static volatile Thread victim;
    private static volatile InjectedFault armed;
    private static volatile String thrown;

    private final Side side;
    private final int point;
    private final String error;
    /** Hits to go. */
    private final AtomicInteger left;
    /** After the first one, a second one on the same thread so many points later; 0 for none. */
    private final int again;
    private Thread first;
    private int untilAgain;

    private InjectedFault(Side side, int point, String error, int hit, int again) {
        this.side = side;
        this.point = point;
        this.error = error;
        this.left = new AtomicInteger(hit);
        this.again = again;
    }

    /** The calling thread is meant to fail, until another one is. */
    static void markVictim() {
        victim = Thread.currentThread();
    }

    static void watch(boolean on) {
        watching = on;
    }

    /** Throws from now on at a hit of a point. */
    static void arm(Side side, int point, String error, int hit, int again) {
        thrown = null;
        armed = new InjectedFault(side, point, error, hit, again);
    }

    /** Throws no more; what was thrown, or null. */
    static String disarm() {
        armed = null;
        return thrown;
    }

    /** The points that threads of a side have come by. */
    static byte[] seen(Side side) {
        return SEEN[side.ordinal()];
    }

    /** Called by instrumented classes. */
    public static void at(int point) {
        if (!watching) {
            return;
        }
        Thread thread = Thread.currentThread();
        Side side;
        if (thread == victim) {
            side = Side.CALLER;
        } else if (!thread.isVirtual() && thread.getName().startsWith("rdma-")) {
            side = Side.LIBRARY;
        } else {
            return;
        }
        byte[] seen = SEEN[side.ordinal()];
        if (seen[point] == 0) {
            seen[point] = 1;
        }
        InjectedFault fault = armed;
        if (fault != null) {
            fault.meet(side, point, thread);
        }
    }

    private void meet(Side hitSide, int hitPoint, Thread thread) {
        if (first == thread) {
            if (--untilAgain == 0) {
                first = null;
                thrown += " and again at " + hitPoint;
                raise();
            }
        } else if (hitPoint == point && hitSide == side && left.get() > 0 && !initialises()
                && left.decrementAndGet() == 0) {
            thrown = thread.getName() + (thread.isVirtual() ? "(virtual)" : "");
            if (again > 0) {
                untilAgain = again;
                first = thread;
            }
            raise();
        }
    }

    /** A class whose initialiser fails cannot be used again, says the JVM's specification: not the library's fault. */
    private static boolean initialises() {
        return StackWalker.getInstance().walk(frames -> frames.anyMatch(f -> f.getMethodName().equals("<clinit>")));
    }

    private void raise() {
        Error raised = switch (error) {
            case "OutOfMemoryError" -> new OutOfMemoryError(MARK);
            case "StackOverflowError" -> new StackOverflowError(MARK);
            default -> new NoClassDefFoundError(MARK);
        };
        throw raised;
    }
}
