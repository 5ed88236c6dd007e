package org.rdmasockets.internal.log;

import java.util.concurrent.TimeUnit;

/** A log for one kind of line that others can cause: a few at once, then one in ten seconds, counted. Any thread. */
public final class LimitedLog {
    private static final int AT_ONCE = 5;
    private static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Log log;
    private final int atOnce;
    /** Lines that may be written now; guarded by this. */
    private int left;
    /** When the last one was added to those; guarded by this. */
    private long lastNanos;
    /** Lines since the last that was written; guarded by this. */
    private long leftOut;

    /** Limits a log to a handful of lines at once. */
    public LimitedLog(Log log) {
        this(log, AT_ONCE);
    }

    /** Limits a log to so many lines without a pause. */
    public LimitedLog(Log log, int atOnce) {
        this.log = log;
        this.atOnce = atOnce;
        left = atOnce;
    }

    /** Writes an information in SLF4J's format, or counts it. */
    public void info(String format, Object... arguments) {
        long before = admit(System.nanoTime());
        if (before >= 0) {
            log.info(counted(format, before), arguments);
        }
    }

    /** Writes a warning in SLF4J's format, or counts it; an exception at the end is written with its stack. */
    public void warn(String format, Object... arguments) {
        long before = admit(System.nanoTime());
        if (before >= 0) {
            log.warn(counted(format, before), arguments);
        }
    }

    /** Writes an error, as {@link #warn}. */
    public void error(String format, Object... arguments) {
        long before = admit(System.nanoTime());
        if (before >= 0) {
            log.error(counted(format, before), arguments);
        }
    }

    private static String counted(String format, long before) {
        return before == 0 ? format : format + " (" + before + " more such lines were left out)";
    }

    /** How many lines were left out before this one, or -1 if it is left out, too. */
    synchronized long admit(long now) {
        if (left == atOnce) {
            lastNanos = now;
        }
        long more = (now - lastNanos) / EVERY_NANOS;
        if (more > 0) {
            left = (int) Math.min(atOnce, left + more);
            lastNanos += more * EVERY_NANOS;
        }
        if (left == 0) {
            leftOut++;
            return -1;
        }
        left--;
        long before = leftOut;
        leftOut = 0;
        return before;
    }
}
