package org.rdmasockets.internal.agent;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Collections;
import java.util.ResourceBundle;
import java.util.function.Function;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.helpers.NOPLoggerFactory;
import org.slf4j.helpers.SubstituteLoggerFactory;

/**
 * Makes loggers of an application's SLF4J, from version 1.7, without ever causing it to print a line: one that would
 * complain, or is being initialised, is not used. {@link ApplicationLogger} defines this class in a class loader where
 * SLF4J is the application's; both sides know only {@code System.Logger}.
 */
public final class Slf4jForwarder implements Function<String, System.Logger> {
    private static final String SERVICE = "org.slf4j.spi.SLF4JServiceProvider";
    private static final String PROVIDER_PROPERTY = "slf4j.provider";
    private static final String STATE_FIELD = "INITIALIZATION_STATE";
    private static final int SUCCESSFUL = 3;
    /** Whether it prints nothing when it is used first. */
    private final boolean quiet = providers() == 1;
    /** Null where it is hidden. */
    private final Field state = state();

    /** For {@link ApplicationLogger}. */
    public Slf4jForwarder() {}

    /** Finds a logger, null while SLF4J cannot be used. */
    @Override
    public System.Logger apply(String name) {
        try {
            // or it has printed already what it has to say
            if (!quiet && (state == null || state.getInt(null) != SUCCESSFUL)) {
                return null;
            }
            ILoggerFactory factory = LoggerFactory.getILoggerFactory();
            if (factory instanceof SubstituteLoggerFactory || factory instanceof NOPLoggerFactory) {
                return null;
            }
            Logger logger = factory.getLogger(name);
            // java.util.logging is reached better without it, see LogRecords
            return logger.getClass().getName().endsWith(".JDK14LoggerAdapter") ? null : new Forwarded(logger);
        } catch (IllegalAccessException | RuntimeException | LinkageError e) {
            return null; // it has failed to start, and has said so to the application
        }
    }

    private static Field state() {
        try {
            Field state = LoggerFactory.class.getDeclaredField(STATE_FIELD);
            state.setAccessible(true);
            return state;
        } catch (NoSuchFieldException | RuntimeException e) {
            return null;
        }
    }

    /** How many providers it would find; it complains unless there is one. */
    private static int providers() {
        ClassLoader loader = LoggerFactory.class.getClassLoader();
        boolean version2 = true;
        try {
            Class.forName(SERVICE, false, loader);
        } catch (ClassNotFoundException e) {
            version2 = false;
        }
        if (version2 && System.getProperty(PROVIDER_PROPERTY) != null) {
            return 1;
        }
        try {
            String name = version2 ? "META-INF/services/" + SERVICE : "org/slf4j/impl/StaticLoggerBinder.class";
            return Collections.list(loader == null ? ClassLoader.getSystemResources(name) : loader.getResources(name))
                    .size();
        } catch (IOException e) {
            return 0;
        }
    }

    /** A logger of the application. */
    private record Forwarded(Logger logger) implements System.Logger {
        @Override
        public String getName() {
            return logger.getName();
        }

        @Override
        public boolean isLoggable(Level level) {
            return switch (level) {
                case ALL, TRACE -> logger.isTraceEnabled();
                case DEBUG -> logger.isDebugEnabled();
                case INFO -> logger.isInfoEnabled();
                case WARNING -> logger.isWarnEnabled();
                case ERROR -> logger.isErrorEnabled();
                case OFF -> false;
            };
        }

        @Override
        public void log(Level level, ResourceBundle bundle, String text, Throwable thrown) {
            switch (level) {
                case ALL, TRACE -> logger.trace(text, thrown);
                case DEBUG -> logger.debug(text, thrown);
                case INFO -> logger.info(text, thrown);
                case WARNING -> logger.warn(text, thrown);
                case ERROR -> logger.error(text, thrown);
                case OFF -> {}
            }
        }

        /** The library formats its texts itself. */
        @Override
        public void log(Level level, ResourceBundle bundle, String text, Object... arguments) {
            log(level, bundle, text, (Throwable) null);
        }
    }
}
