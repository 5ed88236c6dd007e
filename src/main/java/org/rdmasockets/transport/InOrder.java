package org.rdmasockets.transport;

import java.util.concurrent.Executor;

/** Runs tasks on another executor one after the other, in the order in which they came. Any thread may submit. */
final class InOrder implements Executor {
    private final Executor executor;
    /** Asked of the executor; made once, so that the next task is asked for without memory of our own. */
    private final Runnable next = this::runNext;
    /** Not yet begun; protected by this. */
    private final TaskQueue tasks = new TaskQueue();
    /** Whether the executor has been asked to run the next; protected by this. */
    private boolean scheduled;

    /** Nothing to run yet. */
    InOrder(Executor executor) {
        this.executor = executor;
    }

    @Override
    public void execute(Runnable task) {
        TaskQueue.Task added = new TaskQueue.Task(task);
        synchronized (this) {
            tasks.add(added);
            if (scheduled) {
                return;
            }
            scheduled = true;
        }
        schedule();
    }

    /** If the executor refuses, for want of memory perhaps, the next task to come asks again. */
    private void schedule() {
        boolean asked = false;
        try {
            executor.execute(next);
            asked = true;
        } finally {
            if (!asked) {
                synchronized (this) {
                    scheduled = false;
                }
            }
        }
    }

    private void runNext() {
        TaskQueue.Task task;
        synchronized (this) {
            task = tasks.remove();
        }
        try {
            task.runSurely();
        } catch (Error e) { // not the executor's affair, which would do this again, with the next task
            SetupPool.logQuietly("a task in a row failed; its connection may be lost", e);
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
        schedule();
    }
}
