package org.rdmasockets.transport;

import java.util.concurrent.TimeUnit;

/**
 * How far the end of a connection has come, for those who must be the first to take a step, or wait. Any thread. To be
 * inherited from, so that a connection has one object less.
 */
public abstract class Ending {
    /** What happens to a connection, in this order; some may be left out. */
    public enum Stage {
        /** It can be used. */
        OPEN,
        /** Somebody has closed it. */
        CLOSING,
        /** What it was made of is destroyed. */
        TEARING_DOWN,
        /** Nothing of it is left. */
        ENDED
    }

    /** Changed, and waited for, under this. */
    private volatile Stage stage = Stage.OPEN;

    /** A connection that is open. */
    protected Ending() {
    }

    /**
     * Goes on to a stage.
     *
     * @param next the stage
     * @return false if that was reached before
     */
    protected final synchronized boolean enter(Stage next) {
        boolean first = !hasReached(next);
        if (first) {
            stage = next;
            notifyAll();
        }
        return first;
    }

    /**
     * Whether a stage was reached, or one behind it.
     *
     * @param one the stage
     * @return true if it was
     */
    protected final boolean hasReached(Stage one) {
        return stage.compareTo(one) >= 0;
    }

    /**
     * Waits until nothing is left.
     *
     * @param nanos longest wait in nanoseconds
     * @return true, or null when the time is over
     * @throws InterruptedException if the thread was interrupted
     */
    protected final synchronized Boolean await(long nanos) throws InterruptedException {
        long deadline = System.nanoTime() + nanos;
        for (long left = nanos; stage != Stage.ENDED; left = deadline - System.nanoTime()) {
            if (left <= 0) {
                return null;
            }
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return true;
    }
}
