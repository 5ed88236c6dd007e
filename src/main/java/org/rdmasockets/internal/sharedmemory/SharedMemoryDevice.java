package org.rdmasockets.internal.sharedmemory;

import java.util.ArrayDeque;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.GidEntry;
import org.rdmasockets.verbs.PortAttributes;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;

/** The one device: the memory of this host. It has one port, which is always active. */
final class SharedMemoryDevice extends ReadySource implements Device {
    /** The device's name. */
    static final String NAME = "sharedmemory";
    /** Most entries of a completion queue. */
    static final int MAX_COMPLETIONS = 1 << 20;
    /** Most memory regions of a process. */
    static final int MAX_REGIONS = 1 << 20;
    /** Largest memory region. */
    static final long MAX_REGION_BYTES = 1L << 40;
    /** Largest message. */
    static final int MAX_MESSAGE_BYTES = 1 << 30;
    /** Most bytes that are granted inline; every post copies, so this is only a number to grant. */
    static final int MAX_INLINE_BYTES = 1024;

    private static final int MAX_REQUESTS = 1 << 16;
    private static final int MAX_ELEMENTS = 32;
    /** Bytes of a packet, and of the longest datagram. */
    static final int MTU_BYTES = 4096;
    private static final DeviceInfo INFO = new DeviceInfo(NAME, 0, TransportType.SHARED_MEMORY);
    private static final DeviceAttributes ATTRIBUTES = new DeviceAttributes("", 1, MAX_REGION_BYTES, 1 << 20,
            MAX_REQUESTS, MAX_ELEMENTS, 1 << 20, MAX_COMPLETIONS, MAX_REGIONS, 1 << 20, 255, 255);
    private static final Set<Capability> CAPABILITIES = EnumSet.of(Capability.IMMEDIATE_DATA, Capability.ATOMICS,
            Capability.RESIZE_COMPLETION_QUEUE, Capability.EMPTY_RECEIVE, Capability.QUERY_STATE,
            Capability.RECEIVER_NOT_READY_RETRY, Capability.COMPLETION_IS_DELIVERY, Capability.COPIES_AT_POST,
            Capability.SHARED_RECEIVE_QUEUES, Capability.DATAGRAMS);

    final SharedMemoryFabric fabric;
    /** Guarded by itself. */
    private final ArrayDeque<DeviceEvent> events = new ArrayDeque<>();

    SharedMemoryDevice(SharedMemoryFabric fabric) {
        this.fabric = fabric;
    }

    /** Refuses sizes that this device does not have; those of receives only if the queue pair has any itself. */
    static void checkSizes(String call, QueuePairConfig config, boolean withReceives) throws VerbsException {
        check(call, "maxSends", config.maxSends(), MAX_REQUESTS);
        check(call, "maxSendElements", config.maxSendElements(), MAX_ELEMENTS);
        if (withReceives) {
            checkReceives(call, config.maxReceives(), config.maxReceiveElements());
        }
    }

    /** Refuses numbers of receives and of their elements that this device does not have. */
    static void checkReceives(String call, int receives, int elements) throws VerbsException {
        check(call, "maxReceives", receives, MAX_REQUESTS);
        check(call, "maxElements", elements, MAX_ELEMENTS);
    }

    private static void check(String call, String name, int value, int most) throws VerbsException {
        if (value > most) {
            throw SharedMemoryErrors.invalid(call, name + "=" + value, "this device has at most " + most);
        }
    }

    @Override
    public DeviceInfo info() {
        return INFO;
    }

    @Override
    public DeviceAttributes attributes() {
        return ATTRIBUTES;
    }

    @Override
    public boolean supports(Capability capability) {
        return CAPABILITIES.contains(capability);
    }

    @Override
    public PortAttributes port(int portNumber) throws VerbsException {
        checkPort("ibv_query_port", portNumber);
        return new PortAttributes(PortAttributes.State.ACTIVE, PortAttributes.LinkLayer.UNSPECIFIED, MTU_BYTES,
                MTU_BYTES, MAX_MESSAGE_BYTES, 0, 1);
    }

    @Override
    public Gid gid(int portNumber, int index) throws VerbsException {
        checkPort("ibv_query_gid", portNumber);
        if (index != 0) {
            throw SharedMemoryErrors.invalid("ibv_query_gid", "device=" + this + ", index=" + index,
                    "there is one entry, 0");
        }
        return Datagram.GID;
    }

    @Override
    public List<GidEntry> gidTable(int portNumber) throws VerbsException {
        return List.of(new GidEntry(portNumber, 0, gid(portNumber, 0), GidEntry.Type.UNKNOWN, 0));
    }

    /** Refuses a port that this device does not have. */
    void checkPort(String call, int portNumber) throws VerbsException {
        if (portNumber != 1) {
            throw SharedMemoryErrors.invalid(call, "device=" + this + ", port=" + portNumber,
                    "the device has one port, 1");
        }
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() {
        return new SharedMemoryProtectionDomain(this, null, false);
    }

    @Override
    public CompletionChannel createCompletionChannel() {
        return new SharedMemoryCompletionChannel(this);
    }

    @Override
    public CompletionQueue createCompletionQueue(int entries, CompletionChannel channel) throws VerbsException {
        if (entries < 1 || entries > MAX_COMPLETIONS) {
            throw SharedMemoryErrors.invalid("ibv_create_cq", "device=" + this + ", entries=" + entries,
                    "this device's completion queues have 1 to " + MAX_COMPLETIONS + " entries");
        }
        if (channel == null) {
            return new SharedMemoryCompletionQueue(this, entries, null);
        }
        if (!(channel instanceof SharedMemoryCompletionChannel own) || own.device() != this) {
            throw new IllegalArgumentException("the completion channel belongs to another device");
        }
        SharedMemoryErrors.requireOpen(!own.closed, "ibv_create_cq", "completion channel");
        return new SharedMemoryCompletionQueue(this, entries, own);
    }

    /** Reports something to the thread that drains the events. */
    void report(DeviceEvent event) {
        synchronized (events) {
            events.add(event);
            ready = true;
        }
        signal();
    }

    @Override
    public void drainEvents(Consumer<? super DeviceEvent> handler) {
        DeviceEvent event = next();
        while (event != null) {
            handler.accept(event);
            event = next();
        }
    }

    private DeviceEvent next() {
        synchronized (events) {
            DeviceEvent event = events.poll();
            ready = !events.isEmpty();
            return event;
        }
    }

    @Override
    public void close() {
        // The process keeps it.
    }

    @Override
    public String toString() {
        return NAME;
    }
}
