package org.rdmasockets.internal.agent;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.rdmasockets.internal.log.LogRecords;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;

/**
 * Logs by the SLF4J that the calling thread's context class loader sees, as soon as it is ready, and by
 * {@code System.Logger} otherwise. The log's thread calls with the loader of the thread that spoke. Lines of library
 * threads use the SLF4J that was found last for a thread of the application. Any thread may log.
 *
 * <p>Applications come and go while the agent stays: nothing here holds a class of theirs strongly.
 */
final class ApplicationLogger extends LegacyAbstractLogger {
    private static final long serialVersionUID = 1;
    private static final String LOGGER_FACTORY = "org.slf4j.LoggerFactory";
    /** The module that {@code System.Logger} writes to by default. */
    private static final String JAVA_LOGGING = "java.logging";

    /** Context class loader to its LoggerFactory, or to {@code Void} for none; guarded by itself. */
    private static final Map<ClassLoader, WeakReference<Class<?>>> FACTORIES = new WeakHashMap<>();
    private static volatile WeakReference<Class<?>> last = new WeakReference<>(null);

    /** From a LoggerFactory; the value lives as long as that class. */
    private static final ClassValue<Function<String, System.Logger>> FORWARDERS = new ClassValue<>() {
        @Override
        @SuppressWarnings("unchecked") // that is what Slf4jForwarder implements
        protected Function<String, System.Logger> computeValue(Class<?> factory) {
            try {
                return (Function<String, System.Logger>) new ForwarderLoader(factory.getClassLoader())
                        .loadClass(Slf4jForwarder.class.getName()).getConstructor().newInstance();
            } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
                return name -> null; // an SLF4J that is not as it should be
            }
        }
    };

    /** Defines {@link Slf4jForwarder} once more, where the application's SLF4J is visible. */
    private static final class ForwarderLoader extends ClassLoader {
        ForwarderLoader(ClassLoader application) {
            super(application);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(Slf4jForwarder.class.getName())) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : findClass(name);
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            String file = name.substring(name.lastIndexOf('.') + 1) + ".class";
            try (InputStream in = ApplicationLogger.class.getResourceAsStream(file)) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    /** Null until it is needed; a race makes it twice. */
    private transient System.Logger fallback;

    /** Makes a logger, which looks for the application's of that name only when it logs. */
    ApplicationLogger(String name) {
        this.name = name;
    }

    private System.Logger target() {
        Class<?> factory = factory();
        System.Logger found = factory == null ? null : FORWARDERS.get(factory).apply(name);
        return found != null ? found : fallback();
    }

    private System.Logger fallback() {
        if (fallback == null) {
            fallback = System.getLogger(name);
        }
        return fallback;
    }

    private void logByFallback(System.Logger.Level level, String text, Throwable thrown) {
        if (JAVA_LOGGING.equals(System.LoggerFinder.getLoggerFinder().getClass().getModule().getName())) {
            LogRecords.write(name, level.getSeverity(), text, thrown);
        } else {
            fallback().log(level, text, thrown);
        }
    }

    private static Class<?> factory() {
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        ClassLoader loader = context != null ? context : ClassLoader.getSystemClassLoader();
        WeakReference<Class<?>> known;
        synchronized (FACTORIES) {
            known = FACTORIES.get(loader);
        }
        Class<?> factory = known == null ? null : known.get();
        if (factory == null) {
            try {
                factory = Class.forName(LOGGER_FACTORY, false, loader);
            } catch (ClassNotFoundException | LinkageError | RuntimeException e) {
                factory = Void.class;
            }
            synchronized (FACTORIES) {
                FACTORIES.put(loader, new WeakReference<>(factory));
            }
        }
        if (factory == Void.class) {
            return last.get();
        }
        if (last.get() != factory) {
            last = new WeakReference<>(factory);
        }
        return factory;
    }

    @Override
    protected void handleNormalizedLoggingCall(Level level, Marker marker, String pattern, Object[] arguments,
            Throwable thrown) {
        log(of(level), MessageFormatter.basicArrayFormat(pattern, arguments), thrown);
    }

    /** The application may have been stopped, and its class loader closed, while connections go on. */
    private void log(System.Logger.Level level, String text, Throwable thrown) {
        try {
            System.Logger target = target();
            if (target != fallback) {
                target.log(level, text, thrown);
                return;
            }
        } catch (RuntimeException | LinkageError e) {
            // then by what is always there
        }
        logByFallback(level, text, thrown);
    }

    private boolean isLoggable(System.Logger.Level level) {
        try {
            return target().isLoggable(level);
        } catch (RuntimeException | LinkageError e) {
            return fallback().isLoggable(level);
        }
    }

    private static System.Logger.Level of(Level level) {
        return level == Level.WARN ? System.Logger.Level.WARNING : System.Logger.Level.valueOf(level.name());
    }

    @Override
    protected String getFullyQualifiedCallerName() {
        return null;
    }

    @Override
    public boolean isTraceEnabled() {
        return isLoggable(System.Logger.Level.TRACE);
    }

    @Override
    public boolean isDebugEnabled() {
        return isLoggable(System.Logger.Level.DEBUG);
    }

    @Override
    public boolean isInfoEnabled() {
        return isLoggable(System.Logger.Level.INFO);
    }

    @Override
    public boolean isWarnEnabled() {
        return isLoggable(System.Logger.Level.WARNING);
    }

    @Override
    public boolean isErrorEnabled() {
        return isLoggable(System.Logger.Level.ERROR);
    }
}
