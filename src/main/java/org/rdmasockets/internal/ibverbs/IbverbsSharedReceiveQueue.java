package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.rdmasockets.internal.ibverbs.generated.ibv_srq_attr;
import org.rdmasockets.internal.ibverbs.generated.ibv_srq_init_attr;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;

/** A shared receive queue over {@code ibv_srq}. The monitor is held during a post, so that posts go one by one. */
final class IbverbsSharedReceiveQueue extends NativeHandle implements SharedReceiveQueue {
    private final IbverbsProtectionDomain domain;
    private final IbverbsDevice device;
    private final int maxReceives;
    private final int maxElements;
    /** The {@code ibv_srq}, for callers that retain this. */
    final MemorySegment pointer;
    /** Guarded by this. */
    private final WorkRequestBlock requests;
    /** Completion queues that receives of this may complete in, and how many queue pairs say so; guarded by itself. */
    private final Map<IbverbsCompletionQueue, Integer> reported = new HashMap<>();
    private volatile boolean limitReached;

    /** Makes a queue; throws if the device refuses, or the domain is closed. */
    IbverbsSharedReceiveQueue(IbverbsProtectionDomain domain, int maxReceives, int maxElements) throws VerbsException {
        super("shared receive queue");
        this.domain = domain;
        this.device = domain.device();
        this.maxReceives = maxReceives;
        this.maxElements = maxElements;
        String text = "device=" + device + ", maxReceives=" + maxReceives + ", maxElements=" + maxElements;
        device.require(Capability.SHARED_RECEIVE_QUEUES, ControlCall.IBV_CREATE_SRQ, text,
                "this device has no shared receive queues");
        pointer = domain.makeChild(ControlCall.IBV_CREATE_SRQ, () -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment attr = ibv_srq_init_attr.allocate(arena);
                ibv_srq_attr.max_wr(ibv_srq_init_attr.attr(attr), maxReceives);
                ibv_srq_attr.max_sge(ibv_srq_init_attr.attr(attr), maxElements);
                return ControlCall.IBV_CREATE_SRQ.pointer(text, domain.pointer, attr);
            }
        });
        requests = new WorkRequestBlock(0, maxElements);
        device.remember(this);
    }

    /** Notes the device's word that the limit was reached. */
    void reached() {
        limitReached = true;
    }

    /** Takes room in a completion queue for all receives, if no other queue pair has; false if there is none. */
    boolean tryReserve(IbverbsCompletionQueue completions) {
        synchronized (reported) {
            boolean fits = reported.containsKey(completions) || completions.tryReserve(maxReceives);
            if (fits) {
                reported.merge(completions, 1, Integer::sum);
            }
            return fits;
        }
    }

    /** Gives the room back when the last queue pair has gone; completions of a used one may still be there. */
    void giveBack(IbverbsCompletionQueue completions, boolean used) {
        synchronized (reported) {
            boolean last = reported.merge(completions, -1, (uses, one) -> uses == 1 ? null : uses + one) == null;
            if (last && used) {
                completions.retire(maxReceives);
            } else if (last) {
                completions.unreserve(maxReceives);
            }
        }
    }

    @Override
    public ProtectionDomain domain() {
        return domain;
    }

    @Override
    public int maxReceives() {
        return maxReceives;
    }

    @Override
    public int maxElements() {
        return maxElements;
    }

    @Override
    public int postReceive(ReceiveRequest request) {
        synchronized (this) {
            if (isClosedLocked()) {
                return Errno.ESHUTDOWN.number();
            }
            if (!requests.fits(request)) {
                return Errno.EINVAL.number();
            }
            requests.fill(request, request.workRequestId(), 1);
            return requests.postReceives(device.postSharedReceive, pointer);
        }
    }

    @Override
    public void limit(int receives) throws VerbsException {
        String text = "device=" + device + ", limit=" + receives;
        if (receives < 0 || receives > maxReceives) {
            throw new VerbsException(ControlCall.IBV_MODIFY_SRQ.name, Errno.EINVAL.number(), text,
                    "the limit is 0 to " + maxReceives + ", the number of receives");
        }
        try (Entry entry = enter(ControlCall.IBV_MODIFY_SRQ)) {
            MemorySegment attr = ibv_srq_attr.allocate(entry.arena);
            ibv_srq_attr.srq_limit(attr, receives);
            limitReached = false;
            ControlCall.IBV_MODIFY_SRQ.check(text, pointer, attr, rdma_h.IBV_SRQ_LIMIT());
        }
    }

    @Override
    public int queryLimit() throws VerbsException {
        try (Entry entry = enter(ControlCall.IBV_QUERY_SRQ)) {
            if (!device.supports(Capability.QUERY_STATE)) {
                throw new VerbsException(ControlCall.IBV_QUERY_SRQ.name, Errno.EOPNOTSUPP.number(),
                        "device=" + device,
                        "this device does not tell the limit (Capability.QUERY_STATE): remember what was set");
            }
            MemorySegment attr = ibv_srq_attr.allocate(entry.arena);
            ControlCall.IBV_QUERY_SRQ.check("device=" + device, pointer, attr);
            return ibv_srq_attr.srq_limit(attr);
        }
    }

    @Override
    public boolean isLimitReached() {
        return limitReached;
    }

    @Override
    void destroy() {
        // Forgotten after it: until it is destroyed, an event may name it.
        ControlCall.IBV_DESTROY_SRQ.destroy(pointer);
        device.forget(this);
        requests.free();
        domain.release();
    }
}
