package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.ibverbs.generated.ibv_ah_attr;
import org.rdmasockets.internal.ibverbs.generated.ibv_global_route;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_attr;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairAttributes.Path;
import org.rdmasockets.verbs.QueuePairState;

/** Attributes as the library reads them. */
class QueuePairAttributeCodecTest {
    private static final byte[] GID = HexFormat.of().parseHex("00000000000000000000ffff0a4d0002");

    private final MemorySegment attr = ibv_qp_attr.allocate(Arena.ofAuto());
    private final MemorySegment address = ibv_qp_attr.ah_attr(attr);

    /** ibverbs-rs names the peer by its LID alone, which nothing on Ethernet has: RoCE needs the GID in a GRH. */
    @Test
    void aPathToAGidIsGlobal() {
        int mask = QueuePairAttributeCodec.fill(attr,
                new QueuePairAttributes().path(new Path(new Gid(GID), 3, 2, 104, 0, 5)), 1);
        assertEquals(rdma_h.IBV_QP_AV(), mask);
        assertEquals(1, ibv_ah_attr.is_global(address));
        assertEquals(1, ibv_ah_attr.port_num(address));
        assertEquals(5, ibv_ah_attr.sl(address));
        MemorySegment route = ibv_ah_attr.grh(address);
        assertArrayEquals(GID, ibv_global_route.dgid(route).asSlice(0, GID.length).toArray(ValueLayout.JAVA_BYTE));
        assertEquals(3, ibv_global_route.sgid_index(route));
        assertEquals(2, ibv_global_route.hop_limit(route));
        assertEquals(104, ibv_global_route.traffic_class(route));
    }

    @Test
    void aPathWithoutAGidIsNamedByItsLid() {
        QueuePairAttributeCodec.fill(attr, new QueuePairAttributes().path(
                new Path(new Gid(new byte[Gid.LENGTH_BYTES]), 0, 1, 0, 0xC001, 0)), 2);
        assertEquals(0, ibv_ah_attr.is_global(address));
        assertEquals((short) 0xC001, ibv_ah_attr.dlid(address));
        assertEquals(2, ibv_ah_attr.port_num(address));
    }

    @Test
    void onlyWhatIsSetIsInTheMask() {
        assertEquals(0, QueuePairAttributeCodec.fill(attr, new QueuePairAttributes(), 1));
        int mask = QueuePairAttributeCodec.fill(attr, new QueuePairAttributes().state(QueuePairState.READY_TO_SEND)
                .access(Set.of(AccessFlag.REMOTE_READ)).set(Field.RECEIVER_NOT_READY_RETRY_COUNT, 6)
                .set(Field.PATH_MTU_BYTES, 2048), 1);
        assertEquals(rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_ACCESS_FLAGS() | rdma_h.IBV_QP_RNR_RETRY()
                | rdma_h.IBV_QP_PATH_MTU(), mask);
        assertEquals(rdma_h.IBV_QPS_RTS(), ibv_qp_attr.qp_state(attr));
        assertEquals(rdma_h.IBV_ACCESS_REMOTE_READ(), ibv_qp_attr.qp_access_flags(attr));
        assertEquals(6, ibv_qp_attr.rnr_retry(attr));
        assertEquals(rdma_h.IBV_MTU_2048(), ibv_qp_attr.path_mtu(attr));
        assertThrows(IllegalArgumentException.class,
                () -> QueuePairAttributeCodec.fill(attr, new QueuePairAttributes().state(QueuePairState.UNKNOWN), 1));
    }
}
