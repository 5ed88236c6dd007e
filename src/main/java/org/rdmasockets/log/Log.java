package org.rdmasockets.log;

import java.lang.System.Logger.Level;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.lock.OwnThread;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lines of one class, by its logger in SLF4J. A line becomes a text at once and joins a bounded queue; the daemon
 * thread {@code rdma-log} writes the queue, and it alone calls SLF4J. So a provider or a handler that blocks, throws or
 * opens a socket holds up no caller, whatever lock the caller holds. Any thread may call; no call waits.
 *
 * <p>The exit of the process waits 5 s at most for the lines that are in the queue.
 */
public final class Log {
    /** Lines below WARNING that may wait; others may fill the queue twice as far. */
    static final int MOST_LINES = 1_000;
    /** The first line may have to wait for SLF4J to start. */
    private static final int EXIT_SECONDS = 5;
    /** How long a level that the thread has seen is taken for granted. */
    private static final long TRUST_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final String PLACE = "{}";

    /** Lines in order; {@link Writer} polls. */
    private static final Queue<Line> LINES = new ConcurrentLinkedQueue<>();
    /** Lines that have joined it. */
    private static final AtomicLong QUEUED = new AtomicLong();
    /** Lines that found the queue full since the last one that did not. */
    private static final AtomicLong LOST = new AtomicLong();
    /** Lines that have left it, written or not; the log's thread changes it. */
    private static volatile long written;
    private static final AtomicBoolean STARTED = new AtomicBoolean();
    /** Set before its thread starts; null if no thread could start. */
    private static volatile Writer writer;

    private final Class<?> of;
    /** What the thread has seen last, null before the first line; immutable, so a race reads an older one. */
    private Threshold threshold;

    /** A log of a class; nothing is looked for yet. */
    public Log(Class<?> of) {
        this.of = of;
    }

    /**
     * The least severity that a logger writes, when that was seen, by {@code System.nanoTime}, and for which context
     * class loader, by its identity hash code: each application of a process may have its own.
     */
    private record Threshold(int severity, int context, long seenNanos) {
        /** Set by callers: the thread must load no class of ours, see StartGuardTest. */
        static final Threshold UNKNOWN = new Threshold(Level.ALL.getSeverity(), 0, 0);
    }

    /** A line that waits; {@code lost} others before it found no room. */
    private record Line(Log log, Level level, String text, Throwable thrown, ClassLoader context, long lost) {
        /** The log's thread: writes this where the application of the caller would. */
        void write() {
            Thread.currentThread().setContextClassLoader(context);
            String gap = lost == 0 ? "" : " (" + lost + " lines before this one were lost: they came too fast)";
            log.write(level, text + gap, thrown, context);
        }
    }

    /** The thread's task, and the shutdown hook's. */
    private static final class Writer implements Runnable {
        private final Thread thread = OwnThread.unstarted("rdma-log", this);
        private final Thread hook = OwnThread.unstarted("rdma-log-exit", this);

        @Override
        public void run() {
            if (Thread.currentThread() == hook) {
                awaitWaiting();
                return;
            }
            ClassLoader own = Log.class.getClassLoader(); // where a provider may look for its settings
            while (true) {
                thread.setContextClassLoader(own);
                try {
                    Line line = LINES.poll();
                    if (line == null) {
                        Thread.interrupted(); // which a handler may have left; with it set, nothing parks
                        LockSupport.park(this);
                    } else {
                        write(line);
                    }
                } catch (Throwable t) {
                    // An application's handler may throw anything; the next line is written all the same.
                }
            }
        }

        private void write(Line line) {
            try {
                LoggerFactory.getILoggerFactory(); // starts SLF4J, the first time
                line.write();
            } finally {
                written++;
                LockSupport.unpark(hook);
            }
        }

        /** Waits for the lines that are in the queue now; others may come without end. */
        private void awaitWaiting() {
            long last = QUEUED.get();
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(EXIT_SECONDS);
            for (long left = 1; left > 0 && written - last < 0; left = deadline - System.nanoTime()) {
                LockSupport.parkNanos(this, left);
            }
        }
    }

    private Logger logger() {
        return LoggerFactory.getLogger(of);
    }

    /** Whether a line for fault-seeking may be written; true while that is not known. */
    public boolean isDebugEnabled() {
        return mayWrite(Level.DEBUG);
    }

    /** Writes a line for fault-seeking, in SLF4J's format; an exception at the end is written with its stack. */
    public void debug(String format, Object... arguments) {
        if (mayWrite(Level.DEBUG)) {
            put(Level.DEBUG, format, arguments);
        }
    }

