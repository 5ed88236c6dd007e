package org.rdmasockets.transport;

/** Tasks in the order in which they came, as a list that needs no memory once a task is there. Its owner locks. */
final class TaskQueue {
    private Task first;
    private Task last;

    /** One task, in one queue at most. */
    static class Task {
        private final Runnable work;
        private Task next;

        /**
         * A task that waits for nothing yet.
         *
         * @param work what it does
         */
        Task(Runnable work) {
            this.work = work;
        }

        /** Does it. */
        final void run() {
            work.run();
        }
    }

    /** Tells whether there is none. */
    boolean isEmpty() {
        return first == null;
    }

    /** Adds the youngest. */
    void add(Task task) {
        if (first == null) {
            first = task;
        } else {
            last.next = task;
        }
        last = task;
    }

    /** Takes the oldest; there must be one. */
    Task remove() {
        Task taken = first;
        first = taken.next;
        taken.next = null;
        last = first == null ? null : last; // an empty queue keeps nothing alive
        return taken;
    }
}
