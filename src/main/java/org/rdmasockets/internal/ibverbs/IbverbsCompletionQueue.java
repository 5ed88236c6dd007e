package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmasockets.internal.ibverbs.generated.ibv_cq;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * A completion queue over {@code ibv_cq}. Queue pairs reserve room for all their requests, so that it cannot overrun:
 * an overrun queue drops completions silently. The monitor is held during a poll, which is short.
 */
final class IbverbsCompletionQueue extends NativeHandle implements CompletionQueue {
    private final IbverbsDevice device;
    private final IbverbsCompletionChannel channel;
    private final MemorySegment pollFunction;
    /** Index in the channel, its {@code cq_context}. */
    private final int index;
    /** The {@code ibv_cq}, for callers that retain this. */
    final MemorySegment pointer;
    private final long address;
    /** {@code ibv_cq.cqe}; guarded by this. */
    private int entries;
    /** Entries promised to queue pairs, the retired ones included; guarded by this. */
    private int reserved;
    /** Entries of destroyed queue pairs that completions may still occupy; guarded by this. */
    private int retired;
    /** How many events may still come, as the channel counts them. */
    private final AtomicInteger expected = new AtomicInteger();

    /** Makes a queue of at least so many entries; its events go to the channel, if any. */
    IbverbsCompletionQueue(IbverbsDevice device, int entries, CompletionChannel channel) throws VerbsException {
        super("completion queue");
        String text = "device=" + device + ", entries=" + entries;
        if (entries < 1 || entries > device.attributes().maxCompletionQueueEntries()) {
            throw new VerbsException(ControlCall.IBV_CREATE_CQ.name, Errno.EINVAL.number(), text,
                    "this device's completion queues have 1 to " + device.attributes().maxCompletionQueueEntries()
                            + " entries");
        }
        if (channel != null && (!(channel instanceof IbverbsCompletionChannel own) || own.device() != device)) {
            throw new IllegalArgumentException("the completion channel belongs to another device");
        }
        this.device = device;
        this.channel = (IbverbsCompletionChannel) channel;
        pollFunction = device.pollCq;
        MemorySegment channelPointer = MemorySegment.NULL;
        if (channel == null) {
            index = 0;
        } else {
            this.channel.retain(ControlCall.IBV_CREATE_CQ);
            index = this.channel.reserveIndex(this);
            channelPointer = this.channel.pointer;
        }
        try {
            pointer = ControlCall.IBV_CREATE_CQ.pointer(text, device.context, entries, MemorySegment.ofAddress(index),
                    channelPointer, 0);
        } catch (Throwable e) {
            leaveChannel();
            throw e;
        }
        address = pointer.address();
        this.entries = ibv_cq.cqe(pointer);
    }

    private void leaveChannel() {
        if (channel != null) {
            channel.expectFewer(expected.get());
            channel.freeIndex(index);
            channel.release();
        }
    }

    /** Where the {@code ibv_cq} is. */
    long address() {
        return address;
    }

    /** Promises entries to a queue pair; false if there are not as many. */
    synchronized boolean tryReserve(int count) {
        boolean fits = count <= entries - reserved;
        if (fits) {
            reserved += count;
        }
        return fits;
    }

    /** Takes a promise back that no queue pair ever used. */
    synchronized void unreserve(int count) {
        reserved -= count;
    }

    /** Takes a promise back after the queue pair was destroyed: as soon as the queue was seen empty. */
    synchronized void retire(int count) {
        retired += count;
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public synchronized int entries() {
        return entries;
    }

    @Override
    public synchronized int unreservedEntries() {
        return entries - reserved;
    }

    @Override
    public WorkCompletions newBatch(int capacity) {
        return new IbverbsWorkCompletions(capacity);
    }

    @Override
    public int poll(WorkCompletions batch) throws VerbsException {
        IbverbsWorkCompletions completions = (IbverbsWorkCompletions) batch;
        int taken;
        synchronized (this) {
            if (isClosedLocked()) {
                return 0;
            }
            taken = IbverbsCalls.pollCq(pollFunction, address, completions.capacity(), completions.address());
            if (taken >= 0 && taken < completions.capacity()) {
                // Fewer than asked for: the queue is empty, so nothing of a destroyed queue pair is in it.
                reserved -= retired;
                retired = 0;
            }
        }
        Reference.reachabilityFence(completions);
        if (taken < 0) {
            throw new VerbsException("ibv_poll_cq", Errno.EIO, "device=" + device + ", result=" + taken);
        }
        return taken;
    }

    @Override
    public void requestNotification() throws VerbsException {
        int error;
        synchronized (this) {
            if (isClosedLocked()) {
                return;
            }
            if (channel != null) {
                expected.incrementAndGet();
                channel.expectEvent();
            }
            error = IbverbsCalls.post(device.requestNotification, address, 0, 0);
        }
        if (error != 0) {
            throw new VerbsException("ibv_req_notify_cq", error, "device=" + device, "");
        }
    }

    /** The channel has given out an event of this. */
    void eventTaken() {
        expected.decrementAndGet();
    }

    @Override
    public void resize(int newEntries) throws VerbsException {
        String text = "device=" + device + ", entries=" + newEntries;
        device.require(Capability.RESIZE_COMPLETION_QUEUE, ControlCall.IBV_RESIZE_CQ, text,
                "this device cannot resize completion queues");
        synchronized (this) {
            if (isClosedLocked()) {
                throw closedFailure(ControlCall.IBV_RESIZE_CQ);
            }
            if (newEntries < Math.max(1, reserved)) {
                throw new VerbsException(ControlCall.IBV_RESIZE_CQ.name, Errno.EINVAL.number(), text,
                        reserved + " entries are reserved by queue pairs");
            }
            // Under the monitor, unlike other control calls: drivers swap the buffer that a poll reads.
            ControlCall.IBV_RESIZE_CQ.check(text, pointer, newEntries);
            entries = ibv_cq.cqe(pointer);
        }
    }

    @Override
    void destroy() {
        device.forget(this);
        // Does not block: every event was acknowledged when it was taken.
        ControlCall.IBV_DESTROY_CQ.destroy(pointer);
        leaveChannel();
    }
}
