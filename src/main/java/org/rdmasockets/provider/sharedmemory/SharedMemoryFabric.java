package org.rdmasockets.provider.sharedmemory;

import java.util.concurrent.atomic.AtomicInteger;

/** What all objects of a provider share: keys, ports, numbers, deadlines. */
final class SharedMemoryFabric {
    private static final int NUMBER_BITS = (1 << 24) - 1;

    private final RegionTable regions = new RegionTable();
    private final PortTable ports = new PortTable();
    private final Deadlines deadlines = new Deadlines();
    private final AtomicInteger lastNumber = new AtomicInteger();
    private final SharedMemoryDevice device = new SharedMemoryDevice(this);

    /** An empty fabric with its device. */
    SharedMemoryFabric() {
    }

    /** The device. */
    SharedMemoryDevice device() {
        return device;
    }

    /** Keys to regions. */
    RegionTable regions() {
        return regions;
    }

    /** Addresses to listeners. */
    PortTable ports() {
        return ports;
    }

    /** Requests that do not wait for ever. */
    Deadlines deadlines() {
        return deadlines;
    }

    /** A number for a queue pair, of 24 bits; not used again soon. */
    int nextQueuePairNumber() {
        int number = lastNumber.incrementAndGet() & NUMBER_BITS;
        return number != 0 ? number : lastNumber.incrementAndGet() & NUMBER_BITS;
    }
}
