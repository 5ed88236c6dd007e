package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.ibverbs.generated.ibv_wc;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.CompletionOpcode;

/** Completions as devices write them: each of our own making, read back. */
@SuppressWarnings("restricted")
class IbverbsWorkCompletionsTest {
    /** Flags that a device may set beside each other: six are known to the header. */
    private static final int FLAG_SETS = 1 << 6;

    private final IbverbsWorkCompletions batch = new IbverbsWorkCompletions(2);
    /** The second completion, so that an index that is forgotten shows. */
    private final MemorySegment completion = MemorySegment.ofAddress(batch.address())
            .reinterpret(2 * ibv_wc.layout().byteSize()).asSlice(ibv_wc.layout().byteSize());

    /** async-rdma compares the flags with those of one device, and loses immediate data on others. */
    @Test
    void immediateDataIsToldByItsFlagWhateverElseIsSet() {
        for (int flags = 0; flags < FLAG_SETS; flags++) {
            ibv_wc.wc_flags(completion, flags);
            assertEquals((flags & rdma_h.IBV_WC_WITH_IMM()) != 0, batch.hasImmediate(1), "flags " + flags);
            assertEquals((flags & rdma_h.IBV_WC_GRH()) != 0, batch.hasRoutingHeader(1), "flags " + flags);
        }
    }

    @Test
    void immediateDataIsInTheOrderOfTheNetwork() {
        completion.asSlice(ibv_wc.imm_data$offset(), Integer.BYTES).asByteBuffer().order(ByteOrder.BIG_ENDIAN)
                .putInt(0x12345678);
        assertEquals(0x12345678, batch.immediate(1));
        assertEquals(0, batch.immediate(0));
    }

    @Test
    void opcodesAreThoseOfTheHeader() {
        Map<Integer, CompletionOpcode> opcodes = Map.of(rdma_h.IBV_WC_SEND(), CompletionOpcode.SEND,
                rdma_h.IBV_WC_RDMA_WRITE(), CompletionOpcode.WRITE, rdma_h.IBV_WC_RDMA_READ(), CompletionOpcode.READ,
                rdma_h.IBV_WC_COMP_SWAP(), CompletionOpcode.COMPARE_AND_SWAP,
                rdma_h.IBV_WC_FETCH_ADD(), CompletionOpcode.FETCH_AND_ADD,
                rdma_h.IBV_WC_BIND_MW(), CompletionOpcode.BIND_WINDOW,
                rdma_h.IBV_WC_LOCAL_INV(), CompletionOpcode.INVALIDATE, rdma_h.IBV_WC_RECV(), CompletionOpcode.RECEIVE,
                rdma_h.IBV_WC_RECV_RDMA_WITH_IMM(), CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE,
                4711, CompletionOpcode.UNKNOWN);
        opcodes.forEach((number, opcode) -> {
            ibv_wc.opcode(completion, number);
            assertEquals(opcode, batch.opcode(1), "opcode " + number);
        });
    }

    @Test
    void theRestIsWhereTheHeaderPutsIt() {
        ibv_wc.wr_id(completion, -5);
        ibv_wc.status(completion, 12);
        ibv_wc.vendor_err(completion, 0x81);
        ibv_wc.byte_len(completion, 600);
        ibv_wc.qp_num(completion, 17);
        ibv_wc.src_qp(completion, 19);
        assertEquals(-5, batch.workRequestId(1));
        assertEquals(12, batch.status(1));
        assertEquals(0x81, batch.vendorError(1));
        assertEquals(600, batch.lengthBytes(1));
        assertEquals(17, batch.queuePairNumber(1));
        assertEquals(19, batch.sourceQueuePairNumber(1));
        assertEquals(0, batch.workRequestId(0));
    }
}
