package org.rdmasockets.internal.log;

import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/**
 * Writes lines to {@code java.util.logging} under the name of their class. A logger's own methods would look for the
 * class on the stack, and find the one that writes. Any thread.
 */
public final class LogRecords {
    private LogRecords() {}

    /**
     * Writes a line if its level, a severity of {@code System.Logger.Level}, is enabled. {@code java.util.logging}
     * removes its handlers when the process begins to end; a warning or an error that comes later goes to
     * {@code System.err}, where the usual handler writes.
     */
    public static void write(String name, int severity, String text, Throwable thrown) {
        Level level = Level.parse(String.valueOf(severity));
        Logger logger = Logger.getLogger(name);
        if (!logger.isLoggable(level)) {
            return;
        }
        LogRecord line = new LogRecord(level, text);
        line.setLoggerName(name);
        line.setSourceClassName(name);
        line.setSourceMethodName(null);
        line.setThrown(thrown);
        if (level.intValue() >= Level.WARNING.intValue() && !hasHandler(logger) && isExiting()) {
            System.err.print(new SimpleFormatter().format(line));
        } else {
            logger.log(line);
        }
    }

    private static boolean hasHandler(Logger logger) {
        for (Logger each = logger; each != null; each = each.getUseParentHandlers() ? each.getParent() : null) {
            if (each.getHandlers().length > 0) {
                return true;
            }
        }
        return false;
    }

    /** There is no other way to ask. */
    private static boolean isExiting() {
        try {
            Thread hook = new Thread();
            Runtime.getRuntime().addShutdownHook(hook);
            Runtime.getRuntime().removeShutdownHook(hook);
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }
}
