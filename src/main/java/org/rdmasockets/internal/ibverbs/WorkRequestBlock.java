package org.rdmasockets.internal.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.ibverbs.generated.ibv_mw_bind_info;
import org.rdmasockets.internal.ibverbs.generated.ibv_recv_wr;
import org.rdmasockets.internal.ibverbs.generated.ibv_send_wr;
import org.rdmasockets.internal.ibverbs.generated.ibv_sge;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.ScatterGatherList;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.WindowBinding;

/**
 * The native form of one send request and of a chain of receives of a queue pair, filled anew for each post. The device
 * never sees it: the library reads it during the call. Guarded by the queue pair.
 *
 * <pre>
 * ibv_send_wr | ibv_sge[sendElements] | ibv_recv_wr[CHAIN] | ibv_sge[receiveElements] | bad_wr
 * </pre>
 *
 * The receives of a chain have the same elements.
 */
final class WorkRequestBlock {
    private static final long SEND_BYTES = ibv_send_wr.sizeof();
    private static final long RECEIVE_BYTES = ibv_recv_wr.sizeof();
    /** Most receives of one post. */
    private static final int CHAIN = 8;
    private static final long SGE_BYTES = ibv_sge.sizeof();

    private static final long SEND_ID = ibv_send_wr.wr_id$offset();
    private static final long SEND_LIST = ibv_send_wr.sg_list$offset();
    private static final long SEND_COUNT = ibv_send_wr.num_sge$offset();
    private static final long SEND_OPCODE = ibv_send_wr.opcode$offset();
    private static final long SEND_FLAGS = ibv_send_wr.send_flags$offset();
    private static final long IMMEDIATE = ibv_send_wr.imm_data$offset();
    private static final long RDMA = ibv_send_wr.wr$offset() + ibv_send_wr.wr.rdma$offset();
    private static final long RDMA_ADDRESS = RDMA + ibv_send_wr.wr.rdma.remote_addr$offset();
    private static final long RDMA_KEY = RDMA + ibv_send_wr.wr.rdma.rkey$offset();
    private static final long ATOMIC = ibv_send_wr.wr$offset() + ibv_send_wr.wr.atomic$offset();
    private static final long ATOMIC_ADDRESS = ATOMIC + ibv_send_wr.wr.atomic.remote_addr$offset();
    private static final long ATOMIC_KEY = ATOMIC + ibv_send_wr.wr.atomic.rkey$offset();
    private static final long ATOMIC_OPERAND = ATOMIC + ibv_send_wr.wr.atomic.compare_add$offset();
    private static final long ATOMIC_SWAP = ATOMIC + ibv_send_wr.wr.atomic.swap$offset();
    private static final long DATAGRAM = ibv_send_wr.wr$offset() + ibv_send_wr.wr.ud$offset();
    private static final long DATAGRAM_HANDLE = DATAGRAM + ibv_send_wr.wr.ud.ah$offset();
    private static final long DATAGRAM_NUMBER = DATAGRAM + ibv_send_wr.wr.ud.remote_qpn$offset();
    private static final long DATAGRAM_KEY = DATAGRAM + ibv_send_wr.wr.ud.remote_qkey$offset();
    private static final long INVALIDATED_KEY = ibv_send_wr.invalidate_rkey$offset();
    private static final long WINDOW = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.mw$offset();
    private static final long WINDOW_KEY = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.rkey$offset();
    private static final long BOUND = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.bind_info$offset();
    private static final long BOUND_REGION = BOUND + ibv_mw_bind_info.mr$offset();
    private static final long BOUND_ADDRESS = BOUND + ibv_mw_bind_info.addr$offset();
    private static final long BOUND_LENGTH = BOUND + ibv_mw_bind_info.length$offset();
    private static final long BOUND_ACCESS = BOUND + ibv_mw_bind_info.mw_access_flags$offset();
    private static final long RECEIVE_ID = ibv_recv_wr.wr_id$offset();
    private static final long RECEIVE_NEXT = ibv_recv_wr.next$offset();
    private static final long RECEIVE_LIST = ibv_recv_wr.sg_list$offset();
    private static final long RECEIVE_COUNT = ibv_recv_wr.num_sge$offset();
    private static final long SGE_ADDRESS = ibv_sge.addr$offset();
    private static final long SGE_LENGTH = ibv_sge.length$offset();
    private static final long SGE_KEY = ibv_sge.lkey$offset();

