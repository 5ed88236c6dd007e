package org.rdmasockets.internal.waiting;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;

/** A completion channel: counts every event, loses none, makes none up. */
final class SimulatedChannel implements CompletionChannel, SimulatedEvents.Source {
    private final SimulatedDevice device;
    private final ConcurrentLinkedQueue<SimulatedQueue> events = new ConcurrentLinkedQueue<>();

    private volatile Predicate<? super CompletionQueue> taker = queue -> false;

    SimulatedChannel(SimulatedDevice device) {
        this.device = device;
    }

    void event(SimulatedQueue queue) {
        if (!taker.test(queue)) {
            events.add(queue);
            device.events().signal();
        }
    }

    @Override
    public void onPost(Predicate<? super CompletionQueue> handler) {
        if (device.handsOver()) {
            taker = handler;
        }
    }

    @Override
    public boolean isReady() {
        return !events.isEmpty();
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public int drainEvents(Consumer<? super CompletionQueue> handler) {
        int count = 0;
        for (SimulatedQueue queue = events.poll(); queue != null; queue = events.poll()) {
            handler.accept(queue);
            count++;
        }
        return count;
    }

    @Override
    public void close() {
    }
}
