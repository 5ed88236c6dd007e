package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.Set;
import org.rdmasockets.internal.ibverbs.generated.ibv_device_attr;
import org.rdmasockets.internal.ibverbs.generated.ibv_device_attr_ex;
import org.rdmasockets.internal.ibverbs.generated.ibv_odp_caps;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.TransportType;

/**
 * The facts that a device tells of itself ({@code ibv_device_attr}), and where it tells nothing, those that are known
 * of its transport and driver. Used while a device is opened, by one thread.
 */
final class DeviceFacts {
    /** Vendor identifiers that only the software drivers rxe and siw report; no other attribute tells them. */
    static final int VENDOR_RXE = 0xffffff;
    static final int VENDOR_SIW = 0x626d74;
    /** {@code __VERBS_ABI_IS_EXTENDED}: the context is the end of a larger structure. */
    private static final long EXTENDED = -1;
    /**
     * How much larger than on x86-64, whose numbers the generated ones are, a mutex of the C library is here: {@code
     * struct ibv_context} has one. In structures that are allocated or read elsewhere nothing comes behind one.
     */
    private static final int MUTEX_GROWTH = mutexGrowth(System.getProperty("os.arch"));
    /** {@code offsetof(struct ibv_context, abi_compat)}. */
    static final long ABI_COMPAT = rdma_h.IBV_CONTEXT_ABI_COMPAT() + MUTEX_GROWTH;
    /** {@code sizeof(struct verbs_context)}, which ends with an {@code ibv_context}. */
    static final long CONTEXT_BYTES = rdma_h.VERBS_CONTEXT_BYTES() + MUTEX_GROWTH;

    private final MemorySegment context;
    private final TransportType transport;
    private final MemorySegment attr;
    private final boolean rxe;
    final boolean siw;

    DeviceFacts(MemorySegment context, TransportType transport, MemorySegment attr) {
        this.context = context;
        this.transport = transport;
        this.attr = attr;
        rxe = ibv_device_attr.vendor_id(attr) == VENDOR_RXE;
        siw = ibv_device_attr.vendor_id(attr) == VENDOR_SIW;
    }

    /** In bytes: {@code pthread_mutex_t} has 40 on x86-64 and 48 on aarch64. */
    static int mutexGrowth(String architecture) {
        return architecture.equals("aarch64") ? 8 : 0;
    }

    /** Its limits. */
    DeviceAttributes attributes() {
        long maxRegion = ibv_device_attr.max_mr_size(attr);
        return new DeviceAttributes(ibv_device_attr.fw_ver(attr).getString(0),
                Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(attr)),
                // Unsigned: a device without a limit says 2^64 - 1.
                maxRegion < 0 ? Long.MAX_VALUE : maxRegion,
                ibv_device_attr.max_qp(attr), ibv_device_attr.max_qp_wr(attr), ibv_device_attr.max_sge(attr),
                ibv_device_attr.max_cq(attr), ibv_device_attr.max_cqe(attr), ibv_device_attr.max_mr(attr),
                ibv_device_attr.max_pd(attr), ibv_device_attr.max_qp_rd_atom(attr),
                ibv_device_attr.max_qp_init_rd_atom(attr));
    }

    /** Its capabilities. */
    Set<Capability> capabilities() {
        Set<Capability> can = EnumSet.of(Capability.REMOTE_ACCESS_TO_ANY_MEMORY);
        if (transport != TransportType.IWARP) {
            can.addAll(EnumSet.of(Capability.IMMEDIATE_DATA, Capability.EMPTY_RECEIVE,
                    Capability.RECEIVER_NOT_READY_RETRY, Capability.COMPLETION_IS_DELIVERY, Capability.MANUAL_CONNECT,
                    Capability.DATAGRAMS, Capability.RESIZE_COMPLETION_QUEUE));
            add(can, ibv_device_attr.atomic_cap(attr) != rdma_h.IBV_ATOMIC_NONE(), Capability.ATOMICS);
        }
        add(can, !siw, Capability.QUERY_STATE);
        add(can, siw || rxe, Capability.SOFTWARE_TRANSFER);
        add(can, ibv_device_attr.max_srq(attr) > 0, Capability.SHARED_RECEIVE_QUEUES);
        addMemory(can);
        return can;
    }

    private void addMemory(Set<Capability> can) {
        int windows = rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2A() | rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2B();
        boolean hasWindows = (ibv_device_attr.device_cap_flags(attr) & windows) != 0
                && ibv_device_attr.max_mw(attr) > 0;
        add(can, hasWindows, Capability.MEMORY_WINDOWS);
        // rxe compares with the bounds of the region alone.
        add(can, hasWindows && !rxe, Capability.MEMORY_WINDOW_BOUNDS);
        // siw takes no other address than that of the process.
        add(can, !siw, Capability.ZERO_BASED_MEMORY);
        add(can, !siw && !rxe, Capability.HUGE_PAGES);
        add(can, onDemandPaging(context), Capability.ON_DEMAND_PAGING);
    }

    private static void add(Set<Capability> can, boolean able, Capability capability) {
        if (able) {
            can.add(capability);
        }
    }

    /**
     * Whether a device can take pages when it needs them; false if it does not say. Only {@code ibv_query_device_ex}
     * tells. That is inline C: it finds the driver's function in the structure that the context is the end of, and
     * whose beginning grows from version to version.
     */
    static boolean onDemandPaging(MemorySegment context) {
        if (context.get(ValueLayout.JAVA_LONG, ABI_COMPAT) != EXTENDED) {
            return false;
        }
        long bytes = CONTEXT_BYTES;
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
