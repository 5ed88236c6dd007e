package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.OptionalInt;
import org.rdmasockets.internal.ibverbs.generated.ibv_ah_attr;
import org.rdmasockets.internal.ibverbs.generated.ibv_global_route;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_attr;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairState;

/** {@link QueuePairAttributes} as {@code ibv_qp_attr} and its mask, and back. */
final class QueuePairAttributeCodec {
    private QueuePairAttributeCodec() {}

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
            // A power of two from 256 to 4096, which are 1 to 5 in enum ibv_mtu.
            case PATH_MTU_BYTES -> ibv_qp_attr.path_mtu(attr, Integer.numberOfTrailingZeros(value >> 7));
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

    /** The mask of all that {@link #read} reads. */
    static int allFields() {
        int mask = rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_ACCESS_FLAGS() | rdma_h.IBV_QP_AV();
        for (Field field : Field.values()) {
            mask |= bit(field);
        }
        return mask;
    }

    /** Reads what a device filled in; what it fills with values that cannot be is left out. */
    static QueuePairAttributes read(MemorySegment attr) {
        QueuePairAttributes read = new QueuePairAttributes().access(AccessBits.flags(ibv_qp_attr.qp_access_flags(attr)))
                .state(IbverbsDevice.named(QueuePairState.values(), ibv_qp_attr.qp_state(attr),
                        QueuePairState.UNKNOWN));
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
