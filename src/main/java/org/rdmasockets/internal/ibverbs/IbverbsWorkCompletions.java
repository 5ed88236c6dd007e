package org.rdmasockets.internal.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.rdmasockets.internal.ibverbs.generated.ibv_wc;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.WorkCompletions;

/** An array of {@code ibv_wc}. Only the processor writes to it, inside {@code ibv_poll_cq}: an automatic arena does. */
final class IbverbsWorkCompletions implements WorkCompletions {
    private static final long BYTES = ibv_wc.sizeof();
    private static final long ID = ibv_wc.wr_id$offset();
    private static final long STATUS = ibv_wc.status$offset();
    private static final long OPCODE = ibv_wc.opcode$offset();
    private static final long VENDOR = ibv_wc.vendor_err$offset();
    private static final long LENGTH = ibv_wc.byte_len$offset();
    private static final long IMMEDIATE = ibv_wc.imm_data$offset();
    private static final long NUMBER = ibv_wc.qp_num$offset();
    private static final long SOURCE = ibv_wc.src_qp$offset();
    private static final long FLAGS = ibv_wc.wc_flags$offset();

    private static final int WITH_IMMEDIATE = rdma_h.IBV_WC_WITH_IMM();
    private static final int WITH_ROUTING_HEADER = rdma_h.IBV_WC_GRH();
    private static final int RECEIVE = rdma_h.IBV_WC_RECV();
    private static final int RECEIVE_WRITE = rdma_h.IBV_WC_RECV_RDMA_WITH_IMM();
    /** The opcodes of requests of our own, which are numbered from 0. */
    private static final CompletionOpcode[] SENT = {CompletionOpcode.SEND, CompletionOpcode.WRITE,
        CompletionOpcode.READ, CompletionOpcode.COMPARE_AND_SWAP, CompletionOpcode.FETCH_AND_ADD,
        CompletionOpcode.BIND_WINDOW, CompletionOpcode.INVALIDATE};

    private final int capacity;
    private final MemorySegment completions;

    /** An empty batch for at least 1 completion. */
    IbverbsWorkCompletions(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("a batch needs room for at least one completion, not " + capacity);
        }
        this.capacity = capacity;
        completions = ibv_wc.allocateArray(capacity, Arena.ofAuto());
    }

    /** Where the array begins; this object has to stay reachable while the address is used. */
    long address() {
        return completions.address();
    }

    /** A copy of a completion. */
    MemorySegment copy(int index, Arena arena) {
        MemorySegment completion = completions.asSlice(Objects.checkIndex(index, capacity) * BYTES, BYTES);
        return ibv_wc.allocate(arena).copyFrom(completion);
    }

    @Override
    public int capacity() {
        return capacity;
    }

    private int number(int index, long offset) {
        return completions.get(JAVA_INT, Objects.checkIndex(index, capacity) * BYTES + offset);
    }

    @Override
    public long workRequestId(int index) {
        return completions.get(JAVA_LONG, Objects.checkIndex(index, capacity) * BYTES + ID);
    }

    @Override
    public int status(int index) {
        return number(index, STATUS);
    }

    @Override
    public CompletionOpcode opcode(int index) {
        int number = number(index, OPCODE);
        if (number >= 0 && number < SENT.length) {
            return SENT[number];
        } else if (number == RECEIVE) {
            return CompletionOpcode.RECEIVE;
        }
        return number == RECEIVE_WRITE ? CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE : CompletionOpcode.UNKNOWN;
    }

    @Override
    public int lengthBytes(int index) {
        return number(index, LENGTH);
    }

    @Override
    public boolean hasImmediate(int index) {
        return (number(index, FLAGS) & WITH_IMMEDIATE) != 0;
    }

    @Override
    public int immediate(int index) {
        return Integer.reverseBytes(number(index, IMMEDIATE)); // __be32
    }

    @Override
    public int queuePairNumber(int index) {
        return number(index, NUMBER);
    }

    @Override
    public int sourceQueuePairNumber(int index) {
        return number(index, SOURCE);
    }

    @Override
    public boolean hasRoutingHeader(int index) {
        return (number(index, FLAGS) & WITH_ROUTING_HEADER) != 0;
    }

    @Override
    public int vendorError(int index) {
        return number(index, VENDOR);
    }
}
