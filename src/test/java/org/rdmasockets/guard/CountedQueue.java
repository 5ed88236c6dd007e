package org.rdmasockets.guard;

import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/** Counts polls that found something, completions and arming. One object for each queue, so that it can be a key. */
final class CountedQueue implements CompletionQueue {
    private final CompletionQueue target;
    private final Device device;
    private final Counts counts;

    /**
     * A queue.
     *
     * @param target does the work
     * @param device its counted device
     * @param counts where to count
     */
    CountedQueue(CompletionQueue target, Device device, Counts counts) {
        this.target = target;
        this.device = device;
        this.counts = counts;
    }

    /** The queue that does the work. */
    CompletionQueue target() {
        return target;
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public int entries() {
        return target.entries();
    }

    @Override
    public int unreservedEntries() {
        return target.unreservedEntries();
    }

    @Override
    public WorkCompletions newBatch(int capacity) {
        return target.newBatch(capacity);
    }

    @Override
    public int poll(WorkCompletions batch) throws VerbsException {
        int polled = target.poll(batch);
        if (polled > 0) {
            counts.add(Counts.What.POLL, 1);
            counts.add(Counts.What.COMPLETION, polled);
        }
        return polled;
    }

    @Override
    public boolean spin(int looks) {
        return target.spin(looks);
    }

    @Override
    public void requestNotification() throws VerbsException {
        counts.add(Counts.What.ARM, 1);
        target.requestNotification();
    }

    @Override
    public void resize(int entries) throws VerbsException {
        target.resize(entries);
    }

    @Override
    public void close() {
        target.close();
    }
}
