package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.rdmasockets.internal.ibverbs.generated.ibv_async_event;
import org.rdmasockets.internal.ibverbs.generated.ibv_device_attr;
import org.rdmasockets.internal.ibverbs.generated.ibv_gid;
import org.rdmasockets.internal.ibverbs.generated.ibv_gid_entry;
import org.rdmasockets.internal.ibverbs.generated.ibv_port_attr;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.DeviceEvent.Type;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.GidEntry;
import org.rdmasockets.verbs.PortAttributes;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;

/** A device over a context of librdmacm, which lives as long as the process. */
final class IbverbsDevice implements Device, Pollable {
    /** A first guess: the kernel says EINVAL for a table that is too small, and tables have at most some hundreds. */
    private static final int FEW_GIDS = 256;
    private static final int MANY_GIDS = 1 << 16;
    /** By number, from {@code IBV_GID_TYPE_IB}, which is 0. */
    private static final GidEntry.Type[] GID_TYPES = {GidEntry.Type.INFINIBAND, GidEntry.Type.ROCE_V1,
        GidEntry.Type.ROCE_V2};
    /** By number, from {@code IBV_EVENT_CQ_ERR}, which is 0. */
    private static final Type[] EVENT_TYPES = {Type.COMPLETION_QUEUE_ERROR, Type.QUEUE_PAIR_FATAL,
        Type.QUEUE_PAIR_REQUEST_ERROR, Type.QUEUE_PAIR_ACCESS_ERROR, Type.COMMUNICATION_ESTABLISHED,
        Type.SEND_QUEUE_DRAINED, Type.PATH_MIGRATED, Type.PATH_MIGRATION_FAILED, Type.DEVICE_FATAL, Type.PORT_ACTIVE,
        Type.PORT_ERROR, Type.LID_CHANGE, Type.PARTITION_KEY_CHANGE, Type.SUBNET_MANAGER_CHANGE,
        Type.SHARED_RECEIVE_QUEUE_ERROR, Type.SHARED_RECEIVE_QUEUE_LIMIT, Type.LAST_SHARED_RECEIVE,
        Type.CLIENT_REREGISTER, Type.GID_CHANGE, Type.WORK_QUEUE_FATAL};

    /** Of 32 bytes each: a MiB, 256 pages. */
    private static final int SIW_ENTRIES = 32_768;

    final MemorySegment context;
    private final DeviceInfo info;
    private final DeviceAttributes attributes;
    private final Set<Capability> capabilities;
    final MemorySegment pollCq;
    final MemorySegment requestNotification;
    final MemorySegment postSend;
    final MemorySegment postReceive;
    final MemorySegment postSharedReceive;
    final ControlCall allocateWindow;
    final ControlCall deallocateWindow;
    /** Address of each completion queue that exists, to name it in events. */
    private final Map<Long, IbverbsCompletionQueue> queues = new ConcurrentHashMap<>();
    /** Address of each shared receive queue that exists, to name it in events. */
    private final Map<Long, IbverbsSharedReceiveQueue> sharedReceives = new ConcurrentHashMap<>();
    /** Inline size that was granted when more was refused: no attribute tells it. A hint, so races do no harm. */
    volatile int inlineLimit = Integer.MAX_VALUE;
    /** Whether the last scan found it; guarded by the device table. */
    boolean present = true;

