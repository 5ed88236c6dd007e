package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_cap;
import org.rdmasockets.internal.ibverbs.generated.ibv_qp_init_attr;
import org.rdmasockets.internal.ibverbs.generated.rdma_cm_id;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;

/**
 * The parts that a queue pair is made of, and its room in the completion queues. Makes the queue pair: by
 * {@code rdma_create_qp} for an identifier, else by {@code ibv_create_qp}. For one thread at a time.
 */
final class QueuePairParents {
    final IbverbsProtectionDomain domain;
    private final IbverbsDevice device;
    final QueuePairType type;
    final QueuePairConfig config;
    private final IbverbsCompletionQueue sendQueue;
    private final IbverbsCompletionQueue receiveQueue;
    /** Where its receives come from, or null if they are its own. */
    final IbverbsSharedReceiveQueue sharedReceives;
    /** How many of the steps of {@link #acquire} were taken. */
    private int steps;

    /** Nothing is held yet; receives are its own if {@code sharedReceives} is null. */
    QueuePairParents(IbverbsProtectionDomain domain, QueuePairType type, QueuePairConfig config,
            IbverbsSharedReceiveQueue sharedReceives) {
        this.domain = domain;
        this.device = domain.device();
        this.type = type;
        this.config = config;
        this.sendQueue = own(config.sendQueue());
        this.receiveQueue = own(config.receiveQueue());
        this.sharedReceives = sharedReceives;
        if (sharedReceives != null && sharedReceives.domain().device() != device) {
            throw foreign("shared receive queue");
        }
    }

    /** A queue of this provider, and not null, which would mean that receives are the queue pair's own. */
    static IbverbsSharedReceiveQueue own(SharedReceiveQueue receives) {
        if (!(receives instanceof IbverbsSharedReceiveQueue own)) {
            throw foreign("shared receive queue");
        }
        return own;
    }

    private static IllegalArgumentException foreign(String what) {
        return new IllegalArgumentException("the " + what + " belongs to another device");
    }

    private IbverbsCompletionQueue own(CompletionQueue queue) {
        if (!(queue instanceof IbverbsCompletionQueue own) || own.device() != device) {
            throw foreign("completion queue");
        }
        return own;
    }

    /**
     * Makes a queue pair of a connection that the caller has entered, or of none: null. Throws if the device refuses,
     * or a completion queue has no room.
     */
    IbverbsQueuePair create(RdmacmIdentifier identifier) throws VerbsException {
        ControlCall call = identifier == null ? ControlCall.IBV_CREATE_QP : ControlCall.RDMA_CREATE_QP;
        checkLimits(call);
        if (identifier == null && type == QueuePairType.UNRELIABLE_DATAGRAM) {
            device.require(Capability.DATAGRAMS, call, "device=" + device, "this device has no datagrams");
        } else if (identifier == null) {
            device.require(Capability.MANUAL_CONNECT, call, "device=" + device,
                    "this device's queue pairs are connected by the connection manager alone");
        }
        boolean created = false;
        try (Arena arena = Arena.ofConfined()) {
            acquire(call);
            MemorySegment attr = ibv_qp_init_attr.allocate(arena);
            MemorySegment pointer = create(identifier, attr);
            created = true;
            int inlineBytes = ibv_qp_cap.max_inline_data(ibv_qp_init_attr.cap(attr));
            return new IbverbsQueuePair(this, identifier, pointer, inlineBytes);
        } finally {
            if (!created) {
                release(false);
            }
        }
    }

    private void checkLimits(ControlCall call) throws VerbsException {
        DeviceAttributes limits = device.attributes();
        if (Math.max(config.maxSends(), receives()) > limits.maxWorkRequests()
                || Math.max(config.maxSendElements(), receiveElements()) > limits.maxScatterGather()) {
            throw new VerbsException(call.name, Errno.EINVAL.number(), toString(), "this device's queues have at most "
                    + limits.maxWorkRequests() + " requests of " + limits.maxScatterGather() + " elements");
        }
    }

