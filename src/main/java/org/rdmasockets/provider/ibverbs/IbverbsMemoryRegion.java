package org.rdmasockets.provider.ibverbs;

import java.lang.foreign.MemorySegment;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.rdmasockets.provider.ibverbs.generated.ibv_mr;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.VerbsException;

/** Registered memory over {@code ibv_mr}. */
final class IbverbsMemoryRegion extends NativeHandle implements MemoryRegion {
    /** Memory that could not be deregistered: the device may still write to it, so it has to stay for ever. */
    private static final Queue<MemorySegment> LOST = new ConcurrentLinkedQueue<>();

    private final IbverbsProtectionDomain domain;
    private final Consumer<MemorySegment> afterwards;
    private final MemorySegment memory;
    private final Set<AccessFlag> access;
    private final MemorySegment region;
    private final int localKey;
    private final int remoteKey;

    /**
     * Registers memory; the caller has retained the domain.
     *
     * @param domain the parent
     * @param memory native memory, held strongly until it is deregistered
     * @param access what may be done to it
     * @param afterwards gets the memory once the device no longer touches it
     * @throws VerbsException if the device refuses
     */
    IbverbsMemoryRegion(IbverbsProtectionDomain domain, MemorySegment memory, Set<AccessFlag> access,
            Consumer<MemorySegment> afterwards) throws VerbsException {
        this.domain = domain;
        this.afterwards = afterwards;
        this.memory = memory;
        this.access = access;
        region = ControlCalls.IBV_REG_MR.pointer("lengthBytes=" + memory.byteSize() + ", access=" + access,
                domain.pointer(), memory, memory.byteSize(), AccessBits.of(access));
        localKey = ibv_mr.lkey(region);
        remoteKey = ibv_mr.rkey(region);
    }

    @Override
    public MemorySegment segment() {
        return memory;
    }

    @Override
    public long address() {
        return memory.address();
    }

    @Override
    public long lengthBytes() {
        return memory.byteSize();
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
    String what() {
        return "memory region";
    }

    @Override
    void destroy() {
        if (Destruction.check(ControlCalls.IBV_DEREG_MR, region)) {
            afterwards.accept(memory);
        } else {
            LOST.add(memory);
        }
        domain.release();
    }
}
