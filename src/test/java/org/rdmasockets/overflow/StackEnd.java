package org.rdmasockets.overflow;

import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.rdmasockets.contract.ThreadKind;

/** Calls something where only so many frames are left on the stack of a thread. */
final class StackEnd {
    /** Of a platform thread: it overflows soon. */
    private static final long STACK_BYTES = 192 << 10;
    private static final int LIMIT_SECONDS = 40;
    /** Frames above the end: each for the next to the end, fewer where the library has room. */
    private static final int[] LEFT = {0, 3, 7, 12, 18, 25, 33, 42, 52, 63, 75, 88, 102, 117, 133, 150, 170, 190, 215,
            240, 270, 300};
    /** The most calls that {@link #reach} makes. */
    static final int CALLS = LEFT.length;

    private final Step step;
    private final int[] left;
    private int next;

    /** The call at the end of the stack. */
    @FunctionalInterface
    interface Step {
        /**
         * Is called.
         *
         * @throws Throwable anything; it is ignored
         */
        void run() throws Throwable;
    }

    private StackEnd(Step step, int... left) {
        this.step = step;
        this.left = left;
    }

    /**
     * Calls it with 0 to 300 frames left, at each count but for some. The next count of a virtual thread is that of
     * another stack: while it parks its stack moves to the heap, and comes back with room.
     */
    static void reach(ThreadKind kind, String what, Step step) throws Exception {
        FutureTask<Void> task = new FutureTask<>(() -> {
            if (kind == ThreadKind.PLATFORM) {
                new StackEnd(step, LEFT).descend();
                return null;
            }
            for (int i = 0; i < LEFT.length; i += 3) {
                new StackEnd(step, LEFT[i]).descend();
            }
            return null;
        });
        Thread thread = kind == ThreadKind.VIRTUAL ? Thread.ofVirtual().name(what).start(task)
                : Thread.ofPlatform().daemon().stackSize(STACK_BYTES).name(what).start(task);
        try {
            task.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            AssertionError stuck = new AssertionError(what + " did not end at the end of the stack of a " + kind
                    + " thread", e);
            stuck.setStackTrace(thread.getStackTrace());
            throw stuck;
        }
    }

    /** How many frames there were below this one when the stack was at its end. */
    private int descend() {
        int below;
        try {
            below = descend() + 1;
        } catch (StackOverflowError e) {
            below = 0;
        }
        if (next < left.length && below >= left[next]) {
            next++;
            call();
        }
        return below;
    }

    private void call() {
        try {
            step.run();
        } catch (Throwable e) { // mostly the overflow; what counts is what it has left behind
            return;
        }
    }
}
