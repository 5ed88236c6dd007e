package org.rdmasockets.internal.sharedmemory;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.internal.lock.HandleTable;
import org.rdmasockets.internal.sharedmemory.link.Slabs;
import org.rdmasockets.verbs.DeviceEvent;

/** The state that all objects of a provider share: keys, ports, numbers, deadlines. */
final class SharedMemoryFabric {
    /** Set in the number of each queue pair for datagrams, and of no other. */
    static final int DATAGRAM_BIT = 1 << 23;
    private static final int DATAGRAM_GENERATION_BITS = 7;
    private static final int NUMBER_BITS = DATAGRAM_BIT - 1;
    private static final int KEY_GENERATION_BITS = 8;

    /** By key, for the requests of peers. */
    final HandleTable<SharedMemoryRegion> regions =
            new HandleTable<>(KEY_GENERATION_BITS, SharedMemoryDevice.MAX_REGIONS);
    final PortTable ports = new PortTable(this);
    final Deadlines deadlines = new Deadlines();
    final Links links = new Links(this);
    /** Memory for connections within this process. */
    final Slabs slabs = new Slabs(null);
    /** The last number of a protection domain; none is used again. */
    final AtomicLong lastDomain = new AtomicLong();
    private final AtomicInteger lastNumber = new AtomicInteger();
    final SharedMemoryDevice device = new SharedMemoryDevice(this);

    final boolean linksOnly;
    /** Open identifiers, which hear when the device is removed. */
    final Set<SharedMemoryIdentifier> identifiers
            = Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));
    /** Whether the device was removed. */
    volatile boolean removed;
    /** Made when the first datagrams are sent, as is the next; written under this monitor. */
    private HandleTable<DatagramQueuePair> datagrams;
    private volatile DatagramPorts datagramPorts;

    /** An empty fabric with its device; {@code linksOnly} to reach even this process by a link, for tests. */
    SharedMemoryFabric(boolean linksOnly) {
        this.linksOnly = linksOnly;
    }

    /** The queue pairs for datagrams, by their numbers but for {@link #DATAGRAM_BIT}. */
    synchronized HandleTable<DatagramQueuePair> datagrams() {
        if (datagrams == null) {
            datagrams = new HandleTable<>(DATAGRAM_GENERATION_BITS, (DATAGRAM_BIT >> DATAGRAM_GENERATION_BITS) - 1);
        }
        return datagrams;
    }

    /** The ports for datagrams. */
    synchronized DatagramPorts datagramPorts() {
        datagramPorts = datagramPorts == null ? new DatagramPorts(this) : datagramPorts;
        return datagramPorts;
    }

    /** A link over which datagrams may have gone has ended. */
    void datagramLinkEnded() {
        DatagramPorts made = datagramPorts;
        if (made != null) {
            made.lookAgain();
        }
    }

    /** Behaves as if the device were unplugged, for tests: everything fails, and nothing new can be had. */
    void removeDevice() {
        removed = true;
        device.report(new DeviceEvent(DeviceEvent.Type.DEVICE_FATAL, 0, null, 0, 0));
        List.copyOf(identifiers).forEach(SharedMemoryIdentifier::deviceRemoved);
    }

    /** A number for a connected queue pair, of 24 bits, the highest of which is 0; not used again soon. */
    int nextQueuePairNumber() {
        int number = lastNumber.incrementAndGet() & NUMBER_BITS;
        return number != 0 ? number : lastNumber.incrementAndGet() & NUMBER_BITS;
    }
}
