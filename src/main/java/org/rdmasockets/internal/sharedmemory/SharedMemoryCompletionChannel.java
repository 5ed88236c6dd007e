package org.rdmasockets.internal.sharedmemory;

import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;

/** A completion channel: a queue of completion queues that were armed and got a completion. */
final class SharedMemoryCompletionChannel extends ReadySource implements CompletionChannel {
    private final SharedMemoryDevice device;
    /** Guards the list of queues that have events; each leads to the next, so that an event needs no memory. */
    private final Object events = new Object();
    /** Guarded by events. */
    private SharedMemoryCompletionQueue first;
    private SharedMemoryCompletionQueue last;
    /** Takes events of posts; null if no handler was set. */
    private volatile Predicate<? super CompletionQueue> handler;

    SharedMemoryCompletionChannel(SharedMemoryDevice device) {
        this.device = device;
    }

    /** Adds an event of a queue, which its arming ends. */
    void add(SharedMemoryCompletionQueue queue) {
        synchronized (events) {
            if (++queue.events == 1) {
                append(queue);
            }
            ready = true;
        }
        signal();
    }

    private void append(SharedMemoryCompletionQueue queue) {
        if (first == null) {
            first = queue;
        } else {
            last.nextWithEvents = queue;
        }
        last = queue;
    }

    /** Lets the handler take an event of a queue, or adds it. A thread that posts, without locks. */
    void handOver(SharedMemoryCompletionQueue queue) {
        Predicate<? super CompletionQueue> taker = handler;
        boolean taken = false;
        try {
            taken = !closed && taker != null && taker.test(queue);
        } finally {
            if (!taken) {
                add(queue); // also after an Error: another thread takes the event
            }
        }
    }

    @Override
    public void onPost(Predicate<? super CompletionQueue> newHandler) {
        handler = newHandler;
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public int drainEvents(Consumer<? super CompletionQueue> handler) {
        int drained = 0;
        SharedMemoryCompletionQueue queue = next();
        while (queue != null) {
            drained++;
            try {
                handler.accept(queue);
            } catch (Error e) { // no memory, perhaps: another thread takes the event
                add(queue);
                throw e;
            }
            queue = next();
        }
        return drained;
    }

    private SharedMemoryCompletionQueue next() {
        synchronized (events) {
            SharedMemoryCompletionQueue queue = closed ? null : first;
            if (queue != null) {
                first = queue.nextWithEvents;
                queue.nextWithEvents = null;
                if (--queue.events > 0) {
                    append(queue);
                }
            }
            ready = first != null;
            return queue;
        }
    }

    @Override
    public void close() {
        closed = true;
    }
}
