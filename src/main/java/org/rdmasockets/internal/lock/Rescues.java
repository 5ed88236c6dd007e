package org.rdmasockets.internal.lock;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Counts the rescues of this process. In a rescue a timer finds what a wake-up should have told: without the timer the
 * thread would have slept on. Each timer that looks "in case" counts its finds under its own name.
 *
 * <p>Some timers could hide a lost wake-up and cannot tell that they do: they take their period from
 * {@link #lookNanos}. With {@code -Dorg.rdmasockets.slowLooks=true} that is ten seconds, so that a test which needs the
 * timer fails or takes as long: only the tests of this project set that.
 *
 * <p>Any thread may call, also one that holds a lock.
 */
public final class Rescues {
    private static final boolean SLOW = Boolean.getBoolean("org.rdmasockets.slowLooks");
    private static final long SLOW_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Rescues by place; guarded by itself. */
    private static final Map<String, Long> PLACES = new TreeMap<>();
    /** Changed under PLACES. */
    private static volatile long total;
    /** Runs at the first rescue, once; guarded by PLACES, null when there is none or it has run. */
    private static Runnable listener;
    /** Is told of each rescue, while something is recorded; null before. */
    private static volatile Consumer<String> recorder;

    private Rescues() {}

    /**
     * Counts a rescue.
     *
     * @param place the timer that found it, such as {@code ConnectionEvents.within}
     */
    public static void count(String place) {
        synchronized (PLACES) {
            Long before = PLACES.get(place);
            PLACES.put(place, before == null ? 1 : before + 1);
            total++;
            tell();
        }
        Consumer<String> recording = recorder;
        if (recording != null) {
            recording.accept(place);
        }
    }

    /** Sets what takes the place of each rescue to come, on the thread that counts it: it must not block or throw. */
    public static void onEach(Consumer<String> one) {
        recorder = one;
    }

    /** Rescues since the process began. */
    public static long count() {
        return total;
    }

    /** The period of a look in nanoseconds: as given, or 10 s where tests make looks slow. */
    public static long lookNanos(long normal) {
        return SLOW ? SLOW_NANOS : normal;
    }

    /** Rescues by place, a copy. */
    public static Map<String, Long> places() {
        synchronized (PLACES) {
            return new TreeMap<>(PLACES);
        }
    }

    /** Sets what runs at the first rescue, once, on a thread that exists for that alone. */
    public static void onFirst(Runnable one) {
        synchronized (PLACES) {
            listener = one;
            if (!PLACES.isEmpty()) {
                tell();
            }
        }
    }

    private static void tell() {
        if (listener != null) {
            try {
                LibraryThreads.unstarted("rdma-rescue", listener).start();
                listener = null;
            } catch (OutOfMemoryError e) {
                // No thread now: the next rescue tells.
            }
        }
    }
}
