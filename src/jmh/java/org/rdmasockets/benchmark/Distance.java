package org.rdmasockets.benchmark;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * How far apart two processors are: what a line of memory takes from one to the other and back. The host of a virtual
 * machine moves its processors every few minutes, and then whatever spins takes half as long, or twice.
 */
final class Distance {
    private static final int ROUNDS = 10;
    /** What the process before this one leaves to the kernel is done meanwhile. */
    private static final int PAUSE_MILLIS = 50;
    private static final int EXCHANGES = 20_000;
    /** Within this factor two distances are the same one: together on a core and apart are at least two. */
    private static final double SAME = 1.6;

    private Distance() {
    }

    /** The distance now, in nanoseconds: the least of some rounds, as whatever disturbs them only makes them longer. */
    static double nanos() throws InterruptedException {
        double least = Double.MAX_VALUE;
        for (int i = 0; i < ROUNDS; i++) {
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
            least = Math.min(least, round());
        }
        return least;
    }

    /** Whether two distances, in nanoseconds, mean that the processors were in the same place. */
    static boolean isSame(double one, double other) {
        return Math.max(one, other) <= SAME * Math.min(one, other);
    }

    private static double round() throws InterruptedException {
        AtomicInteger turn = new AtomicInteger();
        Thread other = Thread.ofPlatform().start(() -> exchange(turn, 1));
        long begin = System.nanoTime();
        exchange(turn, 0);
        long nanos = System.nanoTime() - begin;
        other.join();
        return (double) nanos / EXCHANGES;
    }

    /** One says the even numbers, one the odd ones. */
    private static void exchange(AtomicInteger turn, int first) {
        for (int i = first; i < 2 * EXCHANGES; i += 2) {
            while (turn.get() != i) {
                Thread.onSpinWait();
            }
            turn.set(i + 1);
        }
    }
}