    private static final int SIGNALLED = rdma_h.IBV_SEND_SIGNALED();
    private static final int INLINE = rdma_h.IBV_SEND_INLINE();
    private static final int FENCED = rdma_h.IBV_SEND_FENCE();
    private static final int SOLICITED = rdma_h.IBV_SEND_SOLICITED();

    /** {@code enum ibv_wr_opcode} by the ordinal of {@link SendRequest.Opcode}. */
    private static final int[] OPCODES = new int[SendRequest.Opcode.values().length];

    static {
        OPCODES[SendRequest.Opcode.SEND.ordinal()] = rdma_h.IBV_WR_SEND();
        OPCODES[SendRequest.Opcode.SEND_WITH_IMMEDIATE.ordinal()] = rdma_h.IBV_WR_SEND_WITH_IMM();
        OPCODES[SendRequest.Opcode.WRITE.ordinal()] = rdma_h.IBV_WR_RDMA_WRITE();
        OPCODES[SendRequest.Opcode.WRITE_WITH_IMMEDIATE.ordinal()] = rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM();
        OPCODES[SendRequest.Opcode.READ.ordinal()] = rdma_h.IBV_WR_RDMA_READ();
        OPCODES[SendRequest.Opcode.COMPARE_AND_SWAP.ordinal()] = rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP();
        OPCODES[SendRequest.Opcode.BIND_WINDOW.ordinal()] = rdma_h.IBV_WR_BIND_MW();
        OPCODES[SendRequest.Opcode.INVALIDATE.ordinal()] = rdma_h.IBV_WR_LOCAL_INV();
        OPCODES[SendRequest.Opcode.FETCH_AND_ADD.ordinal()] = rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD();
    }

    final MemorySegment block;
    private final int sendElements;
    private final int receiveElements;

    /** Allocates a block; {@link #free} has to follow. */
    WorkRequestBlock(int sendElements, int receiveElements) {
        this.sendElements = sendElements;
        this.receiveElements = receiveElements;
        block = IbverbsCalls.allocate(badOffset() + JAVA_LONG.byteSize());
        block.set(JAVA_LONG, SEND_LIST, block.address() + SEND_BYTES);
        for (int i = 0; i < CHAIN; i++) {
            block.set(JAVA_LONG, receiveOffset(i) + RECEIVE_LIST, block.address() + receiveOffset(CHAIN));
        }
    }

    /** Where a receive of the chain is; behind the last one is their list. */
    long receiveOffset(int index) {
        return SEND_BYTES + sendElements * SGE_BYTES + index * RECEIVE_BYTES;
    }

    private long badOffset() {
        return receiveOffset(CHAIN) + receiveElements * SGE_BYTES;
    }

    /** Posts the send request to a queue pair: 0 or a positive errno. */
    int postSend(MemorySegment function, MemorySegment queuePair) {
        return IbverbsCalls.post(function, queuePair.address(), block.address(), block.address() + badOffset());
    }

    /** Posts the receives to a queue pair or a shared receive queue: 0 or a positive errno. */
    int postReceives(MemorySegment function, MemorySegment queue) {
        return IbverbsCalls.post(function, queue.address(), block.address() + receiveOffset(0),
                block.address() + badOffset());
    }

    /** Whether the request has not more elements than there is room for. */
    boolean fits(SendRequest request) {
        return request.elements().count() <= sendElements;
    }

    /** Whether the request has not more elements than there is room for. */
    boolean fits(ReceiveRequest request) {
        return request.elements().count() <= receiveElements;
    }

