package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import org.rdmasockets.internal.ffi.Captured;
import org.rdmasockets.internal.ffi.NativeFunction;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * A C function of the control path, under its C name: of libibverbs, of librdmacm, of a device, or of the C library,
 * with the remedies of {@link IbverbsRemedies}. Not for the data path: arguments travel in an array. They are numbers,
 * and memory for pointers. Callers have asked {@link NativeLibraries} first.
 */
final class ControlCall extends NativeFunction {
    static final ControlCall IBV_GET_DEVICE_LIST = new ControlCall("ibv_get_device_list");
    static final ControlCall IBV_FREE_DEVICE_LIST = new ControlCall("ibv_free_device_list");
    static final ControlCall IBV_GET_DEVICE_NAME = new ControlCall("ibv_get_device_name");
    static final ControlCall IBV_GET_DEVICE_GUID = new ControlCall("ibv_get_device_guid");
    static final ControlCall IBV_QUERY_DEVICE = new ControlCall("ibv_query_device");
    static final ControlCall IBV_QUERY_PORT = new ControlCall("ibv_query_port");
    static final ControlCall IBV_QUERY_GID = new ControlCall("ibv_query_gid");
    /** {@code ibv_query_gid_table} is inline C that calls it. */
    static final ControlCall IBV_QUERY_GID_TABLE = new ControlCall("ibv_query_gid_table", "_ibv_query_gid_table",
            null);
    static final ControlCall IBV_ALLOC_PD = new ControlCall("ibv_alloc_pd");
    static final ControlCall IBV_DEALLOC_PD = new ControlCall("ibv_dealloc_pd");
    static final ControlCall IBV_REG_MR = new ControlCall("ibv_reg_mr");
    /** For optional access and addresses of one's own; {@code ibv_reg_mr} of the header calls it for those, too. */
    static final ControlCall IBV_REG_MR_IOVA2 = new ControlCall("ibv_reg_mr_iova2");
    static final ControlCall IBV_REG_DMABUF_MR = new ControlCall("ibv_reg_dmabuf_mr");
    static final ControlCall IBV_DEREG_MR = new ControlCall("ibv_dereg_mr");
    static final ControlCall IBV_CREATE_COMP_CHANNEL = new ControlCall("ibv_create_comp_channel");
    static final ControlCall IBV_DESTROY_COMP_CHANNEL = new ControlCall("ibv_destroy_comp_channel");
    static final ControlCall IBV_CREATE_CQ = new ControlCall("ibv_create_cq");
    static final ControlCall IBV_RESIZE_CQ = new ControlCall("ibv_resize_cq");
    static final ControlCall IBV_DESTROY_CQ = new ControlCall("ibv_destroy_cq");
    static final ControlCall IBV_CREATE_QP = new ControlCall("ibv_create_qp");
    static final ControlCall IBV_QUERY_QP = new ControlCall("ibv_query_qp");
    static final ControlCall IBV_MODIFY_QP = new ControlCall("ibv_modify_qp");
    static final ControlCall IBV_DESTROY_QP = new ControlCall("ibv_destroy_qp");
    static final ControlCall IBV_CREATE_SRQ = new ControlCall("ibv_create_srq");
    static final ControlCall IBV_MODIFY_SRQ = new ControlCall("ibv_modify_srq");
    static final ControlCall IBV_QUERY_SRQ = new ControlCall("ibv_query_srq");
    static final ControlCall IBV_DESTROY_SRQ = new ControlCall("ibv_destroy_srq");
    static final ControlCall IBV_CREATE_AH = new ControlCall("ibv_create_ah");
    static final ControlCall IBV_CREATE_AH_FROM_WC = new ControlCall("ibv_create_ah_from_wc");
    static final ControlCall IBV_DESTROY_AH = new ControlCall("ibv_destroy_ah");
    static final ControlCall IBV_GET_CQ_EVENT = new ControlCall("ibv_get_cq_event");
    static final ControlCall IBV_ACK_CQ_EVENTS = new ControlCall("ibv_ack_cq_events");
    static final ControlCall IBV_GET_ASYNC_EVENT = new ControlCall("ibv_get_async_event");
    static final ControlCall IBV_ACK_ASYNC_EVENT = new ControlCall("ibv_ack_async_event");

    static final ControlCall RDMA_CREATE_EVENT_CHANNEL = new ControlCall("rdma_create_event_channel");
    static final ControlCall RDMA_DESTROY_EVENT_CHANNEL = new ControlCall("rdma_destroy_event_channel");
    static final ControlCall RDMA_GET_CM_EVENT = new ControlCall("rdma_get_cm_event");
    static final ControlCall RDMA_ACK_CM_EVENT = new ControlCall("rdma_ack_cm_event");
    static final ControlCall RDMA_CREATE_ID = new ControlCall("rdma_create_id");
    static final ControlCall RDMA_DESTROY_ID = new ControlCall("rdma_destroy_id");
    static final ControlCall RDMA_SET_OPTION = new ControlCall("rdma_set_option");
    static final ControlCall RDMA_BIND_ADDR = new ControlCall("rdma_bind_addr");
    static final ControlCall RDMA_RESOLVE_ADDR = new ControlCall("rdma_resolve_addr");
    static final ControlCall RDMA_RESOLVE_ROUTE = new ControlCall("rdma_resolve_route");
    static final ControlCall RDMA_LISTEN = new ControlCall("rdma_listen");
    static final ControlCall RDMA_CONNECT = new ControlCall("rdma_connect");
    static final ControlCall RDMA_ACCEPT = new ControlCall("rdma_accept");
    static final ControlCall RDMA_REJECT = new ControlCall("rdma_reject");
    static final ControlCall RDMA_DISCONNECT = new ControlCall("rdma_disconnect");
    static final ControlCall RDMA_CREATE_QP = new ControlCall("rdma_create_qp");
    static final ControlCall RDMA_GET_DEVICES = new ControlCall("rdma_get_devices");
    static final ControlCall RDMA_FREE_DEVICES = new ControlCall("rdma_free_devices");

