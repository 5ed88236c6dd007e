package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.rdmasockets.internal.ibverbs.generated.ibv_mr;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.DmaBuffer;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.VerbsException;

/** Registered memory over {@code ibv_mr}. */
final class IbverbsMemoryRegion extends NativeHandle implements MemoryRegion {
    /** Memory that could not be deregistered: the device may still write to it, so it has to stay for ever. */
    private static final Queue<MemorySegment> LOST = new ConcurrentLinkedQueue<>();

    final IbverbsProtectionDomain domain;
    private final Consumer<MemorySegment> afterwards;
    private final MemorySegment memory;
    private final Set<AccessFlag> access;
    /** The address by which requests name the first byte. */
    private final long address;
    private final long lengthBytes;
    /** The {@code ibv_mr}, for callers that have entered this. */
    final MemorySegment pointer;
    private final int localKey;
    private final int remoteKey;

    /**
     * Registers memory, held strongly until it is deregistered, and given to {@code afterwards} once the device no
     * longer touches it; the caller has retained the domain.
     */
    IbverbsMemoryRegion(IbverbsProtectionDomain domain, MemorySegment memory, Set<AccessFlag> access,
            Consumer<MemorySegment> afterwards) throws VerbsException {
        super("memory region");
        this.domain = domain;
        this.afterwards = afterwards;
        this.memory = memory;
        this.access = access;
        lengthBytes = memory.byteSize();
        address = access.contains(AccessFlag.ZERO_BASED) ? 0 : memory.address();
        pointer = register();
        localKey = ibv_mr.lkey(pointer);
        remoteKey = ibv_mr.rkey(pointer);
    }

    /** Registers memory of another device; the caller has retained the domain. */
    IbverbsMemoryRegion(IbverbsProtectionDomain domain, DmaBuffer buffer, Set<AccessFlag> access)
            throws VerbsException {
        super("memory region");
        this.domain = domain;
        this.afterwards = nothing -> { };
        this.memory = MemorySegment.NULL;
        this.access = access;
        lengthBytes = buffer.lengthBytes();
        address = buffer.address();
        pointer = ControlCall.IBV_REG_DMABUF_MR.pointer("device=" + domain.device() + ", " + buffer + ", access="
                + access, domain.pointer, buffer.offsetBytes(), lengthBytes, address, buffer.descriptor(),
                AccessBits.of(access));
        localKey = ibv_mr.lkey(pointer);
        remoteKey = ibv_mr.rkey(pointer);
    }

    /** Whether the processor can read it by its segment. */
    boolean isInProcess() {
        return memory.address() != 0;
    }

    /** Not every library knows optional flags in the older call. A base of 0 is an address, and no flag, to drivers. */
    private MemorySegment register() throws VerbsException {
        int bits = AccessBits.of(access) & ~rdma_h.IBV_ACCESS_ZERO_BASED();
        boolean plain = address == memory.address() && (bits & rdma_h.IBV_ACCESS_OPTIONAL_RANGE()) == 0;
        return plain ? ControlCall.IBV_REG_MR.pointer(this, domain.pointer, memory, memory.byteSize(), bits)
                : ControlCall.IBV_REG_MR_IOVA2.pointer(this, domain.pointer, memory, memory.byteSize(), address,
                        bits);
    }

    @Override
    public MemorySegment segment() {
        return memory;
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public long lengthBytes() {
        return lengthBytes;
    }

    @Override
    public int localKey() {
        return localKey;
    }

    @Override
    public int remoteKey() {
        return remoteKey;
    }

    @Override
    public Set<AccessFlag> access() {
        return access;
    }

    @Override
    public String toString() {
        return text(lengthBytes, access);
    }

    /** The arguments that matter to a person. */
    static String text(long lengthBytes, Set<AccessFlag> access) {
        return "lengthBytes=" + lengthBytes + ", access=" + access;
    }

    @Override
    void destroy() {
        if (ControlCall.IBV_DEREG_MR.destroy(pointer)) {
            afterwards.accept(memory);
        } else {
            LOST.add(memory);
        }
        domain.release();
    }
}