    /** Fills in a send request that fits; a destination that it has is entered. */
    void fill(SendRequest request) {
        SendRequest.Opcode opcode = request.opcode();
        block.set(JAVA_LONG, SEND_ID, request.workRequestId());
        block.set(JAVA_INT, SEND_COUNT, request.elements().count());
        block.set(JAVA_INT, SEND_OPCODE, OPCODES[opcode.ordinal()]);
        block.set(JAVA_INT, SEND_FLAGS, flags(request));
        block.set(JAVA_INT, IMMEDIATE, Integer.reverseBytes(request.immediate()));
        if (opcode == SendRequest.Opcode.COMPARE_AND_SWAP || opcode == SendRequest.Opcode.FETCH_AND_ADD) {
            block.set(JAVA_LONG, ATOMIC_ADDRESS, request.remoteAddress());
            block.set(JAVA_INT, ATOMIC_KEY, request.remoteKey());
            block.set(JAVA_LONG, ATOMIC_OPERAND, request.compareOrAdd());
            block.set(JAVA_LONG, ATOMIC_SWAP, request.swap());
        } else if (request.destination() instanceof IbverbsAddressHandle handle) {
            block.set(JAVA_LONG, DATAGRAM_HANDLE, handle.pointer.address());
            block.set(JAVA_INT, DATAGRAM_NUMBER, request.destinationNumber());
            block.set(JAVA_INT, DATAGRAM_KEY, request.destinationKey());
        } else {
            block.set(JAVA_LONG, RDMA_ADDRESS, request.remoteAddress());
            block.set(JAVA_INT, RDMA_KEY, request.remoteKey());
        }
        if (opcode == SendRequest.Opcode.INVALIDATE) {
            block.set(JAVA_INT, INVALIDATED_KEY, request.remoteKey());
        }
        fill(SEND_BYTES, request.elements(), request.isInline());
    }

    /** Fills in a bind, whose window and region are entered. */
    void fill(SendRequest request, IbverbsMemoryWindow window, IbverbsMemoryRegion region) {
        fill(request);
        WindowBinding binding = request.binding();
        block.set(JAVA_LONG, WINDOW, window.pointer.address());
        block.set(JAVA_INT, WINDOW_KEY, window.nextKey());
        block.set(JAVA_LONG, BOUND_REGION, region.pointer.address());
        block.set(JAVA_LONG, BOUND_ADDRESS, region.address() + binding.offsetBytes());
        block.set(JAVA_LONG, BOUND_LENGTH, binding.lengthBytes());
        block.set(JAVA_INT, BOUND_ACCESS, AccessBits.of(binding.access()));
    }

    private static int flags(SendRequest request) {
        return (request.isSignalled() ? SIGNALLED : 0) | (request.isInline() ? INLINE : 0)
                | (request.isFenced() ? FENCED : 0) | (request.isSolicited() ? SOLICITED : 0);
    }

    /** Fills in receives that fit, with identifiers in order, and tells how many, because a chain has an end. */
    int fill(ReceiveRequest request, long firstId, int wanted) {
        int count = Math.min(wanted, CHAIN);
        for (int i = 0; i < count; i++) {
            fill(i, request, firstId + i, i + 1 == count);
        }
        return count;
    }

    private void fill(int index, ReceiveRequest request, long id, boolean last) {
        long offset = receiveOffset(index);
        block.set(JAVA_LONG, offset + RECEIVE_ID, id);
        block.set(JAVA_LONG, offset + RECEIVE_NEXT, last ? 0 : block.address() + receiveOffset(index + 1));
        block.set(JAVA_INT, offset + RECEIVE_COUNT, request.elements().count());
        if (last) {
            fill(receiveOffset(CHAIN), request.elements(), false);
        }
    }

    /** Inline data is copied by the processor, which knows nothing of addresses that are offsets. */
    private void fill(long offset, ScatterGatherList elements, boolean inline) {
        for (int i = 0; i < elements.count(); i++) {
            long element = offset + i * SGE_BYTES;
            long address = elements.address(i);
            if (inline) {
                address += elements.region(i).segment().address() - elements.region(i).address();
            }
            block.set(JAVA_LONG, element + SGE_ADDRESS, address);
            block.set(JAVA_INT, element + SGE_LENGTH, elements.lengthBytes(i));
            block.set(JAVA_INT, element + SGE_KEY, elements.key(i));
        }
    }

    /** Frees the block, which must not be used again. */
    void free() {
        IbverbsCalls.free(block);
    }
}
