package org.rdmasockets.internal.connection;

import java.util.concurrent.Executor;

/** Runs tasks one after the other, in the order in which they came, on a thread that brings one. Any thread may. */
final class SerialExecutor implements Executor {
    /** Not yet begun; protected by this. */
    private final TaskQueue tasks = new TaskQueue();
    /** Whether a thread runs them; protected by this. */
    private boolean running;

    SerialExecutor() {
    }

    @Override
    public void execute(Runnable task) {
        TaskQueue.Task added = new TaskQueue.Task(task);
        synchronized (this) {
            tasks.add(added);
            if (running) {
                return;
            }
            running = true;
        }
        boolean done = false;
        try {
            runAll();
            done = true;
        } finally {
            if (!done) { // no stack, perhaps: the next task to come runs those that are left
                synchronized (this) {
                    running = false;
                }
            }
        }
    }

    private void runAll() {
        for (TaskQueue.Task next = next(); next != null; next = next()) {
            try {
                next.runSurely();
            } catch (RuntimeException | Error e) { // the others are run all the same
                SetupPool.logQuietly("a task in a row failed; its connection may be lost", e);
            }
        }
    }

    /** The oldest; null if there is none, so that this thread is through. */
    private synchronized TaskQueue.Task next() {
        running = !tasks.isEmpty();
        return running ? tasks.remove() : null;
    }
}
