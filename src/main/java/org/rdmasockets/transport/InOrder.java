package org.rdmasockets.transport;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;

/** Runs tasks on another executor one after the other, in the order in which they came. Any thread may submit. */
final class InOrder implements Executor {
    private final Executor executor;
    /** Not yet begun; protected by this. */
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    /** Whether the executor has been asked to run the next; protected by this. */
    private boolean scheduled;

    /**
     * Nothing to run yet.
     *
     * @param executor runs each task, in any of its threads
     */
    InOrder(Executor executor) {
        this.executor = executor;
    }

    @Override
    public void execute(Runnable task) {
        synchronized (this) {
            tasks.add(task);
            if (scheduled) {
                return;
            }
            scheduled = true;
        }
        executor.execute(this::runNext);
    }

    private void runNext() {
        Runnable task;
        synchronized (this) {
            task = tasks.remove();
        }
        try {
            task.run();
        } finally {
            scheduleNext();
        }
    }

    /** Each task is submitted by itself, so that a long row does not keep a thread from others' work. */
    private void scheduleNext() {
        synchronized (this) {
            scheduled = !tasks.isEmpty();
            if (!scheduled) {
                return;
            }
        }
        executor.execute(this::runNext);
    }
}
