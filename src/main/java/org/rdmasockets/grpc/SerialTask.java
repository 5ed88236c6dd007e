package org.rdmasockets.grpc;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.StackRoom;

/**
 * Runs the same body again and again on an executor, whenever there is news, never twice at a time. A body that finds
 * no memory runs anew: it remembers what it has begun.
 */
final class SerialTask {
    private final Runnable body;
    /** Is told that the executor refuses, so that the body no longer runs; null if it shall then run elsewhere. */
    private final Consumer<RuntimeException> refused;
    /** Changed by the body only. */
    private volatile Executor executor;
    /** Whether the body has changed it just now. */
    private boolean moved;
    /** Requests since the body last began; 0 if no thread runs it. */
    private final AtomicInteger wanted = new AtomicInteger();
    private final Runnable rounds = this::runRounds;
    /** Runs the body. Does not throw: an exception of the body must not look like a refusal of the executor. */
    private final Runnable work = LibraryThreads.insisting(rounds, this::failed);
    private final Runnable elsewhere = this::runElsewhere;
    private final Runnable tellRefusal = this::tellRefusal;
    /** The refusal that has to be told. */
    private RuntimeException refusal;

    SerialTask(Executor executor, Runnable body, Consumer<RuntimeException> refused) {
        this.executor = executor;
        this.body = body;
        this.refused = refused;
    }

    /** There is news. */
    void schedule() {
        StackRoom.ensure(); // a request that was counted has to run
        if (wanted.getAndIncrement() == 0) {
            start();
        }
    }

    private void start() {
        moved = false;
        try {
            executor.execute(work);
        } catch (RuntimeException e) { // it takes no more
            if (refused != null) {
                refusal = e;
                moved = true; // the body runs nowhere until the refusal is told
                LibraryThreads.insist(tellRefusal);
            } else {
                startElsewhere();
            }
        } catch (Error e) { // it has no thread
            startElsewhere();
        }
    }

    private void tellRefusal() {
        refused.accept(refusal);
        moved = false;
    }

    private void startElsewhere() {
        boolean starts = false;
        try {
            LibraryThreads.insist(elsewhere);
            starts = true;
        } finally {
            if (!starts) {
                wanted.set(0); // the next news try again
            }
        }
    }

    /** Runs the body on another thread: the call has to end all the same. */
    private void runElsewhere() {
        LibraryThreads.start("rdma-grpc", Thread.currentThread().getContextClassLoader(), work);
    }

    /** Called by the body, which then returns, and runs again on another executor. */
    void moveTo(Executor other) {
        executor = other;
        moved = true;
    }

    /** Keeps others from running the body until this thread has called {@link #runHere}. Before there is any news. */
    void hold() {
        wanted.set(1);
    }

    /** Lets the next news begin anew. */
    private void failed(Throwable e) {
        wanted.set(0);
        LibraryThreads.report(e);
    }

    /** Runs the body until there is no more news, on this thread, which hears what it throws. */
    void runHere() {
        boolean ran = false;
        try {
            LibraryThreads.insist(rounds);
            ran = true;
        } finally {
            if (!ran) {
                wanted.set(0); // the next news begin anew
            }
        }
    }

    private void runRounds() {
        int seen;
        do {
            seen = wanted.get();
            if (!moved) {
                body.run();
            }
            if (moved) {
                start();
                return;
            }
        } while (wanted.addAndGet(-seen) != 0);
    }
}
