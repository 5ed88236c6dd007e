package org.rdmasockets.far;

/** Tells whether a thread is blocked, wherever its call runs. */
public final class Blocked {
    private Blocked() {
    }

    /**
     * Looks at a thread once.
     *
     * @param thread a thread of this JVM
     * @return whether it waits; if it has called another JVM, whether the thread that runs the call there waits
     */
    public static boolean looks(Thread thread) {
        OtherJvm.Waiter call = OtherJvm.callOf(thread);
        return call != null ? call.isBlockedThere() : waits(thread);
    }

    /** A platform thread that waits in the kernel, as in the JDK's TCP sockets, counts as running. */
    private static boolean waits(Thread thread) {
        return switch (thread.getState()) {
            case WAITING, TIMED_WAITING -> true;
            case RUNNABLE -> {
                StackTraceElement[] stack = thread.getStackTrace();
                yield stack.length > 0 && stack[0].isNativeMethod()
                        && stack[0].getClassName().startsWith("sun.nio.ch.");
            }
            default -> false;
        };
    }
}
