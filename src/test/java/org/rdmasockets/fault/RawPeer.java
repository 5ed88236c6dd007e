package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * One end of a connection made by hand: it knows the byte layout of rsockets, and keeps to as much of the protocol as
 * the test wants. One thread at a time.
 */
final class RawPeer implements AutoCloseable {
    /** The offer of the other end when it accepted. */
    record Offer(long tableAddress, int tableKey, long chunkAddress, int chunkKey, int chunkBytes) {
        private static Offer decode(byte[] privateData) {
            ByteBuffer data = ByteBuffer.wrap(privateData);
            assertEquals(1, data.get(0), "protocol version");
            return new Offer(data.getLong(8), data.getInt(16), data.getLong(24), data.getInt(32), data.getInt(36));
        }
    }

    /** Marks the completions of receives, of which there are many; posts are awaited one by one. */
    private static final long RECEIVE = 1;
    private static final long SEND = 2;

    private static final int RECEIVES = 128;
    private static final int TABLE_ENTRIES = 2;
    private static final int RING_OFFSET = 4_096;
    private static final int RING_BYTES = 4_096;
    private static final int SCRATCH_OFFSET = RING_OFFSET + RING_BYTES;
    private static final int SCRATCH_BYTES = 4_096;
    private static final int MESSAGE_OFFSET = SCRATCH_OFFSET + SCRATCH_BYTES;

    private final ConnectionIdentifier identifier;
    private final BlockingQueue<ConnectionEvent> events;
    private final ProtectionDomain domain;
    private final CompletionQueue completions;
    private final WorkCompletions batch;
    private final QueuePair queuePair;
    private final MemorySegment memory = Arena.global().allocate(MESSAGE_OFFSET + 4 * RECEIVES, 4_096);
    private final MemoryRegion region;
    private final SendRequest request = new SendRequest(1);

    RawPeer(ConnectionIdentifier identifier, BlockingQueue<ConnectionEvent> events) throws VerbsException {
        this.identifier = identifier;
        this.events = events;
        domain = identifier.device().allocateProtectionDomain();
        completions = identifier.device().createCompletionQueue(2 * RECEIVES, null);
        batch = completions.newBatch(16);
        region = domain.register(memory, Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
        queuePair = identifier.createQueuePair(domain, QueuePairConfig.signalled(completions, 16, RECEIVES, 0));
        ReceiveRequest receive = new ReceiveRequest(1);
        for (int i = 0; i < RECEIVES; i++) {
            receive.receive(RECEIVE).add(region, MESSAGE_OFFSET + 4L * i, 4);
            assertEquals(QueuePair.POSTED, queuePair.postReceive(receive));
        }
    }

    static <T extends ConnectionEvent> T expect(Class<T> type, BlockingQueue<ConnectionEvent> events)
            throws InterruptedException {
        return assertInstanceOf(type, events.poll(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
    }

    <T extends ConnectionEvent> T expect(Class<T> type) throws InterruptedException {
        return expect(type, events);
    }

    /** The private data of a well-behaved peer. */
    ByteBuffer privateData() {
        return ByteBuffer.allocate(40).put(0, (byte) 1).put(1, (byte) 2).putShort(2, (short) (RECEIVES - 16))
                .putLong(8, region.address()).putInt(16, region.remoteKey()).putInt(20, TABLE_ENTRIES)
                .putLong(24, region.address() + RING_OFFSET).putInt(32, region.remoteKey()).putInt(36, RING_BYTES);
    }

    /** Asks for a connection. */
    void request(byte[] privateData) throws VerbsException {
        int depth = TestBed.iwarp() ? 1 : 0;
        identifier.connect(new ConnectionParameters(privateData, depth, depth, 6, 7));
    }

    /** Connects as a well-behaved peer does. */
    Offer connect() throws IOException, InterruptedException {
        request(privateData().array());
        return Offer.decode(expect(ConnectionEvent.Established.class).parameters().privateData());
    }

    /** Writes into the other end's memory without telling it. Returns the status of the completion. */
    int write(long address, int key, byte[] data) throws IOException {
        MemorySegment.copy(data, 0, memory, ValueLayout.JAVA_BYTE, SCRATCH_OFFSET, data.length);
        return post(request.write(SEND, address, key).add(region, SCRATCH_OFFSET, data.length));
    }

    /** Tells the other end something, in the way of the device. Returns the status of the completion. */
    int message(int value) throws IOException {
        if (!TestBed.iwarp()) {
            return post(request.write(SEND, 0, 0).immediate(value));
        }
        memory.set(ValueLayout.JAVA_INT, SCRATCH_OFFSET, value);
        return post(request.send(SEND).add(region, SCRATCH_OFFSET, 4));
    }

    /** Sends bytes where only messages of 4 bytes, or immediate data, may come. */
    int send(int bytes) throws IOException {
        return post(request.send(SEND).add(region, SCRATCH_OFFSET, bytes));
    }

    /** Waits until nothing more can be sent. On iWARP an event tells; what is posted after it never completes. */
    void awaitDeath() throws IOException, InterruptedException {
        if (TestBed.iwarp()) {
            expect(ConnectionEvent.Disconnected.class);
            return;
        }
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TestBed.PATIENCE_MILLIS);
        while (post(request.write(SEND, 0, 0)) == 0) {
            assertTrue(System.nanoTime() < deadline, "the attacker can still send");
        }
    }

    /** The status of the completion; a device that takes no posts is as good as a flush. */
    private int post(SendRequest what) throws IOException {
        if (queuePair.postSend(what) != QueuePair.POSTED) {
            return WorkCompletionStatus.FLUSHED.ordinal();
        }
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TestBed.PATIENCE_MILLIS);
        while (System.nanoTime() < deadline) {
            int count = completions.poll(batch);
            for (int i = 0; i < count; i++) {
                if (batch.workRequestId(i) == SEND) {
                    return batch.status(i);
                }
            }
            Thread.onSpinWait();
        }
        throw new IOException("a post never completes");
    }

    /** Waits until the other end has written this to the start of our ring. */
    void awaitReceived(byte[] data) throws InterruptedException {
        MemorySegment start = memory.asSlice(RING_OFFSET, data.length);
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TestBed.PATIENCE_MILLIS);
        while (start.mismatch(MemorySegment.ofArray(data)) >= 0) {
            assertTrue(System.nanoTime() < deadline, "the other end's data never came");
            Thread.sleep(1);
        }
    }

    @Override
    public void close() {
        identifier.close();
        region.close();
        completions.close();
        domain.close();
    }
}
