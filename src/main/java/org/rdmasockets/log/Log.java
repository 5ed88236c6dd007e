package org.rdmasockets.log;

import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.lock.OwnThread;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lines of one class, by its logger in SLF4J. SLF4J looks for its provider in every jar of the class path, and a
 * first connect shall not wait for that: lines up to INFO that come before are written by another thread a little
 * later, and are lost if the process exits before. Warnings and errors are written at once. Any thread may call.
 */
public final class Log {
    /** Lines that wait for SLF4J; more are written at once, whoever waits. */
    private static final int MOST_EARLY = 1_000;
    private static final long LATER_MILLIS = 50;
    /** Lines in order; guarded by itself. */
    private static final List<Early> EARLY = new ArrayList<>(0);
    /** A thread is going to write them; guarded by EARLY. */
    private static boolean writes;
    /** SLF4J has its provider, and all early lines are written; changed under EARLY. */
    private static volatile boolean ready;

    private final Class<?> of;

    /** A log of a class; nothing is looked for yet. */
    public Log(Class<?> of) {
        this.of = of;
    }

    /** A line that waits; the first of them is the task of the thread that writes them all. */
    private record Early(Log log, boolean info, String format, Object[] arguments) implements Runnable {
        @Override
        public void run() {
            try {
                synchronized (EARLY) {
                    EARLY.wait(LATER_MILLIS); // a sleep would load two classes more
                }
                prepare();
                for (Early[] lines = take(); lines.length > 0; lines = take()) {
                    for (Early line : lines) {
                        line.write();
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // nobody does that
            } finally {
                synchronized (EARLY) {
                    EARLY.clear();
                    ready = true; // nobody waits for SLF4J a second time
                }
            }
        }

        private static Early[] take() {
            synchronized (EARLY) {
                Early[] lines = EARLY.toArray(new Early[0]);
                EARLY.clear();
                ready = lines.length == 0;
                return lines;
            }
        }

        private void write() {
            try {
                if (info) {
                    log.logger().info(format, arguments);
                } else {
                    log.logger().debug(format, arguments);
                }
            } catch (RuntimeException | Error e) {
                // That line's provider throws; the others are written all the same.
            }
        }
    }

    /** Lets SLF4J look for its provider now, for who has the time. */
    public static void prepare() {
        LoggerFactory.getILoggerFactory();
        synchronized (EARLY) {
            ready |= EARLY.isEmpty();
        }
    }

    /** No line waits from now on: where SLF4J finds its provider at once. */
    public static void writeAtOnce() {
        synchronized (EARLY) {
            ready = true;
        }
    }

    private Logger logger() {
        return LoggerFactory.getLogger(of);
    }

    /** Whether an information may be written; true while nobody knows. */
    public boolean isInfoEnabled() {
        return !ready || logger().isInfoEnabled();
    }

    /** Writes a line for who looks for a fault, in SLF4J's format. */
    public void debug(String format, Object... arguments) {
        if (ready || !isEarly(false, format, arguments)) {
            logger().debug(format, arguments);
        }
    }

    /** Writes an information, as {@link #debug}. */
    public void info(String format, Object... arguments) {
        if (ready || !isEarly(true, format, arguments)) {
            logger().info(format, arguments);
        }
    }

    /** Writes a warning; an exception at the end is written with its stack. */
    public void warn(String format, Object... arguments) {
        logger().warn(format, arguments);
    }

    /** Writes an error, as {@link #warn}. */
    public void error(String format, Object... arguments) {
        logger().error(format, arguments);
    }

    /** Keeps a line until SLF4J is there; false if it is, or no more can wait. */
    private boolean isEarly(boolean info, String format, Object[] arguments) {
        synchronized (EARLY) {
            try {
                Early line = new Early(this, info, format, arguments);
                return !ready && EARLY.size() < MOST_EARLY && (writes || startWriter(line)) && EARLY.add(line);
            } catch (OutOfMemoryError | LinkageError e) { // as when there are no descriptors to read a class from
                ready |= !writes; // from now on, who says something waits for SLF4J
                return false;
            }
        }
    }

    /** Sees to it that early lines are written, soon. */
    private static boolean startWriter(Early first) {
        Thread later = OwnThread.unstarted("rdma-log", first);
        later.setContextClassLoader(Log.class.getClassLoader()); // where a provider may look for its settings
        later.setDaemon(false); // a program that ends at once says all the same what it has done
        later.start();
        writes = true;
        return true;
    }
}
