package org.rdmasockets.internal.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.ibverbs.generated.ibv_recv_wr;
import org.rdmasockets.internal.ibverbs.generated.ibv_send_wr;
import org.rdmasockets.internal.ibverbs.generated.ibv_sge;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;

/** Requests as the library reads them. */
@SuppressWarnings("restricted")
class WorkRequestBlockTest {
    private static final int LOCAL_KEY = 0x11111111;
    private static final int REMOTE_KEY = 0x22222222;
    private static final int PEERS_KEY = 0x33333333;
    private static final long PEERS_ADDRESS = 0x7000_0000_1000L;

    private WorkRequestBlock block;

    /** A region whose two keys differ, as soft-RoCE's never do. */
    private static final class TwoKeys implements MemoryRegion {
        private final MemorySegment memory = Arena.ofAuto().allocate(100);

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
            return LOCAL_KEY;
        }

        @Override
        public int remoteKey() {
            return REMOTE_KEY;
        }

        @Override
        public Set<AccessFlag> access() {
            return Set.of(AccessFlag.LOCAL_WRITE);
        }

        @Override
        public void close() {
        }
    }

    private final MemoryRegion region = new TwoKeys();

    @BeforeEach
    void allocate() {
        assumeTrue(NativeLibraries.problem().equals(Optional.empty()), "the libraries are not installed");
        block = new WorkRequestBlock(2, 2);
    }

    @AfterEach
    void free() {
        if (block != null) {
            block.free();
        }
    }

    private MemorySegment send() {
        return block.block.asSlice(0, ibv_send_wr.layout().byteSize());
    }

    private static MemorySegment element(MemorySegment list, int index) {
        return list.reinterpret(2 * ibv_sge.layout().byteSize())
                .asSlice(index * ibv_sge.layout().byteSize(), ibv_sge.layout().byteSize());
    }

    /** rdma-example sends its local key to the peer, which works where both are the same number. */
    @Test
    void elementsCarryTheLocalKeyAndTheRequestThePeersRemoteOne() {
        block.fill(new SendRequest(2).write(5, PEERS_ADDRESS, PEERS_KEY).add(region, 10, 20).add(region, 50, 7));
        MemorySegment list = ibv_send_wr.sg_list(send());
        for (int i = 0; i < 2; i++) {
            assertEquals(LOCAL_KEY, ibv_sge.lkey(element(list, i)));
        }
        assertEquals(region.address() + 50, ibv_sge.addr(element(list, 1)));
        assertEquals(7, ibv_sge.length(element(list, 1)));
        MemorySegment rdma = ibv_send_wr.wr.rdma(ibv_send_wr.wr(send()));
        assertEquals(PEERS_KEY, ibv_send_wr.wr.rdma.rkey(rdma));
        assertEquals(PEERS_ADDRESS, ibv_send_wr.wr.rdma.remote_addr(rdma));
        block.fill(new ReceiveRequest(2).receive(6).add(region, 0, 9), 6, 1);
        MemorySegment receive = block.block.asSlice(block.receiveOffset(0), ibv_recv_wr.layout().byteSize());
        assertEquals(LOCAL_KEY, ibv_sge.lkey(element(ibv_recv_wr.sg_list(receive), 0)));
    }

    @Test
    void atomicsNameTheirOperandsAndThePeersKey() {
        block.fill(new SendRequest(1).compareAndSwap(5, PEERS_ADDRESS, PEERS_KEY, 41, 42).add(region, 0, 8));
        MemorySegment atomic = ibv_send_wr.wr.atomic(ibv_send_wr.wr(send()));
        assertEquals(rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP(), ibv_send_wr.opcode(send()));
        assertEquals(PEERS_ADDRESS, ibv_send_wr.wr.atomic.remote_addr(atomic));
        assertEquals(41, ibv_send_wr.wr.atomic.compare_add(atomic));
        assertEquals(42, ibv_send_wr.wr.atomic.swap(atomic));
        assertEquals(PEERS_KEY, ibv_send_wr.wr.atomic.rkey(atomic));
    }

    @Test
    void immediateDataIsInTheOrderOfTheNetwork() {
        block.fill(new SendRequest(1).send(5).immediate(0x12345678));
        assertEquals(0x12345678, send().asSlice(ibv_send_wr.imm_data$offset(), JAVA_INT.byteSize()).asByteBuffer()
                .order(ByteOrder.BIG_ENDIAN).getInt());
        assertEquals(rdma_h.IBV_WR_SEND_WITH_IMM(), ibv_send_wr.opcode(send()));
        assertEquals(5, send().get(JAVA_LONG, ibv_send_wr.wr_id$offset()));
    }

    @Test
    void eachFlagHasItsBit() {
        int[] bits = {rdma_h.IBV_SEND_SIGNALED(), rdma_h.IBV_SEND_FENCE(), rdma_h.IBV_SEND_SOLICITED(),
            rdma_h.IBV_SEND_INLINE()};
        SendRequest request = new SendRequest(1);
        for (int set = 0; set < 1 << bits.length; set++) {
            request.send(1);
            int expected = 0;
            for (int i = 0; i < bits.length; i++) {
                if ((set >> i & 1) != 0) {
                    expected |= bits[i];
                    flag(request, i);
                }
            }
            block.fill(request);
            assertEquals(expected, ibv_send_wr.send_flags(send()));
        }
    }

    private static void flag(SendRequest request, int index) {
        switch (index) {
            case 0 -> request.signalled();
            case 1 -> request.fenced();
            case 2 -> request.solicited();
            default -> request.inline();
        }
    }
}
