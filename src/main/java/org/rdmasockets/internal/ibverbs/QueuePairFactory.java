package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_cap;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_init_attr;
import org.rdmasockets.internal.ibverbs.generated.rdma_cm_id;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.VerbsException;

/** Makes queue pairs: by {@code rdma_create_qp} for an identifier, else by {@code ibv_create_qp}. */
final class QueuePairFactory {
    private QueuePairFactory() {}

    /**
     * Makes a queue pair of a connection that the caller has entered, or of none: null. Throws if the device refuses,
     * or a completion queue has no room.
     */
    static IbverbsQueuePair create(QueuePairParents parents, RdmacmIdentifier identifier) throws VerbsException {
        ControlCall call = identifier == null ? ControlCall.IBV_CREATE_QP : ControlCall.RDMA_CREATE_QP;
        IbverbsDevice device = (IbverbsDevice) parents.domain.device();
        checkLimits(call, device, parents);
        if (identifier == null) {
            checkCapability(call, device, parents);
        }
        boolean created = false;
        try (Arena arena = Arena.ofConfined()) {
            parents.acquire(call);
            MemorySegment attr = ibv_qp_init_attr.allocate(arena);
            MemorySegment pointer = create(parents, identifier, attr);
            created = true;
            int inlineBytes = ibv_qp_cap.max_inline_data(ibv_qp_init_attr.cap(attr));
            return new IbverbsQueuePair(parents, identifier, pointer, inlineBytes);
        } finally {
            if (!created) {
                parents.release(false);
            }
        }
    }

    private static void checkCapability(ControlCall call, IbverbsDevice device, QueuePairParents parents)
            throws VerbsException {
        boolean datagrams = parents.type == QueuePairType.UNRELIABLE_DATAGRAM;
        if (!device.supports(datagrams ? Capability.DATAGRAMS : Capability.MANUAL_CONNECT)) {
            throw new VerbsException(call.name, Errno.EOPNOTSUPP.number(), "device=" + device, datagrams
                    ? "this device has no datagrams (Capability.DATAGRAMS)" : "this device's queue pairs are connected "
                    + "by the connection manager alone (Capability.MANUAL_CONNECT)");
        }
    }

    private static void checkLimits(ControlCall call, IbverbsDevice device, QueuePairParents parents)
            throws VerbsException {
        DeviceAttributes limits = device.attributes();
        QueuePairConfig config = parents.config;
        if (Math.max(config.maxSends(), parents.receives()) > limits.maxWorkRequests()
                || Math.max(config.maxSendElements(), parents.receiveElements()) > limits.maxScatterGather()) {
            throw new VerbsException(call.name, Errno.EINVAL.number(), parents.toString(),
                    "this device's queues have at most " + limits.maxWorkRequests() + " requests of "
                            + limits.maxScatterGather() + " elements");
        }
    }

    /** No attribute tells how much can be sent inline: asks for half as long as the device finds it too much. */
    private static MemorySegment create(QueuePairParents parents, RdmacmIdentifier identifier, MemorySegment attr)
            throws VerbsException {
        IbverbsDevice device = (IbverbsDevice) parents.domain.device();
        int wanted = parents.config.maxInlineBytes();
        int inlineBytes = Math.min(wanted, device.inlineLimit);
        while (true) {
            fill(attr, parents, inlineBytes);
            try {
                MemorySegment pointer = call(parents, identifier, attr);
                if (inlineBytes < wanted) {
                    device.inlineLimit = inlineBytes;
                }
                return pointer;
            } catch (VerbsException e) {
                if (e.errno() != Errno.EINVAL || inlineBytes == 0) {
                    throw e;
                }
                inlineBytes /= 2;
            }
        }
    }

    private static MemorySegment call(QueuePairParents parents, RdmacmIdentifier identifier, MemorySegment attr)
            throws VerbsException {
        MemorySegment domain = parents.domain.pointer;
        if (identifier == null) {
            return ControlCall.IBV_CREATE_QP.pointer(parents, domain, attr);
        }
        ControlCall.RDMA_CREATE_QP.check(parents, identifier.pointer, domain, attr);
        return rdma_cm_id.qp(identifier.pointer);
    }

    private static void fill(MemorySegment attr, QueuePairParents parents, int inlineBytes) {
        QueuePairConfig config = parents.config;
        attr.fill((byte) 0);
        ibv_qp_init_attr.send_cq(attr, parents.sendQueue.pointer);
        ibv_qp_init_attr.recv_cq(attr, parents.receiveQueue.pointer);
        ibv_qp_init_attr.qp_type(attr, parents.type == QueuePairType.UNRELIABLE_DATAGRAM ? rdma_h.IBV_QPT_UD()
                : rdma_h.IBV_QPT_RC());
        ibv_qp_init_attr.sq_sig_all(attr, config.signalAll() ? 1 : 0);
        if (parents.sharedReceives != null) {
            ibv_qp_init_attr.srq(attr, parents.sharedReceives.pointer);
        }
        MemorySegment cap = ibv_qp_init_attr.cap(attr);
        ibv_qp_cap.max_send_wr(cap, config.maxSends());
        ibv_qp_cap.max_recv_wr(cap, parents.receives());
        ibv_qp_cap.max_send_sge(cap, config.maxSendElements());
        ibv_qp_cap.max_recv_sge(cap, parents.receiveElements());
        ibv_qp_cap.max_inline_data(cap, inlineBytes);
    }
}
