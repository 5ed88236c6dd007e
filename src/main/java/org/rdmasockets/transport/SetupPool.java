package org.rdmasockets.transport;

import java.util.ArrayDeque;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The few platform threads for calls that may block in the kernel. Two serve everything as long as calls are quick;
 * only when all of them have been stuck in one call for a while (soft-iWARP connecting to a silent host takes minutes)
 * is another one added, up to a bound, so that one dead peer does not hold up every other connection. Threads are
 * daemons and leave after a time without work.
 */
final class SetupPool {
    private static final Logger LOG = LoggerFactory.getLogger(SetupPool.class);
    private static final int USUAL_THREADS = 2;
    private static final int MAX_THREADS = 16;
    private static final long STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final ReentrantLock lock = new ReentrantLock();
    /** There is work for an idle thread. */
    private final Condition work = lock.newCondition();
    /** Waiting work; protected by lock. */
    private final ArrayDeque<Runnable> queue = new ArrayDeque<>();
    /** All threads; protected by lock. */
    private int threads;
    /** Threads that wait for work; protected by lock. */
    private int idle;
    /** When a thread last took up work, by {@code System.nanoTime}; protected by lock. */
    private long lastStartNanos;
    /** Numbers the threads' names; protected by lock. */
    private int named;

    /**
     * Runs a task some time soon. Never blocks.
     *
     * @param task must not wait for another task of this pool
     */
    void execute(Runnable task) {
        lock.lock();
        try {
            queue.add(task);
            if (idle > 0) {
                work.signal();
            } else {
                addThreadIfNeeded();
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Runs a task and gives its outcome.
     *
     * @param <T> what it gives
     * @param task must not wait for another task of this pool
     * @return completed with the task's result or exception
     */
    <T> CompletableFuture<T> submit(Callable<T> task) {
        CompletableFuture<T> outcome = new CompletableFuture<>();
        execute(() -> {
            try {
                outcome.complete(task.call());
            } catch (Throwable t) {
                outcome.completeExceptionally(t);
            }
        });
        return outcome;
    }

    /** Adds a thread if there is work that nobody takes up because all threads are stuck; called now and then. */
    void relieve() {
        lock.lock();
        try {
            if (!queue.isEmpty() && idle == 0) {
                addThreadIfNeeded();
            }
        } finally {
            lock.unlock();
        }
    }

    private void addThreadIfNeeded() {
        boolean allStuck = System.nanoTime() - lastStartNanos > STUCK_NANOS;
        if (threads < USUAL_THREADS || threads < MAX_THREADS && allStuck) {
            threads++;
            lastStartNanos = System.nanoTime();
            Thread.ofPlatform().daemon().name("rdma-setup-" + ++named).start(this::serve);
        }
    }

    private void serve() {
        Runnable task = next();
        while (task != null) {
            try {
                task.run();
            } catch (Throwable t) {
                LOG.error("a set-up task failed; its connection may be lost", t);
            }
            task = next();
        }
    }

    /** Waits for work; null tells the thread to leave. */
    private Runnable next() {
        lock.lock();
        try {
            idle++;
            try {
                long remaining = IDLE_NANOS;
                while (queue.isEmpty()) {
                    if (remaining <= 0) {
                        threads--;
                        return null;
                    }
                    remaining = awaitWork(remaining);
                }
            } finally {
                idle--;
            }
            lastStartNanos = System.nanoTime();
            return queue.remove();
        } finally {
            lock.unlock();
        }
    }

    private long awaitWork(long remaining) {
        try {
            return work.awaitNanos(remaining);
        } catch (InterruptedException e) {
            return remaining; // nobody has reason to interrupt these threads
        }
    }
}
