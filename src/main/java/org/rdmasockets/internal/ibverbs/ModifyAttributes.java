package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.OptionalInt;
import org.rdmasockets.internal.ibverbs.generated.ibv_ah_attr;
import org.rdmasockets.internal.ibverbs.generated.ibv_global_route;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_attr;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairState;

/** Writes {@link QueuePairAttributes} as {@code ibv_qp_attr} and its mask. */
final class ModifyAttributes {
    private ModifyAttributes() {}

    /**
     * Fills in what is set in a zeroed {@code ibv_qp_attr}, for a path by a port, and gives the mask of that. Throws
     * {@code IllegalArgumentException} if a value is not one the field can have.
     */
    static int fill(MemorySegment attr, QueuePairAttributes attributes, int port) {
        int mask = 0;
        if (attributes.state() != null) {
            if (attributes.state() == QueuePairState.UNKNOWN) {
                throw new IllegalArgumentException("a queue pair cannot be moved to UNKNOWN");
            }
            ibv_qp_attr.qp_state(attr, attributes.state().ordinal());
            mask |= rdma_h.IBV_QP_STATE();
        }
        if (attributes.access() != null) {
            ibv_qp_attr.qp_access_flags(attr, AccessBits.of(attributes.access()));
            mask |= rdma_h.IBV_QP_ACCESS_FLAGS();
        }
        if (attributes.path() != null) {
            fill(ibv_qp_attr.ah_attr(attr), attributes.path(), port);
            mask |= rdma_h.IBV_QP_AV();
        }
        for (Field field : Field.values()) {
            OptionalInt value = attributes.get(field);
            if (value.isPresent()) {
                mask |= fill(attr, field, value.getAsInt());
            }
        }
        return mask;
    }

    /** Fills in a zeroed {@code ibv_ah_attr}. */
    static void fill(MemorySegment address, QueuePairAttributes.Path path, int port) {
        ibv_ah_attr.dlid(address, (short) path.destinationLid());
        ibv_ah_attr.sl(address, (byte) path.serviceLevel());
        ibv_ah_attr.port_num(address, (byte) port);
        if (!path.destination().isZero()) {
            ibv_ah_attr.is_global(address, (byte) 1);
            MemorySegment route = ibv_ah_attr.grh(address);
            MemorySegment.copy(path.destination().bytes(), 0, ibv_global_route.dgid(route), ValueLayout.JAVA_BYTE, 0,
                    path.destination().bytes().length);
            ibv_global_route.sgid_index(route, (byte) path.sourceGidIndex());
            ibv_global_route.hop_limit(route, (byte) path.hopLimit());
            ibv_global_route.traffic_class(route, (byte) path.trafficClass());
            ibv_global_route.flow_label(route, path.flowLabel());
        }
    }

    /** Fills in one number; its bit of the mask. */
    private static int fill(MemorySegment attr, Field field, int value) {
        switch (field) {
            case PORT -> ibv_qp_attr.port_num(attr, (byte) value);
            case PARTITION_KEY_INDEX -> ibv_qp_attr.pkey_index(attr, (short) value);
            case PATH_MTU_BYTES -> ibv_qp_attr.path_mtu(attr, mtu(value));
            case DESTINATION_NUMBER -> ibv_qp_attr.dest_qp_num(attr, value);
            case RECEIVE_PACKET_NUMBER -> ibv_qp_attr.rq_psn(attr, value);
            case SEND_PACKET_NUMBER -> ibv_qp_attr.sq_psn(attr, value);
            case MAX_READS_AS_TARGET -> ibv_qp_attr.max_dest_rd_atomic(attr, (byte) value);
            case MAX_READS_AS_INITIATOR -> ibv_qp_attr.max_rd_atomic(attr, (byte) value);
            case RECEIVER_NOT_READY_TIMER -> ibv_qp_attr.min_rnr_timer(attr, (byte) value);
            case ACKNOWLEDGE_TIMEOUT -> ibv_qp_attr.timeout(attr, (byte) value);
            case RETRY_COUNT -> ibv_qp_attr.retry_cnt(attr, (byte) value);
            case RECEIVER_NOT_READY_RETRY_COUNT -> ibv_qp_attr.rnr_retry(attr, (byte) value);
            case QUEUE_KEY -> ibv_qp_attr.qkey(attr, value);
        }
        return bit(field);
    }

    private static int bit(Field field) {
        return switch (field) {
            case PORT -> rdma_h.IBV_QP_PORT();
            case PARTITION_KEY_INDEX -> rdma_h.IBV_QP_PKEY_INDEX();
            case PATH_MTU_BYTES -> rdma_h.IBV_QP_PATH_MTU();
            case DESTINATION_NUMBER -> rdma_h.IBV_QP_DEST_QPN();
            case RECEIVE_PACKET_NUMBER -> rdma_h.IBV_QP_RQ_PSN();
            case SEND_PACKET_NUMBER -> rdma_h.IBV_QP_SQ_PSN();
            case MAX_READS_AS_TARGET -> rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC();
            case MAX_READS_AS_INITIATOR -> rdma_h.IBV_QP_MAX_QP_RD_ATOMIC();
            case RECEIVER_NOT_READY_TIMER -> rdma_h.IBV_QP_MIN_RNR_TIMER();
            case ACKNOWLEDGE_TIMEOUT -> rdma_h.IBV_QP_TIMEOUT();
            case RETRY_COUNT -> rdma_h.IBV_QP_RETRY_CNT();
            case RECEIVER_NOT_READY_RETRY_COUNT -> rdma_h.IBV_QP_RNR_RETRY();
            case QUEUE_KEY -> rdma_h.IBV_QP_QKEY();
        };
    }

    /** {@code enum ibv_mtu} of a number of bytes. */
    private static int mtu(int bytes) {
        return switch (bytes) {
            case 256 -> rdma_h.IBV_MTU_256();
            case 512 -> rdma_h.IBV_MTU_512();
            case 1024 -> rdma_h.IBV_MTU_1024();
            case 2048 -> rdma_h.IBV_MTU_2048();
            case 4096 -> rdma_h.IBV_MTU_4096();
            default -> throw new IllegalArgumentException("a path MTU is 256, 512, 1024, 2048 or 4096 bytes, not "
                    + bytes);
        };
    }
}
