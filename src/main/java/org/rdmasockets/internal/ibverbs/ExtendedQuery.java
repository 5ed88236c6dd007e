package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.internal.ibverbs.generated.ibv_device_attr_ex;
import org.rdmasockets.internal.ibverbs.generated.ibv_odp_caps;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;

/**
 * The facts that only {@code ibv_query_device_ex} tells. That function is inline C: it finds the driver's function in
 * the structure that the context is the end of, and whose beginning grows from version to version.
 */
final class ExtendedQuery {
    /** {@code __VERBS_ABI_IS_EXTENDED}: there is such a structure. */
    private static final long EXTENDED = -1;

    private ExtendedQuery() {}

    /** Whether a device can take pages when it needs them; false if it does not say. */
    static boolean onDemandPaging(MemorySegment context) {
        if (context.get(ValueLayout.JAVA_LONG, rdma_h.IBV_CONTEXT_ABI_COMPAT()) != EXTENDED) {
            return false;
        }
        long bytes = rdma_h.VERBS_CONTEXT_BYTES();
        MemorySegment around = IbverbsCalls.memory(context.address() - rdma_h.VERBS_CONTEXT_CONTEXT(), bytes);
        boolean known = around.get(ValueLayout.JAVA_LONG, rdma_h.VERBS_CONTEXT_SZ())
                >= bytes - rdma_h.VERBS_CONTEXT_QUERY_DEVICE_EX();
        MemorySegment function = known ? IbverbsCalls.pointerAt(around, rdma_h.VERBS_CONTEXT_QUERY_DEVICE_EX())
                : MemorySegment.NULL;
        if (function.address() == 0) {
            return false;
        }
        ControlCall query = new ControlCall("ibv_query_device_ex", function);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attr = ibv_device_attr_ex.allocate(arena);
            int error = query.error(context, MemorySegment.NULL, attr, attr.byteSize());
            long caps = ibv_odp_caps.general_caps(ibv_device_attr_ex.odp_caps(attr));
            return error == 0 && (caps & rdma_h.IBV_ODP_SUPPORT()) != 0;
        }
    }
}
