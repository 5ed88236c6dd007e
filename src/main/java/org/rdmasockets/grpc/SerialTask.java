package org.rdmasockets.grpc;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmasockets.internal.lock.StackRoom;

/** Runs the same body again and again on an executor, whenever there is news, never twice at a time. */
final class SerialTask {
    private final Executor executor;
    private final Runnable body;
    /** How often it was asked for since the body last began; 0 if no thread runs it. */
    private final AtomicInteger wanted = new AtomicInteger();

    SerialTask(Executor executor, Runnable body) {
        this.executor = executor;
        this.body = body;
    }

    /** There is news. */
    void schedule() {
        StackRoom.ensure(); // a counted request has to run
        if (wanted.getAndIncrement() == 0) {
            try {
                executor.execute(this::run);
            } catch (RuntimeException | Error e) { // it takes no more, or has no thread
                Thread.ofVirtual().name("rdma-grpc").start(this::run); // the call has to end all the same
            }
        }
    }

    /** Keeps others from running the body until this thread has called {@link #run}. Before there is any news. */
    void hold() {
        wanted.set(1);
    }

    /** Runs the body until there is no more news. */
    void run() {
        int seen = wanted.get();
        do {
            body.run();
            seen = wanted.addAndGet(-seen);
        } while (seen != 0);
    }
}