    /** No attribute tells how much can be sent inline: halves the request until the device accepts. */
    private MemorySegment create(RdmacmIdentifier identifier, MemorySegment attr) throws VerbsException {
        int wanted = config.maxInlineBytes();
        int inlineBytes = Math.min(wanted, device.inlineLimit);
        while (true) {
            fill(attr, inlineBytes);
            try {
                MemorySegment pointer = call(identifier, attr);
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

    private MemorySegment call(RdmacmIdentifier identifier, MemorySegment attr) throws VerbsException {
        if (identifier == null) {
            return ControlCall.IBV_CREATE_QP.pointer(this, domain.pointer, attr);
        }
        ControlCall.RDMA_CREATE_QP.check(this, identifier.pointer, domain.pointer, attr);
        return rdma_cm_id.qp(identifier.pointer);
    }

    private void fill(MemorySegment attr, int inlineBytes) {
        attr.fill((byte) 0);
        ibv_qp_init_attr.send_cq(attr, sendQueue.pointer);
        ibv_qp_init_attr.recv_cq(attr, receiveQueue.pointer);
        ibv_qp_init_attr.qp_type(attr, type == QueuePairType.UNRELIABLE_DATAGRAM ? rdma_h.IBV_QPT_UD()
                : rdma_h.IBV_QPT_RC());
        ibv_qp_init_attr.sq_sig_all(attr, config.signalAll() ? 1 : 0);
        if (sharedReceives != null) {
            ibv_qp_init_attr.srq(attr, sharedReceives.pointer);
        }
        MemorySegment cap = ibv_qp_init_attr.cap(attr);
        ibv_qp_cap.max_send_wr(cap, config.maxSends());
        ibv_qp_cap.max_recv_wr(cap, receives());
        ibv_qp_cap.max_send_sge(cap, config.maxSendElements());
        ibv_qp_cap.max_recv_sge(cap, receiveElements());
        ibv_qp_cap.max_inline_data(cap, inlineBytes);
    }

    /** Holds all, or throws: then {@link #release} gives back what was held by then. */
    private void acquire(ControlCall call) throws VerbsException {
        domain.retain(call);
        steps++;
        sendQueue.retain(call);
        steps++;
        receiveQueue.retain(call);
        steps++;
        check(call, sendQueue.tryReserve(config.maxSends()), sendQueue, "maxSends=" + config.maxSends());
        steps++;
        if (sharedReceives == null) {
            check(call, receiveQueue.tryReserve(receives()), receiveQueue, "maxReceives=" + receives());
            steps++;
            return;
        }
        sharedReceives.retain(call);
        steps++;
        check(call, sharedReceives.tryReserve(receiveQueue), receiveQueue,
                "sharedReceives=" + sharedReceives.maxReceives());
        steps++;
    }

    private static void check(ControlCall call, boolean fits, IbverbsCompletionQueue queue, String what)
            throws VerbsException {
        if (!fits) {
            throw new VerbsException(call.name, Errno.ENOSPC.number(), what + ", unreserved="
                    + queue.unreservedEntries() + ", entries=" + queue.entries(),
                    "the completion queue has no room for this queue pair's completions: use another one");
        }
    }

    /** Gives back what is held; completions of a queue pair that was used may still be in the queues. */
    void release(boolean used) {
        if (steps >= 6) {
            sharedReceives.giveBack(receiveQueue, used);
        }
        if (steps >= 5 && sharedReceives != null) {
            sharedReceives.release();
        } else if (steps >= 5) {
            giveBack(receiveQueue, receives(), used);
        }
        if (steps >= 4) {
            giveBack(sendQueue, config.maxSends(), used);
        }
        if (steps >= 3) {
            receiveQueue.release();
        }
        if (steps >= 2) {
            sendQueue.release();
        }
        if (steps >= 1) {
            domain.release();
        }
        steps = 0;
    }

    private static void giveBack(IbverbsCompletionQueue queue, int count, boolean used) {
        if (used) {
            queue.retire(count);
        } else {
            queue.unreserve(count);
        }
    }

    /** How many receives of its own it has. */
    int receives() {
        return sharedReceives == null ? config.maxReceives() : 0;
    }

    /** How many elements a receive of its own can have. */
    int receiveElements() {
        return sharedReceives == null ? config.maxReceiveElements() : 0;
    }

    @Override
    public String toString() {
        return "maxSends=" + config.maxSends() + ", maxReceives=" + receives() + ", maxSendElements="
                + config.maxSendElements() + ", maxReceiveElements=" + receiveElements() + ", maxInlineBytes="
                + config.maxInlineBytes();
    }
}
