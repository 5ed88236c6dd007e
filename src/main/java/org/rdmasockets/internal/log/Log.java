package org.rdmasockets.internal.log;

import java.io.File;
import java.net.URI;
import java.security.CodeSource;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.lock.LibraryThreads;
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
    /** Most waiting lines below WARNING; others may fill the queue up to twice as many. */
    static final int MOST_LINES = 1_000;
    /** The first line may have to wait for SLF4J to start. */
    private static final int EXIT_SECONDS = 5;
    /** How long a level that the thread has seen counts. */
    private static final long TRUST_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Levels, by the numbers of {@code System.Logger}, whose names would be one class more at the start. */
    private static final int DEBUG = 500;
    private static final int INFO = 800;
    private static final int WARNING = 900;
    private static final int ERROR = 1000;
    private static final String PLACE = "{}";

    /** Lines in order; guarded by itself, as the next three. No code of an application runs under that monitor. */
    private static final ArrayDeque<Line> LINES = new ArrayDeque<>();
    /** Lines that have joined it. */
    private static long queued;
    /** Lines that have left it, written or not. */
    private static long written;
    /** Lines that found it full since the last one that found room. */
    private static long lost;
    /** Null until it is about to start; changed under LINES. */
    private static volatile Thread writer;

    // Each part of the library has a log, so this is early enough.
    static {
        CodeSource source = Log.class.getProtectionDomain().getCodeSource();
        if (source != null && source.getLocation() != null && source.getLocation().getPath().endsWith("/")
                && source.getLocation().getProtocol().equals("file")) {
            ClassFolder.load(new File(URI.create(source.getLocation().toString())), "", Log.class.getClassLoader());
        }
    }

    private final Class<?> of;
    /** The least level that the logger writes, as the thread has seen last; 0 before the first line. */
    private volatile int least;
    /**
     * The context class loader for which that was seen, by its identity hash code: each application of a process may
     * have its own logger. The thread changes it before least, as the next; a race costs a line below WARNING.
     */
    private volatile int context;
    /** When that was seen, by {@code System.nanoTime}. */
    private volatile long seenNanos;

    /** A log of a class; nothing is looked for yet. */
    public Log(Class<?> of) {
        this.of = of;
    }

    /** A line that waits; {@code lost} others before it found no room. */
    private record Line(Log log, int level, String text, Throwable thrown, ClassLoader context, long lost) {
        /** The log's thread: writes this where the application of the caller would. */
        void write() {
            Thread.currentThread().setContextClassLoader(context);
            String gap = lost == 0 ? "" : " (" + lost + " lines before this one were lost: they came too fast)";
            log.write(level, text + gap, thrown, context);
        }
    }

    /** The task of the thread, or of the shutdown hook. */
    private record Writer(boolean exits) implements Runnable {
        @Override
        public void run() {
            if (exits) {
                awaitQueued();
                return;
            }
            ClassLoader own = Log.class.getClassLoader(); // where a provider may look for its settings
            while (true) {
                try {
                    Thread.currentThread().setContextClassLoader(own);
                    write(next());
                } catch (Throwable t) {
                    // An application's handler may throw anything; the next line is written all the same.
                }
            }
        }

        private static Line next() {
            synchronized (LINES) {
                while (LINES.isEmpty()) {
                    try {
                        LINES.wait();
                    } catch (InterruptedException e) {
                        continue; // a handler has left the status set
                    }
                }
                return LINES.pollFirst();
            }
        }

        private static void write(Line line) {
            try {
                LoggerFactory.getILoggerFactory(); // starts SLF4J, the first time
                line.write();
            } finally {
                synchronized (LINES) {
                    written++;
                    LINES.notifyAll();
                }
            }
        }

        /** Waits for the lines that are in the queue now; others may come without end. */
        private static void awaitQueued() {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(EXIT_SECONDS);
            synchronized (LINES) {
                long last = queued;
                for (long left = EXIT_SECONDS * 1000; left > 0 && written < last;
                        left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())) {
                    try {
                        LINES.wait(left);
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            }
        }
    }

    private Logger logger() {
        return LoggerFactory.getLogger(of);
    }

    /** Whether a DEBUG line may be written; true while that is not known. */
    public boolean isDebugEnabled() {
        return mayWrite(DEBUG);
    }

    /** Writes a DEBUG line, in SLF4J's format; an exception at the end is written with its stack. */
    public void debug(String format, Object... arguments) {
        if (mayWrite(DEBUG)) {
            put(DEBUG, format, arguments);
        }
    }

    /** Writes an information, as {@link #debug}. */
    public void info(String format, Object... arguments) {
        if (mayWrite(INFO)) {
            put(INFO, format, arguments);
        }
    }

    /** Writes a warning, as {@link #debug}. */
    public void warn(String format, Object... arguments) {
        put(WARNING, format, arguments);
    }

    /** Writes an error, as {@link #debug}. */
    public void error(String format, Object... arguments) {
        put(ERROR, format, arguments);
    }

    /** Whether the thread would write a line of a level, or does not know that now. */
    private boolean mayWrite(int level) {
        return level >= least || System.nanoTime() - seenNanos > TRUST_NANOS
                || context != System.identityHashCode(Thread.currentThread().getContextClassLoader());
    }

    /** Queues a line. Throws only for lack of memory or stack. */
    private void put(int level, String format, Object... arguments) {
        Thread caller = Thread.currentThread();
        if (level == DEBUG && caller == writer) {
            return; // a handler uses a socket of ours: that socket's lines would make the handler log without end
        }
        int count = arguments.length;
        Throwable thrown = count > 0 && arguments[count - 1] instanceof Throwable last ? last : null;
        String text = text(format, arguments);
        ClassLoader loader = caller.getContextClassLoader();
        synchronized (LINES) {
            if (LINES.size() >= (level >= WARNING ? 2 * MOST_LINES : MOST_LINES)) {
                lost++;
                return;
            }
            LINES.addLast(new Line(this, level, text, thrown, loader, lost));
            queued++;
            lost = 0;
            if (writer == null) {
                start();
            }
            LINES.notifyAll();
        }
    }

    /** Starts the thread; if that cannot be now, the lines wait for the next caller. LINES is held. */
    private static void start() {
        boolean running = false;
        try {
            writer = LibraryThreads.unstarted("rdma-log", new Writer(false));
            writer.start();
            running = true;
            Runtime.getRuntime().addShutdownHook(LibraryThreads.unstarted("rdma-log-exit", new Writer(true)));
        } catch (OutOfMemoryError | LinkageError e) {
            // The limit of threads, perhaps, or no descriptor to read a class from.
        } catch (IllegalStateException e) {
            // The process ends already; the thread writes while it can.
        } finally {
            if (!running) {
                writer = null;
            }
        }
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
            return "(" + e.getClass().getName() + " as its text was asked for)"; // the rest of the line stays
        }
    }

    /** The log's thread. */
    private void write(int level, String text, Throwable thrown, ClassLoader loader) {
        Logger logger = logger();
        int enabled = logger.isDebugEnabled() ? DEBUG : logger.isInfoEnabled() ? INFO : WARNING;
        seenNanos = System.nanoTime();
        context = System.identityHashCode(loader);
        least = enabled;
        if (level < enabled) {
            return;
        }
        if (logger.getClass().getName().endsWith(".JDK14LoggerAdapter")) {
            LogRecords.write(of.getName(), level, text, thrown);
        } else if (level == DEBUG) {
            logger.debug(text, thrown);
        } else if (level == INFO) {
            logger.info(text, thrown);
        } else if (level == WARNING) {
            logger.warn(text, thrown);
        } else {
            logger.error(text, thrown);
        }
    }
}
