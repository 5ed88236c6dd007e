package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.rdmasockets.internal.ffi.PageSize;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.DmaBuffer;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.MemoryWindow;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/** A protection domain over {@code ibv_pd}. */
final class IbverbsProtectionDomain extends NativeHandle implements ProtectionDomain {
    /** Of the whole process: a block that one device no longer touches may serve another. */
    private static final MemoryBlocks BLOCKS = new MemoryBlocks();

    private final IbverbsDevice device;
    /** The {@code ibv_pd}, for callers that retain this. */
    final MemorySegment pointer;

    /** Allocates a domain; throws if the device has no more. */
    IbverbsProtectionDomain(IbverbsDevice device) throws VerbsException {
        super("protection domain");
        this.device = device;
        pointer = ControlCall.IBV_ALLOC_PD.pointer("device=" + device, device.context);
    }

    @Override
    public IbverbsDevice device() {
        return device;
    }

    @Override
    public MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException {
        Objects.requireNonNull(access);
        if (!memory.isNative() || memory.byteSize() == 0) {
            throw new IllegalArgumentException("only native memory of at least one byte can be registered, not "
                    + memory);
        }
        return register(memory, access, ownersMemory -> { });
    }

    @Override
    public MemoryRegion allocate(long bytes, Set<AccessFlag> access) throws VerbsException {
        Objects.requireNonNull(access);
        if (bytes < 1) {
            throw new IllegalArgumentException("at least one byte can be allocated, not " + bytes);
        }
        MemorySegment block;
        try {
            block = BLOCKS.take(bytes);
        } catch (OutOfMemoryError e) {
            throw new VerbsException("malloc", Errno.ENOMEM.number(), "lengthBytes=" + bytes, e.getMessage());
        }
        try {
            return register(block, access, BLOCKS::giveBack);
        } catch (Throwable e) {
            BLOCKS.giveBack(block);
            throw e;
        }
    }

    private MemoryRegion register(MemorySegment memory, Set<AccessFlag> access, Consumer<MemorySegment> afterwards)
            throws VerbsException {
        checkAccess(memory, access);
        return makeChild(ControlCall.IBV_REG_MR,
                () -> new IbverbsMemoryRegion(this, memory, Set.copyOf(access), afterwards));
    }

    @Override
    public MemoryRegion registerDmaBuffer(DmaBuffer buffer, Set<AccessFlag> access) throws VerbsException {
        String text = "device=" + device + ", " + buffer + ", access=" + access;
        if (access.stream().anyMatch(flag -> flag.capability().isPresent())) {
            throw new VerbsException(ControlCall.IBV_REG_DMABUF_MR.name, Errno.EINVAL.number(), text,
                    "memory of a DMA-BUF takes the access flags for the local device and peers, and RELAXED_ORDERING");
        }
        return makeChild(ControlCall.IBV_REG_DMABUF_MR,
                () -> new IbverbsMemoryRegion(this, buffer, Set.copyOf(access)));
    }

    private void checkAccess(MemorySegment memory, Set<AccessFlag> access) throws VerbsException {
        for (AccessFlag flag : access) {
            if (flag.capability().isPresent()) {
                device.require(flag.capability().get(), ControlCall.IBV_REG_MR,
                        IbverbsMemoryRegion.text(memory.byteSize(), access), device + " does not know " + flag);
            }
        }
        if (access.contains(AccessFlag.ZERO_BASED) && PageSize.roundUp(memory.address()) != memory.address()) {
            throw new VerbsException(ControlCall.IBV_REG_MR.name, Errno.EINVAL.number(),
                    IbverbsMemoryRegion.text(memory.byteSize(), access),
                    "memory whose addresses are offsets has to begin at a page of " + PageSize.BYTES + " bytes");
        }
    }

    @Override
    public MemoryWindow allocateMemoryWindow() throws VerbsException {
        return new IbverbsMemoryWindow(this);
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig config) throws VerbsException {
        return create(QueuePairType.RELIABLE_CONNECTION, config, null);
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig config, SharedReceiveQueue receives) throws VerbsException {
        return create(QueuePairType.RELIABLE_CONNECTION, config, QueuePairParents.own(receives));
    }

    @Override
    public SharedReceiveQueue createSharedReceiveQueue(int maxReceives, int maxElements) throws VerbsException {
        if (maxReceives < 1 || maxElements < 1) {
            throw new IllegalArgumentException("a shared receive queue has at least one receive of one element, not "
                    + maxReceives + " of " + maxElements);
        }
        return new IbverbsSharedReceiveQueue(this, maxReceives, maxElements);
    }

    @Override
    public QueuePair createDatagramQueuePair(QueuePairConfig config) throws VerbsException {
        return create(QueuePairType.UNRELIABLE_DATAGRAM, config, null);
    }

    private QueuePair create(QueuePairType type, QueuePairConfig config, IbverbsSharedReceiveQueue receives)
            throws VerbsException {
        return new QueuePairParents(this, type, config, receives).create(null);
    }

    @Override
    public AddressHandle createAddressHandle(int portNumber, QueuePairAttributes.Path path) throws VerbsException {
        return IbverbsAddressHandle.of(this, portNumber, path);
    }

    @Override
    public AddressHandle createAddressHandle(int portNumber, WorkCompletions batch, int index, MemorySegment received)
            throws VerbsException {
        return IbverbsAddressHandle.of(this, portNumber, (IbverbsWorkCompletions) batch, index, received);
    }

    @Override
    void destroy() {
        ControlCall.IBV_DEALLOC_PD.destroy(pointer);
    }
}
