package org.rdmasockets.internal.sharedmemory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.rdmasockets.internal.lock.HandleTable;
import org.rdmasockets.internal.sharedmemory.link.OwnMemory;
import org.rdmasockets.internal.sharedmemory.link.Slabs;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.DmaBuffer;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.MemoryWindow;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/** A protection domain: an identity that regions and queue pairs have in common. */
final class SharedMemoryProtectionDomain implements ProtectionDomain {
    /** Memory is allocated in multiples of this, and begins at one: no page is smaller. */
    private static final long UNIT_BYTES = 4096;

    private static final Set<AccessFlag> REMOTE = Set.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_ATOMIC);

    private static final LinkDispatcher[] NO_ENDS = {};

    private final SharedMemoryDevice device;
    final long number;
    /** The one link that this domain is for, or null. */
    private final LinkDispatcher home;
    /** Whether this domain is for connections within this process only. */
    private final boolean local;
    /** Open regions that other processes can map; there are hardly ever any; guarded by this. */
    private List<SharedMemoryRegion> shared = List.of();
    /**
     * Links to the processes that this domain has connections to, each once; mostly one; replaced, never changed. Null
     * once this is closed. Written under this monitor.
     */
    private volatile LinkDispatcher[] ends = NO_ENDS;

    /** The way to this host, which is the only one. */
    final class Handle implements AddressHandle {
        volatile boolean closed;

        @Override
        public ProtectionDomain domain() {
            return SharedMemoryProtectionDomain.this;
        }

        @Override
        public void close() {
            closed = true;
        }
    }

    /** A domain for connections over {@code home}; if that is null, within this process if {@code local}, else any. */
    SharedMemoryProtectionDomain(SharedMemoryDevice device, LinkDispatcher home, boolean local) {
        this.device = device;
        this.home = home;
        this.local = local;
        number = device.fabric.lastDomain.incrementAndGet();
    }

    /** Whether connections over a link, or with null within this process, may have this domain. */
    boolean serves(LinkDispatcher end) {
        return servesAll() || home == end;
    }

    /** Whether connections to any process may have this domain. */
    boolean servesAll() {
        return home == null && !local;
    }

    /** Whether close was called: no more children. */
    boolean isClosed() {
        return ends == null;
    }

    @Override
    public SharedMemoryDevice device() {
        return device;
    }

    @Override
    public MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException {
        if (!memory.isNative() || memory.byteSize() == 0) {
            throw new IllegalArgumentException("only native memory of at least one byte can be registered, not "
                    + memory);
        }
        return take(memory, access, null);
    }

    @Override
    public MemoryRegion allocate(long bytes, Set<AccessFlag> access) throws VerbsException {
        if (bytes < 1) {
            throw new IllegalArgumentException("at least one byte can be allocated, not " + bytes);
        }
        long units = (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
        if (units < bytes || units > SharedMemoryDevice.MAX_REGION_BYTES) {
            throw new VerbsException("ibv_reg_mr", Errno.ENOMEM.number(), "lengthBytes=" + bytes, "at most "
                    + SharedMemoryDevice.MAX_REGION_BYTES + " bytes");
        }
        boolean unseen = Collections.disjoint(access, REMOTE);
        if ((local || home != null) && units <= Slabs.MOST_SLICE_BYTES) {
            // A slice of memory that is mapped already: of the link's slabs if the other process has to see it.
            boolean seen = !unseen && !local && home.isOpen();
            return takeOwn((seen ? home.link.slabs() : device.fabric.slabs).allocate(units), access, seen);
        }
        return unseen ? allocateHere(units, access)
                : takeOwn(device.fabric.links.hub().allocate(units), access, true);
    }

    /** Memory that no other process will reach: the collector may free it. */
    private SharedMemoryRegion allocateHere(long bytes, Set<AccessFlag> access) throws VerbsException {
        try {
            return take(Arena.ofAuto().allocate(bytes, UNIT_BYTES), access, null);
        } catch (OutOfMemoryError e) {
            throw new VerbsException("malloc", Errno.ENOMEM.number(), "lengthBytes=" + bytes, e.getMessage());
        }
    }

    /** Makes a region of memory of this library, which other processes see or not; closes the memory if it throws. */
    private SharedMemoryRegion takeOwn(OwnMemory source, Set<AccessFlag> access, boolean seen) throws VerbsException {
        SharedMemoryRegion region = null;
        try {
            region = take(source.segment(), access, source);
            if (seen && source instanceof Slabs.Slice slice) {
                slice.publish(region.remoteKey(), access, number);
            } else if (seen) {
                announce(region);
            }
            return region;
        } catch (Throwable e) {
            if (region != null) {
                region.close();
            } else {
                source.close();
            }
            throw e;
        }
    }

    private SharedMemoryRegion take(MemorySegment memory, Set<AccessFlag> access, OwnMemory source)
            throws VerbsException {
        SharedMemoryErrors.requireOpen(!isClosed(), "ibv_reg_mr", "protection domain");
        for (AccessFlag flag : access) {
            if (flag.capability().isPresent() && !device.supports(flag.capability().get())) {
                throw new VerbsException("ibv_reg_mr", Errno.EOPNOTSUPP.number(), text(memory, access),
                        flag + " is for devices with Capability."
                        + flag.capability().get() + ": this one copies by addresses of the process");
            }
        }
        boolean changes = access.contains(AccessFlag.REMOTE_WRITE) || access.contains(AccessFlag.REMOTE_ATOMIC);
        if (changes && !access.contains(AccessFlag.LOCAL_WRITE)) {
            throw SharedMemoryErrors.invalid("ibv_reg_mr", text(memory, access),
                    "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE");
        }
        SharedMemoryRegion region = new SharedMemoryRegion(this, memory, Set.copyOf(access), source);
        int key = device.fabric.regions.reserve();
        if (key == 0) {
            throw new VerbsException("ibv_reg_mr", Errno.ENOMEM.number(), text(memory, access), "there are "
                    + SharedMemoryDevice.MAX_REGIONS + " memory regions already: close some");
        }
        region.key = key;
        device.fabric.regions.put(key, region);
        return region;
    }

    private static String text(MemorySegment memory, Set<AccessFlag> access) {
        return "lengthBytes=" + memory.byteSize() + ", access=" + access;
    }

    /** Gives access to a region to the processes that this domain has connections to. */
    private synchronized void announce(SharedMemoryRegion region) throws VerbsException {
        if (shared.isEmpty()) {
            shared = new ArrayList<>(1);
        }
        shared.add(region);
        if (!isClosed()) {
            for (LinkDispatcher end : ends) {
                announce(region, end);
            }
        }
    }

    private void announce(SharedMemoryRegion region, LinkDispatcher end) throws VerbsException {
        try {
            end.link.announce(region.shared(), region.remoteKey(), region.access(), number);
        } catch (VerbsException e) {
            if (end.isOpen()) {
                throw e;
            }
            ends = Arrays.stream(ends).filter(other -> other != end).toArray(LinkDispatcher[]::new);
        }
    }

    /** Gives another process access to the regions of this domain, later ones too. */
    synchronized void share(LinkDispatcher end) throws VerbsException {
        if (!isClosed() && !Arrays.asList(ends).contains(end)) {
            if (ends.length == 0) {
                ends = end.alone;
            } else {
                ends = Arrays.copyOf(ends, ends.length + 1);
                ends[ends.length - 1] = end;
            }
            for (SharedMemoryRegion region : shared) {
                announce(region, end);
            }
        }
    }

    /** Forgets a region that closes. */
    void forget(SharedMemoryRegion region) {
        device.fabric.regions.remove(region.remoteKey());
        if (region.shared() != null) {
            synchronized (this) {
                if (!shared.isEmpty()) {
                    shared.remove(region);
                }
            }
        }
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig config) throws VerbsException {
        throw new VerbsException("ibv_create_qp", Errno.EOPNOTSUPP.number(), "device=" + device,
                "this device's queue pairs are connected by its connection manager (Capability.MANUAL_CONNECT)");
    }

    @Override
    public SharedReceiveQueue createSharedReceiveQueue(int maxReceives, int maxElements) throws VerbsException {
        if (maxReceives < 1 || maxElements < 1) {
            throw new IllegalArgumentException("a shared receive queue has at least one receive of one element, not "
                    + maxReceives + " of " + maxElements);
        }
        SharedMemoryErrors.requireOpen(!isClosed(), "ibv_create_srq", "protection domain");
        SharedMemoryDevice.checkReceives("ibv_create_srq", maxReceives, maxElements);
        return new SharedMemorySharedReceiveQueue(this, maxReceives, maxElements);
    }

    @Override
    public MemoryRegion registerDmaBuffer(DmaBuffer buffer, Set<AccessFlag> access) throws VerbsException {
        throw new VerbsException("ibv_reg_dmabuf_mr", Errno.EOPNOTSUPP.number(), "device=" + device + ", " + buffer,
                "a DMA-BUF need not have an address in any process, and this device copies by addresses");
    }

    @Override
    public MemoryWindow allocateMemoryWindow() throws VerbsException {
        throw new VerbsException("ibv_alloc_mw", Errno.EOPNOTSUPP.number(), "device=" + device, "another process maps "
                + "memory as a whole, and could not be kept to a window of it (Capability.MEMORY_WINDOWS)");
    }

    @Override
    public QueuePair createDatagramQueuePair(QueuePairConfig config) throws VerbsException {
        QueueOwner.reserve("ibv_create_qp", this, config, null);
        HandleTable<DatagramQueuePair> table = device.fabric.datagrams();
        int handle = 0;
        try {
            handle = table.reserve();
            if (handle == 0) {
                throw new VerbsException("ibv_create_qp", Errno.ENOMEM.number(), "device=" + device,
                        "there are as many queue pairs for datagrams as there can be: close some");
            }
            DatagramQueuePair made = new DatagramQueuePair(this, config, table, handle);
            table.put(handle, made);
            return made;
        } catch (Throwable e) {
            QueueOwner.unreserve(config, null);
            table.remove(handle);
            throw e;
        }
    }

    @Override
    public AddressHandle createAddressHandle(int portNumber, QueuePairAttributes.Path path) throws VerbsException {
        return addressHandle("ibv_create_ah", portNumber, path.destination(), path.sourceGidIndex());
    }

    @Override
    public AddressHandle createAddressHandle(int portNumber, WorkCompletions batch, int index, MemorySegment received)
            throws VerbsException {
        MemorySegment header = received.asSlice(0, AddressHandle.ROUTING_HEADER_BYTES);
        if (!batch.hasRoutingHeader(index)) {
            throw SharedMemoryErrors.invalid("ibv_create_ah_from_wc", "index=" + index,
                    "this completion is not of a datagram");
        }
        return addressHandle("ibv_create_ah_from_wc", portNumber, Datagram.source(header), 0);
    }

    private AddressHandle addressHandle(String call, int portNumber, Gid destination, int sourceIndex)
            throws VerbsException {
        SharedMemoryErrors.requireOpen(!isClosed(), call, "protection domain");
        device.checkPort(call, portNumber);
        if (!destination.equals(Datagram.GID) || sourceIndex != 0) {
            throw SharedMemoryErrors.invalid(call, "destination=" + destination + ", sourceGidIndex=" + sourceIndex,
                    "this device reaches this host only, whose GID is " + Datagram.GID + " at index 0");
        }
        return new Handle();
    }

    @Override
    public synchronized void close() {
        ends = null;
    }
}
