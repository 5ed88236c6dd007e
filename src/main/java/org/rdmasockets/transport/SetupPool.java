package org.rdmasockets.transport;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
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
 * minutes) is replaced while it is. There are bounds to that, and beyond them calls to peers wait in a queue of their
 * own, so that however many peers are dead, two threads serve everything else. Threads are daemons and leave after a
 * time without work.
 */
public final class SetupPool {
    private static final Logger LOG = LoggerFactory.getLogger(SetupPool.class);
    private static final int USUAL_THREADS = 2;
    private static final int MAX_THREADS = 16;
    /** Calls to peers at once. */
    private static final int MAX_PEER_CALLS = MAX_THREADS - USUAL_THREADS;
    /** A call to a peer that takes longer is taken for stuck. */
    static final long STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final ReentrantLock lock = new ReentrantLock();
    /** There is work for an idle thread. */
    private final Condition work = lock.newCondition();
    /** Waiting work of our own; protected by lock. */
    private final ArrayDeque<Runnable> queue = new ArrayDeque<>();
    /** Waiting calls to peers; protected by lock. */
    private final ArrayDeque<PeerCall> peerQueue = new ArrayDeque<>();
    /** Whose turn it is when there is work of both kinds; protected by lock. */
    private boolean peersTurn;
    /** All threads; protected by lock. */
    private int threads;
    /** Threads that wait for work; protected by lock. */
    private int idle;
    /** Calls to peers in progress; protected by lock. */
    private final Set<PeerCall> peerCalls = new HashSet<>();
    /** Numbers the threads' names; protected by lock. */
    private int named;

    /** A call that waits for a peer, known by itself. */
    private static final class PeerCall implements Runnable {
        private final Runnable call;
        /** When it began, by {@code System.nanoTime}; protected by lock. */
        private long startNanos;

        PeerCall(Runnable call) {
            this.call = call;
        }

        @Override
        public void run() {
            call.run();
        }
    }

    /** Without threads until there is work. */
    SetupPool() {
    }

    /**
     * Runs a task some time soon. Never blocks.
     *
     * @param task must not wait for another task of this pool
     */
    public void execute(Runnable task) {
        add(queue, task);
    }

    private <T extends Runnable> void add(ArrayDeque<T> to, T task) {
        lock.lock();
        try {
            to.add(task);
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
    public <T> CompletableFuture<T> submit(Callable<T> task) {
        CompletableFuture<T> outcome = new CompletableFuture<>();
        add(queue, () -> complete(outcome, task));
        return outcome;
    }

    /**
     * Makes a call that waits for a peer and gives its outcome.
     *
     * @param <T> what it gives
     * @param call may take minutes
     * @return completed with the call's result or exception; while many such calls are stuck, not even begun for long
     */
    <T> CompletableFuture<T> submitPeerCall(Callable<T> call) {
        CompletableFuture<T> outcome = new CompletableFuture<>();
        add(peerQueue, new PeerCall(() -> complete(outcome, call)));
        return outcome;
    }

    private static <T> void complete(CompletableFuture<T> outcome, Callable<T> task) {
        try {
            outcome.complete(task.call());
        } catch (Throwable t) {
            outcome.completeExceptionally(t);
        }
    }

    /** Replaces threads that are stuck, if there is work that nobody takes up; called now and then. */
    void relieve() {
        lock.lock();
        try {
            if (hasWork() && idle == 0) {
                addThreadIfNeeded();
            }
        } finally {
            lock.unlock();
        }
    }

    private void addThreadIfNeeded() {
        long now = System.nanoTime();
        long stuck = peerCalls.stream().filter(call -> now - call.startNanos > STUCK_NANOS).count();
        if (threads - stuck < USUAL_THREADS && threads < MAX_THREADS) {
            try {
                Thread.ofPlatform().daemon().name("rdma-setup-" + ++named).start(this::serve);
                threads++;
            } catch (OutOfMemoryError e) { // the system's limit of threads; relieve tries again
                LOG.error("no thread can be started to set up and tear down RDMA connections; raise the limit of "
                        + "threads (ulimit -u, or the container's pids limit)", e);
            }
        }
    }

    private void serve() {
        for (Runnable task = next(null); task != null; task = next(task)) {
            try {
                task.run();
            } catch (Throwable t) {
                LOG.error("a set-up task failed; its connection may be lost", t);
            }
        }
    }

    /** Waits for work after a task is done; null tells the thread to leave. */
    private Runnable next(Runnable done) {
        lock.lock();
        try {
            peerCalls.remove(done);
            idle++;
            try {
                long remaining = IDLE_NANOS;
                while (!hasWork()) {
                    if (remaining <= 0) {
                        threads--;
                        return null;
                    }
                    remaining = awaitWork(remaining);
                }
            } finally {
                idle--;
            }
            return take();
        } finally {
            lock.unlock();
        }
    }

    private boolean hasWork() {
        return !queue.isEmpty() || mayCallPeer();
    }

    private boolean mayCallPeer() {
        return !peerQueue.isEmpty() && peerCalls.size() < MAX_PEER_CALLS;
    }

    /** Takes work of both kinds in turn. */
    private Runnable take() {
        if (queue.isEmpty() || peersTurn && mayCallPeer()) {
            PeerCall call = peerQueue.remove();
            call.startNanos = System.nanoTime();
            peerCalls.add(call);
            peersTurn = false;
            return call;
        }
        peersTurn = true;
        return queue.remove();
    }

    private long awaitWork(long remaining) {
        try {
            return work.awaitNanos(remaining);
        } catch (InterruptedException e) {
            return remaining; // nobody has reason to interrupt these threads
        }
    }
}
