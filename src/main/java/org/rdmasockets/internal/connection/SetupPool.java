package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.LinkedList;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.VerbsException;

/**
 * The few platform threads for calls that may block in the kernel. Two serve everything, even on a busy machine. One
 * that is stuck in a call to a peer (soft-iWARP connecting to a silent host takes minutes) is replaced, up to a bound;
 * beyond it calls to peers wait in a queue of their own, so two threads always serve everything else. Threads are
 * daemons and leave after a time without work.
 */
public final class SetupPool {
    private static final Log LOG = new Log(SetupPool.class);
    private static final int USUAL_THREADS = 2;
    private static final int MAX_THREADS = 16;
    /** Calls to peers at once. */
    private static final int MAX_PEER_CALLS = MAX_THREADS - USUAL_THREADS;
    /** A call to a peer that takes longer is taken for stuck. */
    static final long STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    /** How long to pause after a failure for lack of memory. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** Longest wait for memory; only a pool whose threads are all stuck needs that long. */
    private static final long MEMORY_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** The pool of all engines; made when it is needed first. */
    public static final SetupPool SHARED = new SetupPool();

    private final SmallMutex lock = new SmallMutex();
    /** There is work for an idle thread. */
    private final Condition work = lock.newCondition();
    /** Waiting work of our own; protected by lock. */
    private final LinkedList<Task> queue = new LinkedList<>();
    /** Waiting calls to peers; protected by lock. */
    private final LinkedList<Task> peerQueue = new LinkedList<>();
    /** Whether a call to a peer is next when there is work of both kinds; protected by lock. */
    private boolean peersTurn;
    /** All threads; protected by lock. */
    private int threads;
    /** Threads that wait for work; protected by lock. */
    private int idle;
    /** Calls to peers in progress; the first so many; protected by lock. */
    private final PeerCall[] peerCalls = new PeerCall[MAX_PEER_CALLS];
    private int peerCallCount;
    /** Numbers the threads' names; protected by lock. */
    private int named;

    /** Something to do. */
    static class Task {
        /** How often to try again after an {@code Error}, and how long to wait before: memory may come back. */
        private static final int TRIES = 3;
        private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

        private final Runnable work;

        Task(Runnable work) {
            this.work = work;
        }

        /** Does it, again after an {@code Error}, because others wait for it: so doing it twice must do no harm. */
        final void runSurely() {
            for (int left = TRIES;; left--) {
                try {
                    work.run();
                    return;
                } catch (Error e) {
                    if (left == 0) {
                        throw e;
                    }
                    LockSupport.parkNanos(AGAIN_NANOS);
                }
            }
        }
    }

    /** A call that waits for a peer. */
    private static final class PeerCall extends Task {
        /** When it began, by {@code System.nanoTime}; protected by lock. */
        private long startNanos;

        PeerCall(Runnable call) {
            super(call);
        }
    }

    SetupPool() {}

    /** Runs a task soon, again if an {@code Error} ends it. Never blocks. It must not wait for another of this pool. */
    public void execute(Runnable task) {
        add(queue, new Task(task));
    }

