package org.rdmasockets.endpoint;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.function.BiConsumer;

/**
 * A JVM whose first user of the library is an application with a class loader of its own, which is undeployed then:
 * {@code WAY}. Prints what each thread of the library has of it, and whether the class loader goes.
 */
final class RedeployMain {
    private static final InheritableThreadLocal<Object> LOCAL = new InheritableThreadLocal<>();
    /** Half a minute: closed endpoints linger, and threads of the set-up pool leave, after ten seconds. */
    private static final int MOST_COLLECTIONS = 1_500;

    private RedeployMain() {
    }

    /** Loads the application itself; all else comes from above, the library too. */
    private static final class Deployed extends URLClassLoader {
        Deployed(URL where) {
            super(new URL[] {where}, RedeployMain.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith(RedeployedApplication.class.getName())) {
                synchronized (getClassLoadingLock(name)) {
                    Class<?> loaded = findLoadedClass(name);
                    return loaded == null ? findClass(name) : loaded;
                }
            }
            return super.loadClass(name, resolve);
        }
    }

    static void main(String[] arguments) throws Exception {
        WeakReference<ClassLoader> loader = deploy(arguments[0]);
        for (int i = 0; i < MOST_COLLECTIONS && loader.get() != null; i++) {
            System.gc();
            Thread.sleep(20);
        }
        System.out.println(loader.get() == null ? "collected" : "kept");
        System.exit(0);
    }

    /** Everything of the application is out of reach when this returns. */
    @SuppressWarnings("unchecked")
    private static WeakReference<ClassLoader> deploy(String way) throws Exception {
        try (Deployed loader = new Deployed(RedeployMain.class.getProtectionDomain().getCodeSource().getLocation())) {
            var application = (BiConsumer<String, Runnable>) loader.loadClass(RedeployedApplication.class.getName())
                    .getDeclaredConstructor().newInstance();
            if (application.getClass().getClassLoader() != loader) {
                throw new IllegalStateException("it is not the application's own");
            }
            ThreadGroup group = new ThreadGroup("application");
            Set<Thread> before = Thread.getAllStackTraces().keySet();
            FutureTask<Void> use = new FutureTask<>(() -> {
                LOCAL.set(application);
                application.accept(way, () -> look(before, group, loader));
            }, null);
            Thread user = new Thread(group, use, "user");
            user.setContextClassLoader(loader);
            user.start();
            use.get();
            user.join();
            return new WeakReference<>(loader);
        }
    }

    /** While the application is there. */
    private static void look(Set<Thread> before, ThreadGroup group, ClassLoader loader) {
        Set<Thread> own = new HashSet<>(Thread.getAllStackTraces().keySet());
        own.removeAll(before);
        for (Thread thread : own) {
            if (thread.getName().startsWith("rdma-")) {
                System.out.println("thread " + thread.getName());
                tell(thread, "loader", thread.getContextClassLoader() == loader);
                tell(thread, "group", thread.getThreadGroup() == group);
                tell(thread, "locals", hasLocals(thread));
            }
        }
    }

    private static void tell(Thread thread, String what, boolean has) {
        if (has) {
            System.out.println("leak: " + thread.getName() + " has the application's " + what);
        }
    }

    private static boolean hasLocals(Thread thread) {
        try {
            Field field = Thread.class.getDeclaredField("inheritableThreadLocals");
            field.setAccessible(true);
            return field.get(thread) != null;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