    static final ControlCall FCNTL = new ControlCall("fcntl");
    static final ControlCall SOCKET = new ControlCall("socket");
    static final ControlCall CONNECT = new ControlCall("connect");
    static final ControlCall GETSOCKNAME = new ControlCall("getsockname");
    static final ControlCall CLOSE = new ControlCall("close");

    /** Of the calling thread: 0, bytes of the mask, the mask. */
    static final ControlCall SCHED_SETAFFINITY = new ControlCall("sched_setaffinity");

    private static final LimitedLog LIMITED = new LimitedLog(new Log(ControlCall.class));

    /** The name that the library has the function under. */
    private final String symbol;
    /** Where the function is, null for one that is looked up. */
    private final MemorySegment function;

    private ControlCall(String name) {
        this(name, name, null);
    }

    /** A function of a device's table, by its C name. */
    ControlCall(String name, MemorySegment function) {
        this(name, name, function);
    }

    private ControlCall(String name, String symbol, MemorySegment function) {
        super(name, false);
        this.symbol = symbol;
        this.function = function;
    }

    @Override
    protected MemorySegment find() {
        MemorySegment found = function != null ? function : NativeLibraries.find(symbol);
        return found != null ? found : super.find();
    }

    @Override
    protected String remedy(int errorNumber) {
        return IbverbsRemedies.of(name, errorNumber);
    }

    private void requireThere(Object text) throws VerbsException {
        if (isMissing()) {
            throw new VerbsException(name, Errno.ENOSYS.number(), text.toString(),
                    "the library that is installed has no such function: install a newer rdma-core");
        }
    }

    private long invoke(Captured captured, Object[] arguments) {
        long[] all = new long[arguments.length];
        for (int i = 0; i < all.length; i++) {
            all[i] = arguments[i] instanceof MemorySegment memory ? memory.address()
                    : ((Number) arguments[i]).longValue();
        }
        try {
            return invoke(captured, all);
        } finally {
            Reference.reachabilityFence(arguments); // memory of an automatic arena stays until the call is over
        }
    }

    /** Calls a function: the 64 bits that it returns, for the caller to judge, without meaning if it returns void. */
    long run(Object... arguments) {
        return invoke(Captured.IGNORED, arguments);
    }

    /**
     * Calls a function that returns 0 or an error: 0 or a positive errno. Devices differ even within one call: a
     * positive number is the errno itself (rxe), one below -1 is it negated (siw), and -1 says to look at errno.
     */
    int error(Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            Captured captured = new Captured(arena);
            return (int) Math.abs(result(captured, invoke(captured, arguments)));
        }
    }

    /**
     * Calls a function that returns 0 or an error.
     *
     * @param text says the arguments that matter to a person, and is asked only if it failed
     * @param arguments its arguments: numbers, and memory for pointers
     * @throws VerbsException if it failed
     */
    void check(Object text, Object... arguments) throws VerbsException {
        requireThere(text);
        int error = error(arguments);
        if (error != 0) {
            throw failure(error, text.toString());
        }
    }

    /** Calls a function that destroys its only argument. A failure is only logged: {@code close()} does not throw. */
    boolean destroy(MemorySegment object) {
        int error = error(object);
        if (error != 0) {
            LIMITED.warn("{}; the native object stays until this process ends", failure(error, "").getMessage());
        }
        return error == 0;
    }

    /** Calls a function that returns a number from 0, or -1 with errno. */
    int number(String text, Object... arguments) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            Captured captured = new Captured(arena);
            int result = (int) result(captured, invoke(captured, arguments));
            if (result < 0) {
                throw failure(-result, text);
            }
            return result;
        }
    }

    /**
     * Calls a function that returns a pointer, or NULL with errno.
     *
     * @param text says the arguments that matter to a person, and is asked only if it failed
     * @param arguments its arguments: numbers, and memory for pointers
     * @return memory without bounds at the pointer
     * @throws VerbsException if it was NULL
     */
    MemorySegment pointer(Object text, Object... arguments) throws VerbsException {
        requireThere(text);
        try (Arena arena = Arena.ofConfined()) {
            Captured captured = new Captured(arena);
            long result = invoke(captured, arguments);
            if (result == 0) {
                throw failure(captured.errno(), text.toString());
            }
            return IbverbsCalls.memory(result, Long.MAX_VALUE);
        }
    }
}