    private void add(LinkedList<Task> to, Task task) {
        lock.lock();
        try {
            to.add(task);
            if (idle > 0) {
                work.signal();
            }
            if (tasks() > idle) { // also if all idle threads were signalled before, and have not come back yet
                addThreadIfNeeded();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Runs a task, which must not wait for another task of this pool, and gives its outcome. */
    public <T> CompletableFuture<T> submit(Callable<T> task) {
        CompletableFuture<T> outcome = new CompletableFuture<>();
        add(queue, new Task(() -> complete(outcome, task)));
        return outcome;
    }

    /** Makes a call that waits for a peer, perhaps for minutes; while many are stuck, it begins much later. */
    public <T> CompletableFuture<T> submitPeerCall(Callable<T> call) {
        CompletableFuture<T> outcome = new CompletableFuture<>();
        add(peerQueue, new PeerCall(() -> complete(outcome, call)));
        return outcome;
    }

    /**
     * Waits for memory that is registered here, because that may block in the kernel; {@code unwanted} takes it if the
     * caller does not wait. Throws if the device refuses, or this virtual thread was interrupted (status left set).
     */
    public MemoryRegion register(Callable<MemoryRegion> make, Consumer<MemoryRegion> unwanted) throws IOException {
        CompletableFuture<MemoryRegion> made = submit(make);
        boolean taken = false;
        try {
            if (InterruptibleWait.awaitAnswer(nanos -> completed(made, nanos),
                    System.nanoTime() + MEMORY_NANOS) == null) {
                throw new SocketTimeoutException("No memory was registered within "
                        + TimeUnit.NANOSECONDS.toSeconds(MEMORY_NANOS) + " s");
            }
            taken = true;
            return result(made, "registering memory failed");
        } catch (VerbsException e) {
            throw NetErrors.other(e);
        } finally {
            if (!taken) {
                made.thenAccept(unwanted);
            }
        }
    }

    /** Waits for the outcome of a task: true once there is one, null when the time is over. */
    public static Boolean completed(CompletableFuture<?> outcome, long nanos) throws InterruptedException {
        try {
            outcome.get(nanos, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            return true;
        } catch (TimeoutException e) {
            return null;
        }
        return true;
    }

    /** The result of a task that has ended; throws its {@code IOException}, or one whose cause is what it threw. */
    static <T> T result(CompletableFuture<T> ended, String whatFailed) throws IOException {
        if (!ended.isCompletedExceptionally()) {
            return ended.resultNow();
        }
        switch (ended.exceptionNow()) {
            case IOException e -> throw e;
            case Throwable t -> throw new SocketException(whatFailed, t);
        }
    }

    private static <T> void complete(CompletableFuture<T> outcome, Callable<T> task) {
        try {
            outcome.complete(task.call());
        } catch (Throwable t) {
            outcome.completeExceptionally(t);
        }
    }

    /** Replaces threads that are stuck, if there is work that no thread takes up; called now and then. */
    void relieve() {
        lock.lock();
        try {
            if (tasks() > idle) {
                addThreadIfNeeded();
            }
        } finally {
            lock.unlock();
        }
    }

    private void addThreadIfNeeded() {
        long now = System.nanoTime();
        int stuck = 0;
        for (int i = 0; i < peerCallCount; i++) {
            stuck += now - peerCalls[i].startNanos > STUCK_NANOS ? 1 : 0;
        }
        if (threads - stuck < USUAL_THREADS && threads < MAX_THREADS) {
            try {
                LibraryThreads.unstarted("rdma-setup-" + ++named, this::serve).start();
                threads++;
            } catch (OutOfMemoryError e) { // the heap, or the system's limit of threads; relieve tries again
                logQuietly("no thread can be started to set up and tear down RDMA connections; raise the limit of "
                        + "threads (ulimit -u, or the container's pids limit), or of the heap (-Xmx)", e);
            }
        }
    }

    private void serve() {
        Task task = null;
        boolean serves = true;
        while (serves) {
            try {
                task = next(task);
                serves = task != null;
                if (serves) {
                    task.runSurely();
                }
            } catch (Throwable t) { // any failure costs its connection, and this thread goes on
                logQuietly("a set-up task failed; its connection may be lost", t);
            }
        }
    }

    /** Says what has happened, unless there is no memory to say it. */
    static void logQuietly(String message, Throwable thrown) {
        try {
            LOG.error(message, thrown);
        } catch (Throwable t) {
            LockSupport.parkNanos(PAUSE_NANOS); // even to wait for work may fail for the same reason
        }
    }

    /** Waits for work after a task is done; null tells the thread to leave. */
    private Task next(Task done) {
        lock.lock();
        try {
            if (done instanceof PeerCall call) {
                endPeerCall(call);
            }
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

    private void endPeerCall(PeerCall done) {
        for (int i = 0; i < peerCallCount; i++) {
            if (peerCalls[i] == done) {
                peerCalls[i] = peerCalls[--peerCallCount];
                peerCalls[peerCallCount] = null;
                return;
            }
        }
    }

    /** How many tasks could be taken now; lock held. */
    private int tasks() {
        return queue.size() + Math.min(peerQueue.size(), MAX_PEER_CALLS - peerCallCount);
    }

    private boolean hasWork() {
        return !queue.isEmpty() || mayCallPeer();
    }

    private boolean mayCallPeer() {
        return !peerQueue.isEmpty() && peerCallCount < MAX_PEER_CALLS;
    }

    /** Takes work of both kinds in turn. */
    private Task take() {
        if (queue.isEmpty() || peersTurn && mayCallPeer()) {
            PeerCall call = (PeerCall) peerQueue.remove();
            call.startNanos = System.nanoTime();
            peerCalls[peerCallCount++] = call;
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
            return remaining; // no code has reason to interrupt these threads
        }
    }
}
