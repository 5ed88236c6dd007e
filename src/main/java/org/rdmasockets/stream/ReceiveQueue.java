package org.rdmasockets.stream;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.ReceiveRequest;

/**
 * The receive queue: always as full as it can be. Each receive has a slot of 4 bytes if its device needs one, which
 * iWARP fills with the message.
 */
final class ReceiveQueue {
    private final QueuePair queuePair;
    private final MemoryRegion region;
    private final MemorySegment memory;
    private final boolean slots;
    private final long incomingOffset;
    private final int depth;
    private final long idBase;
    private final ReceiveRequest request = new ReceiveRequest(1);

    /**
     * An empty queue.
     *
     * @param queuePair where to post
     * @param region the send region, which holds the slots
     * @param settings the sizes
     * @param idBase the connection's part of work request identifiers
     */
    ReceiveQueue(QueuePair queuePair, MemoryRegion region, StreamSettings settings, long idBase) {
        this.queuePair = queuePair;
        this.region = region;
        this.memory = region.segment();
        this.slots = RegionLayout.needsMessageSlots(settings);
        this.incomingOffset = RegionLayout.of(settings).incomingOffset();
        this.depth = settings.maxReceives();
        this.idBase = idBase;
    }

    /**
     * Posts all receives.
     *
     * @return {@link QueuePair#POSTED} or an error number
     */
    int postAll() {
        for (int slot = 0; slot < depth; slot++) {
            int error = post(slot);
            if (error != QueuePair.POSTED) {
                return error;
            }
        }
        return QueuePair.POSTED;
    }

    /**
     * Posts one receive.
     *
     * @param slot 0 to depth - 1, not posted now
     * @return {@link QueuePair#POSTED} or an error number
     */
    int post(int slot) {
        request.receive(WorkRequestId.of(idBase, WorkRequestId.RECEIVE, slot));
        if (slots) {
            request.add(region, offset(slot), ImmediateData.BYTES);
        }
        return queuePair.postReceive(request);
    }

    /**
     * Reads the message that a send left in a slot, in the sender's byte order, which is ours.
     *
     * @param slot the slot of the completed receive
     * @return the message
     */
    int message(int slot) {
        return memory.get(ValueLayout.JAVA_INT, offset(slot));
    }

    private long offset(int slot) {
        return incomingOffset + (long) slot * ImmediateData.BYTES;
    }
}
