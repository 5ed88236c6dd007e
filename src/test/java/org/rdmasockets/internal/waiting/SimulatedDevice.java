package org.rdmasockets.internal.waiting;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.PortAttributes;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.TransportType;

/** A device that only makes completion queues; what completes, the test says. */
final class SimulatedDevice implements Device {
    private final SimulatedEvents events;
    private final boolean handsOver;
    private final DeviceAttributes limits;
    private final List<SimulatedQueue> queues = new CopyOnWriteArrayList<>();

    /** Whether events are offered to the thread that makes them, as by a device that works in the poster's thread. */
    SimulatedDevice(SimulatedEvents events, boolean handsOver) {
        this(events, handsOver, 1_000, 32_767);
    }

    SimulatedDevice(SimulatedEvents events, boolean handsOver, int maxQueues, int maxEntries) {
        this.events = events;
        this.handsOver = handsOver;
        this.limits = new DeviceAttributes("", 1, 1 << 30, 1_000, 1_000, 1, maxQueues, maxEntries, 1_000, 1_000, 1, 1);
    }

    SimulatedEvents events() {
        return events;
    }

    boolean handsOver() {
        return handsOver;
    }

    /** All queues ever made. */
    List<SimulatedQueue> queues() {
        return queues;
    }

    /** How many completions there were. */
    long completions() {
        return queues.stream().mapToLong(SimulatedQueue::total).sum();
    }

    @Override
    public DeviceInfo info() {
        return new DeviceInfo("simulated", 1, TransportType.values()[0]);
    }

    @Override
    public DeviceAttributes attributes() {
        return limits;
    }

    @Override
    public CompletionChannel createCompletionChannel() {
        return new SimulatedChannel(this);
    }

    @Override
    public CompletionQueue createCompletionQueue(int entries, CompletionChannel channel) {
        SimulatedQueue queue = new SimulatedQueue(this, (SimulatedChannel) channel, entries);
        queues.add(queue);
        return queue;
    }

    @Override
    public boolean supports(Capability capability) {
        return false;
    }

    @Override
    public PortAttributes port(int portNumber) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Gid gid(int portNumber, int index) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void drainEvents(Consumer<? super DeviceEvent> handler) {
    }

    @Override
    public void close() {
    }
}
