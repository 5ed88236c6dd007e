package org.rdmasockets.internal.waiting;

import java.util.ArrayDeque;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/** A completion queue that arms like a device: once armed, the next completion makes one event, and no other does. */
final class SimulatedQueue implements CompletionQueue {
    private final SimulatedDevice device;
    private final SimulatedChannel channel;
    private final int entries;
    /** Guarded by this monitor, like the rest. */
    private final ArrayDeque<SimulatedCompletion> completions = new ArrayDeque<>();
    private boolean armed;
    private boolean closed;
    private boolean broken;
    private long total;
    private int arms;
    private int polls;
    /** Runs just before each poll. */
    private Runnable beforePolling = () -> { };

    SimulatedQueue(SimulatedDevice device, SimulatedChannel channel, int entries) {
        this.device = device;
        this.channel = channel;
        this.entries = entries;
    }

    /** Adds a completion, as the device does when a request ends. */
    void complete(SimulatedCompletion completion) {
        boolean event;
        synchronized (this) {
            if (completions.size() == entries) {
                throw new IllegalStateException("completion queue overrun: " + entries + " entries");
            }
            completions.addLast(completion);
            total++;
            event = armed;
            armed = false;
        }
        if (event) {
            channel.event(this);
        }
    }

    /** Lets something happen just before each poll, in the thread that polls; what it throws the poll throws. */
    synchronized void beforePolling(Runnable event) {
        beforePolling = event;
    }

    /** Lets every later call fail. */
    synchronized void breakDown() {
        broken = true;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    synchronized boolean isArmed() {
        return armed;
    }

    synchronized int waiting() {
        return completions.size();
    }

    synchronized long total() {
        return total;
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public int entries() {
        return entries;
    }

    @Override
    public int unreservedEntries() {
        return entries;
    }

    @Override
    public WorkCompletions newBatch(int capacity) {
        return new SimulatedBatch(capacity);
    }

    @Override
    public synchronized int poll(WorkCompletions batch) throws VerbsException {
        checkSound("ibv_poll_cq");
        polls++;
        beforePolling.run();
        int count = 0;
        while (count < batch.capacity() && !completions.isEmpty()) {
            ((SimulatedBatch) batch).set(count++, completions.removeFirst());
        }
        return closed ? 0 : count;
    }

    @Override
    public synchronized void requestNotification() throws VerbsException {
        checkSound("ibv_req_notify_cq");
        armed = true;
        arms++;
    }

    /** How often it was armed. */
    synchronized int arms() {
        return arms;
    }

    /** How often it was polled. */
    synchronized int polls() {
        return polls;
    }

    private void checkSound(String call) throws VerbsException {
        if (broken) {
            throw new VerbsException(call, Errno.EIO, "");
        }
    }

    @Override
    public void resize(int newEntries) {
        throw new UnsupportedOperationException();
    }

    @Override
    public synchronized void close() {
        closed = true;
    }

    @Override
    public String toString() {
        return "SimulatedQueue[waiting=" + waiting() + ", armed=" + isArmed() + ", total=" + total() + "]";
    }
}