    /** Writes an information, as {@link #debug}. */
    public void info(String format, Object... arguments) {
        if (mayWrite(Level.INFO)) {
            put(Level.INFO, format, arguments);
        }
    }

    /** Writes a warning, as {@link #debug}. */
    public void warn(String format, Object... arguments) {
        put(Level.WARNING, format, arguments);
    }

    /** Writes an error, as {@link #debug}. */
    public void error(String format, Object... arguments) {
        put(Level.ERROR, format, arguments);
    }

    /** Whether the thread would write such a line, or does not know yet or any more. */
    private boolean mayWrite(Level level) {
        Threshold known = threshold;
        return known == null || level.getSeverity() >= known.severity
                || System.nanoTime() - known.seenNanos > TRUST_NANOS
                || known.context != System.identityHashCode(Thread.currentThread().getContextClassLoader());
    }

    /** Throws only what the lack of memory or stack brings. */
    private void put(Level level, String format, Object... arguments) {
        boolean warns = level.getSeverity() >= Level.WARNING.getSeverity();
        Thread caller = Thread.currentThread();
        Writer running = writer;
        if (running != null && running.thread == caller && !warns) {
            return; // a handler uses a socket of ours: what that says would bring the handler its next line
        }
        if (QUEUED.get() - written >= (warns ? 2 * MOST_LINES : MOST_LINES)) {
            LOST.incrementAndGet();
            return;
        }
        try {
            if (threshold == null) {
                threshold = Threshold.UNKNOWN;
            }
            int count = arguments.length;
            Throwable thrown = count > 0 && arguments[count - 1] instanceof Throwable last ? last : null;
            LINES.add(new Line(this, level, text(format, arguments), thrown, caller.getContextClassLoader(),
                    LOST.getAndSet(0)));
            QUEUED.incrementAndGet();
            LockSupport.unpark(thread());
        } catch (LinkageError e) { // no descriptor to read a class from, perhaps
            LOST.incrementAndGet();
        }
    }

    /**
     * The log's thread, which this starts unless another caller does; null if it cannot start now: lines wait for the
     * next caller. A caller that meets another's start may wake a thread that has not started, and need not: its line
     * is in the queue before it looks here, and the thread polls after it starts.
     */
    private static Thread thread() {
        if (writer == null && STARTED.compareAndSet(false, true)) {
            boolean running = false;
            try {
                Writer next = new Writer();
                writer = next;
                next.thread.start();
                running = true;
                Runtime.getRuntime().addShutdownHook(next.hook);
            } catch (OutOfMemoryError e) {
                // The limit of threads, perhaps.
            } catch (IllegalStateException e) {
                // The process ends already; the thread writes while it can.
            } finally {
                if (!running) {
                    writer = null;
                    STARTED.set(false);
                }
            }
        }
        Writer started = writer;
        return started == null ? null : started.thread;
    }

    /** Puts the arguments into their places, each as it is now. */
    private static String text(String format, Object[] arguments) {
        int place = format.indexOf(PLACE);
        if (place < 0) {
            return format;
        }
        StringBuilder text = new StringBuilder(format.length() + 64);
        int done = 0;
        for (int i = 0; i < arguments.length && place >= 0; i++) {
            text.append(format, done, place).append(textOf(arguments[i]));
            done = place + PLACE.length();
            place = format.indexOf(PLACE, done);
        }
        return text.append(format, done, format.length()).toString();
    }

    private static String textOf(Object argument) {
        try {
            return String.valueOf(argument);
        } catch (RuntimeException e) {
            return "(" + e.getClass().getName() + " as its text was asked for)"; // the line says the rest
        }
    }

    /** The log's thread. */
    private void write(Level level, String text, Throwable thrown, ClassLoader context) {
        Logger logger = logger();
        Level least = logger.isDebugEnabled() ? Level.DEBUG : logger.isInfoEnabled() ? Level.INFO : Level.WARNING;
        threshold = new Threshold(least.getSeverity(), System.identityHashCode(context), System.nanoTime());
        if (level.getSeverity() < least.getSeverity()) {
            return;
        }
        if (logger.getClass().getName().endsWith(".JDK14LoggerAdapter")) {
            LogRecords.write(of.getName(), level, text, thrown);
        } else if (level == Level.DEBUG) {
            logger.debug(text, thrown);
        } else if (level == Level.INFO) {
            logger.info(text, thrown);
        } else if (level == Level.WARNING) {
            logger.warn(text, thrown);
        } else {
            logger.error(text, thrown);
        }
    }
}
