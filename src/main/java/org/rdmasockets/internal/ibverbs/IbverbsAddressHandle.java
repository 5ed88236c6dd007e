package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.ibverbs.generated.ibv_ah_attr;
import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.VerbsException;

/** An address handle over {@code ibv_ah}. */
final class IbverbsAddressHandle extends NativeHandle implements AddressHandle {
    private final IbverbsProtectionDomain domain;
    /** The {@code ibv_ah}, for callers that have entered this. */
    final MemorySegment pointer;

    private IbverbsAddressHandle(IbverbsProtectionDomain domain, ControlCall call, int port,
            Making<MemorySegment> making) throws VerbsException {
        super("address handle");
        this.domain = domain;
        IbverbsDevice device = domain.device();
        device.require(Capability.DATAGRAMS, call, "device=" + device, "this device has no datagrams");
        device.checkPort(call.name, port);
        pointer = domain.makeChild(call, making);
    }

    /** Makes a handle from a path. */
    static IbverbsAddressHandle of(IbverbsProtectionDomain domain, int port, QueuePairAttributes.Path path)
            throws VerbsException {
        ControlCall call = ControlCall.IBV_CREATE_AH;
        return new IbverbsAddressHandle(domain, call, port, () -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment attr = ibv_ah_attr.allocate(arena);
                QueuePairAttributeCodec.fill(attr, path, port);
                return call.pointer("device=" + domain.device() + ", port=" + port + ", " + path, domain.pointer,
                        attr);
            }
        });
    }

    /** Makes a handle for an answer to a datagram, of its completion and the memory that it was received in. */
    static IbverbsAddressHandle of(IbverbsProtectionDomain domain, int port, IbverbsWorkCompletions batch, int index,
            MemorySegment received) throws VerbsException {
        ControlCall call = ControlCall.IBV_CREATE_AH_FROM_WC;
        MemorySegment header = received.asSlice(0, ROUTING_HEADER_BYTES);
        return new IbverbsAddressHandle(domain, call, port, () -> {
            try (Arena arena = Arena.ofConfined()) {
                // A copy: what is received may be anywhere, and the library aligns as C does.
                MemorySegment copy = arena.allocate(ROUTING_HEADER_BYTES, Long.BYTES).copyFrom(header);
                MemorySegment completion = batch.copy(index, arena);
                return call.pointer("device=" + domain.device() + ", port=" + port + ", sourceQp="
                        + batch.sourceQueuePairNumber(index) + ", routingHeader=" + batch.hasRoutingHeader(index),
                        domain.pointer, completion, copy, (byte) port);
            }
        });
    }

    @Override
    public ProtectionDomain domain() {
        return domain;
    }

    @Override
    void destroy() {
        ControlCall.IBV_DESTROY_AH.destroy(pointer);
        domain.release();
    }
}
