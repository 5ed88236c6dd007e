package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/** A queue pair for datagrams with all that it needs: the first half of its region is for sends. */
final class DatagramEnd implements AutoCloseable {
    /** Where receives begin in the region. */
    static final int RECEIVED = 8192;
    static final int RECEIVE_BYTES = AddressHandle.ROUTING_HEADER_BYTES + 4096;
    private static final long LIMIT_NANOS = 30_000_000_000L;

    final ProtectionDomain domain;
    final QueuePair pair;
    final MemoryRegion region;
    final int key;
    final WorkCompletions batch;
    final SendRequest send = new SendRequest(2);
    private final CompletionQueue queue;

    /** An end in state RESET. */
    DatagramEnd(Device device, int key) throws VerbsException {
        this.key = key;
        domain = device.allocateProtectionDomain();
        queue = device.createCompletionQueue(16, null);
        pair = domain.createDatagramQueuePair(new QueuePairConfig(queue, queue, 4, 4, 2, 2, 64, false));
        region = domain.allocate(2 * RECEIVED, Set.of(AccessFlag.LOCAL_WRITE));
        batch = queue.newBatch(1);
    }

    /** Makes it send and receive. */
    DatagramEnd ready() throws VerbsException {
        pair.modify(new QueuePairAttributes().state(QueuePairState.INIT).set(Field.PORT, 1)
                .set(Field.PARTITION_KEY_INDEX, 0).set(Field.QUEUE_KEY, key));
        pair.modify(new QueuePairAttributes().state(QueuePairState.READY_TO_RECEIVE));
        pair.modify(new QueuePairAttributes().state(QueuePairState.READY_TO_SEND).set(Field.SEND_PACKET_NUMBER, 1));
        return this;
    }

    void postReceive(long id) {
        ReceiveRequest request = new ReceiveRequest(1).receive(id).add(region, RECEIVED, RECEIVE_BYTES);
        assertEquals(QueuePair.POSTED, pair.postReceive(request), "post of a receive");
    }

    /** A signalled send of bytes of that value to another end, not posted. */
    SendRequest sendTo(AddressHandle handle, DatagramEnd other, int bytes, int value) {
        region.segment().asSlice(0, bytes).fill((byte) value);
        return send.send(1).add(region, 0, bytes).to(handle, other.pair.number(), other.key).signalled();
    }

    /** Sends, and waits for the completion, which says nothing of the arrival. */
    void deliver(SendRequest request) throws VerbsException {
        assertEquals(QueuePair.POSTED, pair.postSend(request), "post of a datagram");
        assertEquals(1, await(WorkCompletionStatus.SUCCESS));
    }

    /** Waits for the next completion, which is left in the batch; its identifier. */
    long await(WorkCompletionStatus status) throws VerbsException {
        long deadline = System.nanoTime() + LIMIT_NANOS;
        while (queue.poll(batch) == 0) {
            assertTrue(System.nanoTime() - deadline < 0, "no completion within the limit");
            Thread.onSpinWait();
        }
        assertEquals(status, WorkCompletionStatus.of(batch.status(0)), "status");
        return batch.workRequestId(0);
    }

    /** Asserts that so many bytes of that value were received, behind the routing header. */
    void assertReceived(int bytes, int value) {
        assertEquals(AddressHandle.ROUTING_HEADER_BYTES + bytes, batch.lengthBytes(0), "length");
        byte[] expected = new byte[bytes];
        Arrays.fill(expected, (byte) value);
        assertEquals(Arrays.toString(expected), Arrays.toString(region.segment().asSlice(RECEIVED
                + AddressHandle.ROUTING_HEADER_BYTES, bytes).toArray(ValueLayout.JAVA_BYTE)), "data");
    }

    @Override
    public void close() {
        pair.close();
        region.close();
        queue.close();
        domain.close();
    }
}
