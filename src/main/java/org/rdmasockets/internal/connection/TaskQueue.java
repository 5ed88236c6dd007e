package org.rdmasockets.internal.connection;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Tasks in the order in which they came, as a list that needs no memory once a task is there. Its owner locks. */
final class TaskQueue {
    private Task first;
    private Task last;
    private int size;

    /** One task, in one queue at most. */
    static class Task {
        /** How often to try again after an {@code Error}, and how long to wait before: memory may come back. */
        private static final int TRIES = 3;
        private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

        private final Runnable work;
        private Task next;

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
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        }
    }

    boolean isEmpty() {
        return first == null;
    }

    int size() {
        return size;
    }

    void add(Task task) {
        if (first == null) {
            first = task;
        } else {
            last.next = task;
        }
        last = task;
        size++;
    }

    /** Takes the oldest; there must be one. */
    Task remove() {
        Task taken = first;
        first = taken.next;
        taken.next = null;
        size--;
        last = first == null ? null : last; // an empty queue keeps nothing alive
        return taken;
    }
}
