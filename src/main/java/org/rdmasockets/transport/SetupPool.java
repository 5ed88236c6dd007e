package org.rdmasockets.transport;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The few platform threads for calls that may block in the kernel. Two serve everything; a busy machine makes them
 * slower, not more. Only a thread that is stuck in a call to a peer (soft-iWARP connecting to a silent host takes
 * minutes) is replaced while it is, up to a bound, so that dead peers do not hold up every other connection. Threads
 * are daemons and leave after a time without work.
 */
final class SetupPool {
    private static final Logger LOG = LoggerFactory.getLogger(SetupPool.class);
    private static final int USUAL_THREADS = 2;
    private static final int MAX_THREADS = 16;
    /** A call to a peer that takes longer is taken for stuck. */
    static final long STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
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
    /** When each call to a peer that is in progress began, by {@code System.nanoTime}; protected by lock. */
    private final List<Long> peerCalls = new ArrayList<>();
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

    /**
     * Makes a call that waits for a peer, in a thread of this pool.
     *
     * @param <T> what it gives
     * @param call may take minutes
     * @return what the call gave
     * @throws Exception what the call threw
     */
    <T> T callPeer(Callable<T> call) throws Exception {
        Long start = System.nanoTime();
        note(() -> peerCalls.add(start));
        try {
            return call.call();
        } finally {
            note(() -> peerCalls.remove(start));
        }
    }

    private void note(Runnable change) {
        lock.lock();
        try {
            change.run();
        } finally {
            lock.unlock();
        }
    }

    /** Replaces threads that are stuck, if there is work that nobody takes up; called now and then. */
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
        long now = System.nanoTime();
        long stuck = peerCalls.stream().filter(start -> now - start > STUCK_NANOS).count();
        if (threads - stuck < USUAL_THREADS && threads < MAX_THREADS) {
            threads++;
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