    /** A device by its context, which is never closed; throws if its limits cannot be read. */
    IbverbsDevice(MemorySegment context, DeviceInfo info) throws VerbsException {
        this.context = context;
        this.info = info;
        pollCq = function(rdma_h.IBV_CONTEXT_POLL_CQ());
        requestNotification = function(rdma_h.IBV_CONTEXT_REQ_NOTIFY_CQ());
        postSend = function(rdma_h.IBV_CONTEXT_POST_SEND());
        postReceive = function(rdma_h.IBV_CONTEXT_POST_RECV());
        postSharedReceive = function(rdma_h.IBV_CONTEXT_POST_SRQ_RECV());
        allocateWindow = new ControlCall("ibv_alloc_mw", function(rdma_h.IBV_CONTEXT_ALLOC_MW()));
        deallocateWindow = new ControlCall("ibv_dealloc_mw", function(rdma_h.IBV_CONTEXT_DEALLOC_MW()));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_device_attr.allocate(arena);
            ControlCall.IBV_QUERY_DEVICE.check("device=" + info.name(), context, attr);
            DeviceFacts facts = new DeviceFacts(context, info.transport(), attr);
            attributes = facts.attributes();
            capabilities = facts.capabilities();
            if (facts.siw) {
                takeReservedKeyOfSiw();
            }
        }
        Pollable.makeNonBlocking(descriptor());
    }

    /**
     * Keeps soft-iWARP from failing at the 145th page of its queues. Called before any queue is made.
     *
     * <p>The kernel's siw numbers the pages of all queues of a context, the lowest free first, and tells the user
     * library where a new queue begins as a key, the byte offset for {@code mmap}. The user library takes one such key
     * for "there is none": {@code SIW_INVAL_UOBJ_KEY} of {@code rdma/siw-abi.h}, 0x90000, page 144. A queue that begins
     * just there fails, without errno; that frees the page, and so does every later queue of that size or more: with
     * about fifty connections open there would be no further one. So the page is taken, once for each context, before
     * anything else is made: by a completion queue that begins before it, ends behind it and is never destroyed.
     */
    private void takeReservedKeyOfSiw() throws VerbsException {
        ControlCall.IBV_CREATE_CQ.pointer("device=" + info.name() + ", entries=" + SIW_ENTRIES, context, SIW_ENTRIES,
                MemorySegment.NULL, MemorySegment.NULL, 0);
    }

    /** A function of the driver, which the inline functions of {@code infiniband/verbs.h} call. */
    private MemorySegment function(int offset) {
        return IbverbsCalls.pointerAt(context, offset);
    }

    @Override
    public DeviceInfo info() {
        return info;
    }

    @Override
    public DeviceAttributes attributes() {
        return attributes;
    }

    @Override
    public boolean supports(Capability capability) {
        return capabilities.contains(capability);
    }

    /** Refuses a call that this device lacks the capability for. */
    void require(Capability capability, ControlCall call, String arguments, String reason) throws VerbsException {
        if (!supports(capability)) {
            throw new VerbsException(call.name, Errno.EOPNOTSUPP.number(), arguments,
                    reason + " (Capability." + capability + ")");
        }
    }

    @Override
    public PortAttributes port(int portNumber) throws VerbsException {
        checkPort("ibv_query_port", portNumber);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_port_attr.allocate(arena);
            ControlCall.IBV_QUERY_PORT.check("device=" + info.name() + ", port=" + portNumber, context,
                    (byte) portNumber, attr);
            return new PortAttributes(
                    named(PortAttributes.State.values(), ibv_port_attr.state(attr), PortAttributes.State.UNKNOWN),
                    named(PortAttributes.LinkLayer.values(), ibv_port_attr.link_layer(attr),
                            PortAttributes.LinkLayer.UNSPECIFIED),
                    mtuBytes(ibv_port_attr.max_mtu(attr)), mtuBytes(ibv_port_attr.active_mtu(attr)),
                    Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(attr)),
                    Short.toUnsignedInt(ibv_port_attr.lid(attr)), ibv_port_attr.gid_tbl_len(attr));
        }
    }

    /** Refuses a port that this device does not have. */
    void checkPort(String call, int portNumber) throws VerbsException {
        if (portNumber < 1 || portNumber > attributes.ports()) {
            throw new VerbsException(call, Errno.EINVAL.number(), "device=" + info.name() + ", port=" + portNumber,
                    "ports are numbered 1 to " + attributes.ports());
        }
    }

    /** The name of a number of C, by a table from 0 on. */
    static <T> T named(T[] names, int number, T unknown) {
        return number >= 0 && number < names.length ? names[number] : unknown;
    }

    /** {@code enum ibv_mtu}: 1 is 256 bytes, each step doubles; 0 for a number without a name. */
    static int mtuBytes(int number) {
        return number >= rdma_h.IBV_MTU_256() && number <= rdma_h.IBV_MTU_4096() ? 128 << number : 0;
    }

    @Override
    public Gid gid(int portNumber, int index) throws VerbsException {
        checkPort("ibv_query_gid", portNumber);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment gid = ibv_gid.allocate(arena);
            ControlCall.IBV_QUERY_GID.check("device=" + info.name() + ", port=" + portNumber + ", index=" + index,
                    context, (byte) portNumber, index, gid);
            return new Gid(gid.toArray(ValueLayout.JAVA_BYTE));
        }
    }

    @Override
    public List<GidEntry> gidTable(int portNumber) throws VerbsException {
        checkPort("ibv_query_gid_table", portNumber);
        if (ControlCall.IBV_QUERY_GID_TABLE.isMissing()) {
            return Device.super.gidTable(portNumber);
        }
        List<GidEntry> entries;
        try {
            entries = gidTable(portNumber, FEW_GIDS);
        } catch (VerbsException e) {
            entries = gidTable(portNumber, MANY_GIDS);
        }
        return entries.isEmpty() ? Device.super.gidTable(portNumber) : entries;
    }

    /** The call reads the tables of all ports at once. */
    private List<GidEntry> gidTable(int portNumber, int most) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment table = ibv_gid_entry.allocateArray(most, arena);
            long count = ControlCall.IBV_QUERY_GID_TABLE.run(context, table, (long) most, 0, ibv_gid_entry.sizeof());
            if (count < 0) {
                throw ControlCall.IBV_QUERY_GID_TABLE.failure(-count, "device=" + info.name());
            }
            List<GidEntry> entries = new ArrayList<>();
            for (long i = 0; i < count; i++) {
                MemorySegment entry = ibv_gid_entry.asSlice(table, i);
                if (ibv_gid_entry.port_num(entry) == portNumber) {
                    entries.add(new GidEntry(portNumber, ibv_gid_entry.gid_index(entry),
                            new Gid(ibv_gid_entry.gid(entry).toArray(ValueLayout.JAVA_BYTE)),
                            named(GID_TYPES, ibv_gid_entry.gid_type(entry), GidEntry.Type.UNKNOWN),
                            ibv_gid_entry.ndev_ifindex(entry)));
                }
            }
            entries.sort(Comparator.comparingInt(GidEntry::index));
            return entries;
        }
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() throws VerbsException {
        return new IbverbsProtectionDomain(this);
    }

    @Override
    public CompletionChannel createCompletionChannel() throws VerbsException {
        return new IbverbsCompletionChannel(this);
    }

    @Override
    public CompletionQueue createCompletionQueue(int entries, CompletionChannel channel) throws VerbsException {
        IbverbsCompletionQueue queue = new IbverbsCompletionQueue(this, entries, channel);
        queues.put(queue.address(), queue);
        return queue;
    }

    /** Forgets a completion queue that was destroyed. */
    void forget(IbverbsCompletionQueue queue) {
        queues.remove(queue.address(), queue);
    }

    /** Lets events name a shared receive queue. */
    void remember(IbverbsSharedReceiveQueue queue) {
        sharedReceives.put(queue.pointer.address(), queue);
    }

    /** Forgets a shared receive queue that was destroyed. */
    void forget(IbverbsSharedReceiveQueue queue) {
        sharedReceives.remove(queue.pointer.address(), queue);
    }

    @Override
    public void drainEvents(Consumer<? super DeviceEvent> handler) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = ibv_async_event.allocate(arena);
            while (true) {
                int error = ControlCall.IBV_GET_ASYNC_EVENT.error(context, event);
                if (error == Errno.EAGAIN.number()) {
                    return;
                }
                if (error == Errno.EINTR.number()) {
                    continue;
                }
                if (error != 0) {
                    throw ControlCall.IBV_GET_ASYNC_EVENT.failure(error, "device=" + info.name());
                }
                // Copied before it is acknowledged: until then its queue or queue pair cannot be destroyed.
                DeviceEvent copy = event(event, queues, sharedReceives);
                if (copy.type() == Type.SHARED_RECEIVE_QUEUE_LIMIT
                        && copy.sharedReceiveQueue() instanceof IbverbsSharedReceiveQueue queue) {
                    queue.reached();
                }
                ControlCall.IBV_ACK_ASYNC_EVENT.run(event);
                handler.accept(copy);
            }
        }
    }

    /** Copies an {@code ibv_async_event}: its type says which member of the union is valid. */
    static DeviceEvent event(MemorySegment event, Map<Long, ? extends CompletionQueue> queues,
            Map<Long, ? extends SharedReceiveQueue> sharedReceives) {
        MemorySegment element = ibv_async_event.element(event);
        int number = ibv_async_event.event_type(event);
        Type type = named(EVENT_TYPES, number, Type.UNKNOWN);
        return switch (type) {
            case QUEUE_PAIR_FATAL, QUEUE_PAIR_REQUEST_ERROR, QUEUE_PAIR_ACCESS_ERROR, COMMUNICATION_ESTABLISHED,
                    SEND_QUEUE_DRAINED, PATH_MIGRATED, PATH_MIGRATION_FAILED, LAST_SHARED_RECEIVE ->
                    new DeviceEvent(type, ibv_qp.qp_num(ibv_async_event.element.qp(element)), null, 0, number);
            case COMPLETION_QUEUE_ERROR -> new DeviceEvent(type, 0,
                    queues.get(ibv_async_event.element.cq(element).address()), 0, number);
            case SHARED_RECEIVE_QUEUE_ERROR, SHARED_RECEIVE_QUEUE_LIMIT -> new DeviceEvent(type, 0, null, 0, number,
                    sharedReceives.get(ibv_async_event.element.srq(element).address()));
            case PORT_ACTIVE, PORT_ERROR, LID_CHANGE, PARTITION_KEY_CHANGE, SUBNET_MANAGER_CHANGE, CLIENT_REREGISTER,
                    GID_CHANGE -> new DeviceEvent(type, 0, null, ibv_async_event.element.port_num(element), number);
            case WORK_QUEUE_FATAL, DEVICE_FATAL, OTHER, UNKNOWN -> new DeviceEvent(type, 0, null, 0, number);
        };
    }

    @Override
    public int descriptor() {
        return context.get(ValueLayout.JAVA_INT, rdma_h.IBV_CONTEXT_ASYNC_FD());
    }

    @Override
    public boolean tryRetain() {
        return true;
    }

    @Override
    public void release() {
        // The descriptor lives as long as the process.
    }

    @Override
    public boolean isClosed() {
        return false;
    }

    @Override
    public void close() {
        // Shared by the whole process and by every identifier of the connection manager: never closed.
    }

    @Override
    public String toString() {
        return info.name();
    }
}
