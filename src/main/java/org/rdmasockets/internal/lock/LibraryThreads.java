package org.rdmasockets.internal.lock;

import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;

/**
 * Makes all threads of this library. Such a thread belongs to no application: it keeps neither the context class
 * loader, nor the thread group, nor the inheritable thread-locals of the thread that makes it, so that an undeployed
 * application can be unloaded, and no call sees what belongs to another. Threads that run code of an application have
 * its context class loader: that of the thread that made the server, channel or client.
 */
public final class LibraryThreads {
    /** How often a thing that has to end is tried for lack of memory. */
    public static final int MOST_TRIES = 1_000;
    private static final long RETRY_NANOS = 1_000_000;
    private static final long LONG_NANOS = 1_000_000_000;

    private LibraryThreads() {}

    /** Makes the cleaner's thread: a platform thread, because clean-up must not wait for a free carrier. */
    private static final class Cleaning implements ThreadFactory {
        static final Cleaner CLEANER = Cleaner.create(new Cleaning());

        @Override
        public Thread newThread(Runnable task) {
            return unstarted("rdma-cleaner", task);
        }
    }

    /** The cleaner that closes forgotten objects. */
    public static Cleaner cleaner() {
        return Cleaning.CLEANER;
    }

    /** A daemon platform thread that has not started. */
    public static Thread unstarted(String name, Runnable task) {
        ThreadGroup top = Thread.currentThread().getThreadGroup();
        while (top != null && top.getParent() != null) {
            top = top.getParent();
        }
        Thread thread = new Thread(top, task, name, 0, false);
        thread.setDaemon(true);
        thread.setPriority(Thread.NORM_PRIORITY);
        thread.setContextClassLoader(ClassLoader.getSystemClassLoader());
        return thread;
    }

    /** A virtual thread that has not started. */
    public static Thread unstartedVirtual(String name, Runnable task) {
        return Thread.ofVirtual().name(name).inheritInheritableThreadLocals(false).unstarted(task);
    }

    /** Starts a virtual thread. */
    public static Thread start(String name, Runnable task) {
        Thread thread = unstartedVirtual(name, task);
        thread.start();
        return thread;
    }

    /** Starts a virtual thread for an application's code, which finds its classes by the context class loader. */
    public static Thread start(String name, ClassLoader context, Runnable task) {
        Thread thread = unstartedVirtual(name, task);
        thread.setContextClassLoader(context);
        thread.start();
        return thread;
    }

    /**
     * Does what has to be done, although there may be no memory for it: again after an {@code OutOfMemoryError}, a
     * moment later, a thousand times. The task goes on where it was cut short, and is best made before the need: that
     * takes memory, too. A task that has run for a second has all its tries again.
     */
    public static void insist(Runnable task) {
        insist(task, null);
    }

    /**
     * Closes what no other thread will close, as {@link #insist} does a task, and without memory for one. Its close is
     * to go on where it was cut short, and throws no checked exception.
     */
    public static void close(AutoCloseable closing) {
        insist(null, closing);
    }

    /** Does one of the two, the other is null: to make a task of a close takes memory. */
    private static void insist(Runnable task, AutoCloseable closing) {
        int tries = 0;
        long began = System.nanoTime();
        while (true) {
            try {
                if (tries > 0) {
                    tries = System.nanoTime() - began < LONG_NANOS ? tries : 0;
                    pause();
                    began = System.nanoTime();
                }
                if (task != null) {
                    task.run();
                } else {
                    closing.close();
                }
                return;
            } catch (OutOfMemoryError e) {
                tries++;
                if (tries > MOST_TRIES) {
                    throw e;
                }
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /**
     * A thread's work that others wait for, for {@code start}: if it throws, {@code failed} hears of it, however little
     * memory there is. A work that is only called by another, as a lambda is, may fail at that call, where it cannot
     * tell.
     */
    public static Runnable once(Runnable task, Consumer<Throwable> failed) {
        return new Work(task, failed, false);
    }

    /** The same, but done as by {@link #insist}. */
    public static Runnable insisting(Runnable task, Consumer<Throwable> failed) {
        return new Work(task, failed, true);
    }

    /** All that it calls is called where an error is seen. */
    private record Work(Runnable task, Consumer<Throwable> failed, boolean again) implements Runnable {
        @Override
        public void run() {
            try {
                if (again) {
                    insist(task);
                } else {
                    task.run();
                }
            } catch (RuntimeException | Error e) {
                for (int tries = 0; !isTold(e) && tries < MOST_TRIES; tries++) {
                    pause();
                }
            }
        }

        /** False if there is no memory for it. */
        private boolean isTold(Throwable thrown) {
            try {
                failed.accept(thrown);
                return true;
            } catch (OutOfMemoryError e) {
                return false;
            }
        }
    }

    /**
     * Lets a moment pass, also without memory. A virtual thread that parks needs some for its timer, and without it
     * parks for ever; one that yields may need some for its stack.
     */
    public static void pause() {
        long end = System.nanoTime() + RETRY_NANOS;
        while (System.nanoTime() - end < 0) {
            try {
                Thread.yield();
            } catch (OutOfMemoryError e) {
                Thread.onSpinWait();
            }
        }
    }

    /** Tells the handler of this thread of an exception, as if that had ended the thread; what it throws is dropped. */
    public static void report(Throwable e) {
        Thread me = Thread.currentThread();
        try {
            me.getUncaughtExceptionHandler().uncaughtException(me, e);
        } catch (RuntimeException | Error again) {
            return; // the JVM drops it as well
        }
    }

    /** Waits until a thread has ended, so long at most; an interrupt is kept for the caller. */
    public static void awaitEnd(Thread thread, long nanos) {
        boolean interrupted = false;
        long deadline = System.nanoTime() + nanos;
        for (long left = nanos; left > 0; left = deadline - System.nanoTime()) {
            try {
                if (thread.join(Duration.ofNanos(left))) {
                    break;
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        restore(interrupted);
    }

    /**
     * Waits for {@code notifyAll}; the caller holds the monitor, looks again afterwards, and at the end gives what all
     * calls said to {@link #restore}. True if the thread was interrupted. Needs no memory.
     */
    public static boolean awaitNotify(Object monitor) {
        try {
            monitor.wait();
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    /** Keeps an interrupt that did not end a wait for the caller. */
    public static void restore(boolean interrupted) {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
