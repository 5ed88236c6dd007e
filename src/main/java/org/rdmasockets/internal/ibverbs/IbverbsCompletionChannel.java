package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.rdmasockets.internal.ffi.Captured;
import org.rdmasockets.internal.ibverbs.generated.ibv_comp_channel;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** A completion channel over {@code ibv_comp_channel}, non-blocking. */
final class IbverbsCompletionChannel extends NativeHandle implements CompletionChannel, Pollable {
    private static final long QUEUE_OFFSET = 0;
    private static final long CONTEXT_OFFSET = 8;
    private static final long CAPTURED_OFFSET = 16;

    private final IbverbsDevice device;
    /** The {@code ibv_comp_channel}, for callers that retain this. */
    final MemorySegment pointer;
    private final int descriptor;
    /** The two results of {@code ibv_get_cq_event}, then errno; guarded by this. */
    private final MemorySegment scratch;
    private final Captured captured;
    /** Index, which is the {@code cq_context} of its queue, to queue; free entries are null; guarded by this. */
    private IbverbsCompletionQueue[] queues = new IbverbsCompletionQueue[4];
    /**
     * Most events that can be there or come: one for each time that a queue was armed, before it was. After an event,
     * {@link #drainEvents} asks for the next only if there can be one: else that would be another system call for each
     * event.
     */
    private final AtomicInteger expected = new AtomicInteger();

    /** Makes a channel; throws if no descriptor can be had. */
    IbverbsCompletionChannel(IbverbsDevice device) throws VerbsException {
        super("completion channel");
        this.device = device;
        ControlCall.IBV_GET_CQ_EVENT.resolve();
        ControlCall.IBV_ACK_CQ_EVENTS.resolve(); // an event that was taken must not stay unacknowledged
        pointer = ControlCall.IBV_CREATE_COMP_CHANNEL.pointer("device=" + device, device.context);
        descriptor = ibv_comp_channel.fd(pointer);
        Pollable.makeNonBlocking(descriptor);
        scratch = IbverbsCalls.allocate(CAPTURED_OFFSET + Captured.BYTES);
        captured = new Captured(scratch.asSlice(CAPTURED_OFFSET));
    }

    /** Finds a free index for a queue about to be made. */
    synchronized int reserveIndex(IbverbsCompletionQueue queue) {
        int index = 0;
        while (index < queues.length && queues[index] != null) {
            index++;
        }
        if (index == queues.length) {
            queues = Arrays.copyOf(queues, index * 2);
        }
        queues[index] = queue;
        return index;
    }

    /** Gives an index back, once no event can name it any more. */
    synchronized void freeIndex(int index) {
        queues[index] = null;
    }

    /** A queue is about to be armed. */
    void expectEvent() {
        expected.incrementAndGet();
    }

    /** So many events will not come: their queue is gone. */
    void expectFewer(int events) {
        expected.addAndGet(-events);
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public int drainEvents(Consumer<? super CompletionQueue> handler) throws VerbsException {
        int events = 0;
        IbverbsCompletionQueue queue = nextEvent();
        while (queue != null) {
            events++;
            handler.accept(queue);
            queue = expected.get() > 0 ? nextEvent() : null;
        }
        return events;
    }

    /** Takes and acknowledges one event; null if there is none, or this is closed. */
    private synchronized IbverbsCompletionQueue nextEvent() throws VerbsException {
        while (!isClosedLocked()) {
            long error = -ControlCall.IBV_GET_CQ_EVENT.call(captured, pointer.address(),
                    scratch.address() + QUEUE_OFFSET, scratch.address() + CONTEXT_OFFSET, 0);
            if (error == 0) {
                // Looked up before it is acknowledged: until then the queue cannot be destroyed, so the index is its.
                int index = (int) scratch.get(ValueLayout.JAVA_LONG, CONTEXT_OFFSET);
                IbverbsCompletionQueue queue = queues[index];
                expected.decrementAndGet();
                queue.eventTaken();
                ControlCall.IBV_ACK_CQ_EVENTS.call(captured, scratch.get(ValueLayout.JAVA_LONG, QUEUE_OFFSET), 1, 0, 0);
                return queue;
            }
            if (error == Errno.EAGAIN.number()) {
                return null;
            }
            if (error != Errno.EINTR.number()) {
                throw ControlCall.IBV_GET_CQ_EVENT.failure(error, "device=" + device);
            }
        }
        return null;
    }

    @Override
    public int descriptor() {
        return descriptor;
    }

    @Override
    void destroy() {
        ControlCall.IBV_DESTROY_COMP_CHANNEL.destroy(pointer);
        IbverbsCalls.free(scratch);
    }
}
