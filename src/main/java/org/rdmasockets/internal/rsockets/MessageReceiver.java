package org.rdmasockets.internal.rsockets;

import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.ReceiveRequest;

/**
 * The receive queue. Each receive has a slot of memory if its device needs one: 4 bytes, which iWARP fills with the
 * message, or more if the payload of messages arrives there. Such a receive is posted again at once, or when its
 * message was read. Receives without memory are posted again a few at a time, in one call, but always before credits
 * are given: so those missing are receives of data, whose credit was used up, and a few of the many for control.
 */
final class MessageReceiver {
    /** Most receives that one call of a device posts. */
    private static final int MOST_FREE = 8;
    /** For receives without memory, all of which are equal but for their identifiers; never changed. */
    private static final ReceiveRequest EMPTY = new ReceiveRequest(1);

    /** The memory of receives that need some: slots, each with the payload behind a header. */
    private record Slots(MemoryRegion region, long offset, int bytes, int headerBytes, int stride,
            ReceiveRequest request) {
        static Slots of(MemoryRegion region, StreamSettings settings) {
            return new Slots(region, RegionLayout.of(settings).incomingOffset(), settings.receiveBytes(),
                    settings.headerBytes(), RegionLayout.receiveStride(settings), new ReceiveRequest(1));
        }

        long offset(int slot) {
            return offset + (long) slot * stride;
        }
    }

    /** The send queue of the same queue pair. */
    private final MessageSender sends;
    /** Free receives that are posted together. */
    private final int mostFree;
    /** Null if receives need no memory. */
    private final Slots slots;
    /** Receives without memory that wait to be posted: from this slot on, and how many. */
    private int firstFree;
    private int freeCount;

    /** An empty queue beside the send queue of the same queue pair; the region, if any, holds the slots. */
    MessageReceiver(MessageSender sends, MemoryRegion region, StreamSettings settings) {
        this.sends = sends;
        mostFree = Math.min(MOST_FREE, settings.spareReceives() / 2);
        this.slots = RegionLayout.needsMessageSlots(settings) ? Slots.of(region, settings) : null;
    }

    /** Posts all receives; gives {@link QueuePair#POSTED} or an error number. */
    int postAll() {
        for (int slot = 0; slot < sends.settings.maxReceives(); slot++) {
            int error = repost(slot);
            if (error != QueuePair.POSTED) {
                return error;
            }
        }
        return postFree();
    }

    /** Posts a receive again, now or by {@link #postFree} at the latest: POSTED or an error number. */
    int repost(int slot) {
        if (slots != null) {
            return sends.queuePair.postReceive(slots.request.receive(id(slot)).add(slots.region, slots.offset(slot),
                    slots.bytes));
        }
        // Receives complete in order, so the next slot follows, except at the end of a turn.
        int error = slot == firstFree + freeCount ? QueuePair.POSTED : postFree();
        firstFree = freeCount == 0 ? slot : firstFree;
        freeCount++;
        return error == QueuePair.POSTED && freeCount == mostFree ? postFree() : error;
    }

    /** Posts what waits to be posted again, before credits are given: POSTED or an error number. */
    int postFree() {
        int count = freeCount;
        freeCount = 0;
        return count == 0 ? QueuePair.POSTED : sends.queuePair.postReceives(EMPTY, id(firstFree), count);
    }

    /** Reads the message that a send left in the slot of a completed receive, in the sender's byte order: ours. */
    int message(int slot) {
        return slots.region.segment().get(ValueLayout.JAVA_INT, slots.offset(slot));
    }

    /** How many receives are free, and not posted again yet: 0 or more; they are posted before any credit is given. */
    int freeCount() {
        return freeCount;
    }

    /** Whether so many bytes, sent without immediate data, are a message. */
    boolean isMessage(int lengthBytes, FlowKind flow) {
        return lengthBytes == ImmediateData.BYTES || lengthBytes > ImmediateData.BYTES && flow == FlowKind.SEND_RECEIVE;
    }

    /** Where payloads arrive, if receives have memory for them. */
    MemoryRegion region() {
        return slots.region;
    }

    /** Where the payload of a message begins in {@link #region()}. */
    long payloadOffset(int slot) {
        return slots.offset(slot) + slots.headerBytes;
    }

    private long id(int slot) {
        return WorkRequestId.of(sends.idBase, WorkRequestId.RECEIVE, slot);
    }
}
