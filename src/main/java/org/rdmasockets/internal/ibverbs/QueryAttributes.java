package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.internal.ibverbs.generated.ibv_ah_attr;
import org.rdmasockets.internal.ibverbs.generated.ibv_global_route;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_attr;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairState;

/** Reads {@link QueuePairAttributes} out of a {@code ibv_qp_attr}: the inverse of {@link ModifyAttributes}. */
final class QueryAttributes {
    /** Everything that is read here. */
    static final int MASK = rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_ACCESS_FLAGS() | rdma_h.IBV_QP_AV()
            | rdma_h.IBV_QP_PORT() | rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PATH_MTU() | rdma_h.IBV_QP_DEST_QPN()
            | rdma_h.IBV_QP_RQ_PSN() | rdma_h.IBV_QP_SQ_PSN() | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()
            | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC() | rdma_h.IBV_QP_MIN_RNR_TIMER() | rdma_h.IBV_QP_TIMEOUT()
            | rdma_h.IBV_QP_RETRY_CNT() | rdma_h.IBV_QP_RNR_RETRY() | rdma_h.IBV_QP_QKEY();

    private QueryAttributes() {}

    /** The state of a number of {@code enum ibv_qp_state}. */
    static QueuePairState state(int number) {
        QueuePairState[] states = QueuePairState.values();
        return number >= 0 && number < states.length ? states[number] : QueuePairState.UNKNOWN;
    }

    /** Reads what a device filled in; what it fills with values that cannot be is left out. */
    static QueuePairAttributes read(MemorySegment attr) {
        QueuePairAttributes read = new QueuePairAttributes().state(state(ibv_qp_attr.qp_state(attr)))
                .access(AccessBits.flags(ibv_qp_attr.qp_access_flags(attr)));
        MemorySegment address = ibv_qp_attr.ah_attr(attr);
        if (ibv_ah_attr.is_global(address) != 0 || ibv_ah_attr.dlid(address) != 0) {
            read.path(path(address));
        }
        int mtu = IbverbsDevice.mtuBytes(ibv_qp_attr.path_mtu(attr));
        if (mtu != 0) {
            read.set(Field.PATH_MTU_BYTES, mtu);
        }
        if (ibv_qp_attr.port_num(attr) != 0) {
            read.set(Field.PORT, Byte.toUnsignedInt(ibv_qp_attr.port_num(attr)));
        }
        return numbers(read, attr);
    }

    private static QueuePairAttributes.Path path(MemorySegment address) {
        MemorySegment route = ibv_ah_attr.grh(address);
        return new QueuePairAttributes.Path(new Gid(ibv_global_route.dgid(route).toArray(ValueLayout.JAVA_BYTE)),
                Byte.toUnsignedInt(ibv_global_route.sgid_index(route)),
                Byte.toUnsignedInt(ibv_global_route.hop_limit(route)),
                Byte.toUnsignedInt(ibv_global_route.traffic_class(route)),
                Short.toUnsignedInt(ibv_ah_attr.dlid(address)), ibv_ah_attr.sl(address) & 0xf,
                ibv_global_route.flow_label(route) & 0xfffff);
    }

    private static QueuePairAttributes numbers(QueuePairAttributes read, MemorySegment attr) {
        return read.set(Field.PARTITION_KEY_INDEX, Short.toUnsignedInt(ibv_qp_attr.pkey_index(attr)))
                .set(Field.DESTINATION_NUMBER, ibv_qp_attr.dest_qp_num(attr) & 0xffffff)
                .set(Field.RECEIVE_PACKET_NUMBER, ibv_qp_attr.rq_psn(attr) & 0xffffff)
                .set(Field.SEND_PACKET_NUMBER, ibv_qp_attr.sq_psn(attr) & 0xffffff)
                .set(Field.MAX_READS_AS_TARGET, Byte.toUnsignedInt(ibv_qp_attr.max_dest_rd_atomic(attr)))
                .set(Field.MAX_READS_AS_INITIATOR, Byte.toUnsignedInt(ibv_qp_attr.max_rd_atomic(attr)))
                .set(Field.RECEIVER_NOT_READY_TIMER, ibv_qp_attr.min_rnr_timer(attr) & 31)
                .set(Field.ACKNOWLEDGE_TIMEOUT, ibv_qp_attr.timeout(attr) & 31)
                .set(Field.RETRY_COUNT, ibv_qp_attr.retry_cnt(attr) & 7)
                .set(Field.RECEIVER_NOT_READY_RETRY_COUNT, ibv_qp_attr.rnr_retry(attr) & 7)
                .set(Field.QUEUE_KEY, ibv_qp_attr.qkey(attr));
    }
}
