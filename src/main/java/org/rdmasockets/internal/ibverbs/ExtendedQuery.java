package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.ibverbs.generated.ibv_context;
import org.rdmasockets.internal.ibverbs.generated.ibv_device_attr_ex;
import org.rdmasockets.internal.ibverbs.generated.ibv_odp_caps;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.internal.ibverbs.generated.verbs_context;

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
        if (ibv_context.abi_compat(context).address() != EXTENDED) {
            return false;
        }
        long bytes = verbs_context.sizeof();
        MemorySegment around = IbverbsCalls.memory(context.address() - verbs_context.context$offset(), bytes);
        boolean known = verbs_context.sz(around) >= bytes - verbs_context.query_device_ex$offset();
        MemorySegment function = known ? verbs_context.query_device_ex(around) : MemorySegment.NULL;
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
