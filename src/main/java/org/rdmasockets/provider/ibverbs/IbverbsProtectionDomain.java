package org.rdmasockets.provider.ibverbs;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;

/** A protection domain over {@code ibv_pd}. */
final class IbverbsProtectionDomain extends NativeHandle implements ProtectionDomain {
    private final IbverbsDevice device;
    private final MemorySegment domain;

    /**
     * Allocates a domain.
     *
     * @param device the parent
     * @throws VerbsException if the device has no more
     */
    IbverbsProtectionDomain(IbverbsDevice device) throws VerbsException {
        this.device = device;
        domain = ControlCalls.IBV_ALLOC_PD.pointer("device=" + device, device.context());
    }

    /** The {@code ibv_pd}, for callers that retain this. */
    MemorySegment pointer() {
        return domain;
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException {
        Objects.requireNonNull(access);
        if (!memory.isNative() || memory.byteSize() == 0) {
            throw new IllegalArgumentException("only native memory of at least one byte can be registered, not "
                    + memory);
        }
        retain(ControlCalls.IBV_REG_MR);
        boolean registered = false;
        try {
            MemoryRegion region = new IbverbsMemoryRegion(this, memory, Set.copyOf(access));
            registered = true;
            return region;
        } finally {
            if (!registered) {
                release();
            }
        }
    }

    @Override
    public QueuePair createQueuePair(QueuePairConfig config) throws VerbsException {
        return QueuePairFactory.create(this, null, config);
    }

    @Override
    String what() {
        return "protection domain";
    }

    @Override
    void destroy() {
        Destruction.check(ControlCalls.IBV_DEALLOC_PD, domain);
    }
}
