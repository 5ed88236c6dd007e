package org.rdmasockets.provider.sharedmemory;

import java.util.ArrayDeque;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;

/** A completion channel: a queue of completion queues that were armed and got a completion. */
final class SharedMemoryCompletionChannel extends ReadySource implements CompletionChannel {
    private final SharedMemoryDevice device;
    /** Guarded by itself. */
    private final ArrayDeque<SharedMemoryCompletionQueue> events = new ArrayDeque<>();
    /** Whether {@link #events} has any; written under its lock. */
    private volatile boolean ready;
    /** Takes events of posts; null if nobody offered to. */
    private volatile Predicate<? super CompletionQueue> handler;
    private volatile boolean closed;

    /** A channel without events. */
    SharedMemoryCompletionChannel(SharedMemoryDevice device) {
        this.device = device;
    }

    /** Adds an event of a queue, which its arming ends. */
    void add(SharedMemoryCompletionQueue queue) {
        synchronized (events) {
            events.add(queue);
            ready = true;
        }
        signal();
    }

    /** Lets the handler take an event of a queue, or adds it. A thread that posts, without locks. */
    void handOver(SharedMemoryCompletionQueue queue) {
        Predicate<? super CompletionQueue> taker = handler;
        if (closed || taker == null || !taker.test(queue)) {
            add(queue);
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
            handler.accept(queue);
            queue = next();
        }
        return drained;
    }

    private SharedMemoryCompletionQueue next() {
        synchronized (events) {
            SharedMemoryCompletionQueue queue = closed ? null : events.poll();
            ready = !events.isEmpty();
            return queue;
        }
    }

    @Override
    boolean isReady() {
        return ready;
    }

    @Override
    boolean isClosed() {
        return closed;
    }

    @Override
    public void close() {
        closed = true;
    }
}
