package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.Serializable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/** One end of a connection: identifier, domain, completion queue, queue pair and a region of {@link #BYTES} bytes. */
public final class End implements AutoCloseable {
    static final int BYTES = 64 * 1024;
    static final int SENDS = 16;
    static final int RECEIVES = 16;
    static final int INLINE_BYTES = 64;
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** A completion, copied. */
    public record Done(long id, WorkCompletionStatus status, CompletionOpcode opcode, int lengthBytes,
            boolean hasImmediate, int immediate, int queuePairNumber) implements Serializable {
    }

    public final ConnectionIdentifier identifier;
    final ConnectionEvents events;
    public final Device device;
    public final ProtectionDomain domain;
    public final CompletionQueue queue;
    public final QueuePair queuePair;
    final MemorySegment memory;
    public final MemoryRegion region;
    public final SendRequest send = new SendRequest(2);
    public final ReceiveRequest receive = new ReceiveRequest(2);
    private final WorkCompletions batch;
    private final boolean ownQueue;
    private final boolean ownDomain;

    /** An end whose identifier knows its device. */
    End(ConnectionIdentifier identifier, ConnectionEvents events) throws VerbsException {
        this(identifier, events, null);
    }

    /** An end that uses a completion queue of the caller, or a new one for null. */
    End(ConnectionIdentifier identifier, ConnectionEvents events, CompletionQueue shared) throws VerbsException {
        this(identifier, events, shared, null);
    }

    /** An end that uses a shared receive queue of the caller, and its domain, too; null for receives of its own. */
    End(ConnectionIdentifier identifier, ConnectionEvents events, CompletionQueue shared, SharedReceiveQueue receives)
            throws VerbsException {
        this.identifier = identifier;
        this.events = events;
        device = identifier.device();
        ownDomain = receives == null;
        domain = ownDomain ? device.allocateProtectionDomain() : receives.domain();
        ownQueue = shared == null;
        queue = shared != null ? shared : device.createCompletionQueue(SENDS + RECEIVES, null);
        queuePair = ownDomain ? identifier.createQueuePair(domain, config(queue))
                : identifier.createQueuePair(domain, config(queue), receives);
        region = domain.allocate(BYTES, remoteAccess());
        memory = region.segment();
        batch = queue.newBatch(8);
    }

    /** The settings that the queue pair of an end is made with. */
    public static QueuePairConfig config(CompletionQueue queue) {
        return new QueuePairConfig(queue, queue, SENDS, RECEIVES, 2, 2, INLINE_BYTES, false);
    }

    private Set<AccessFlag> remoteAccess() {
        Set<AccessFlag> access = EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
        if (device.supports(Capability.ATOMICS)) {
            access.add(AccessFlag.REMOTE_ATOMIC);
        }
        return access;
    }

    /** Posts {@link #send}. */
    public void postSend() {
        assertEquals(QueuePair.POSTED, queuePair.postSend(send), "post of " + send.opcode());
    }

    /** Posts a receive into a piece of the region. */
    void postReceive(long id, int offset, int length) {
        receive.receive(id).add(region, offset, length);
        assertEquals(QueuePair.POSTED, queuePair.postReceive(receive), "post of a receive");
    }

    /** Posts a receive for a write with immediate data. */
    void postReceiveNothing(long id) {
        receive.receive(id);
        assertEquals(QueuePair.POSTED, queuePair.postReceive(receive), "post of an empty receive");
    }

    /** The bytes of a piece of the region. */
    byte[] bytes(int offset, int length) {
        return memory.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Waits for the next completion. */
    Done await() throws VerbsException {
        WorkCompletions one = queue.newBatch(1);
        await(one);
        return copy(one, 0);
    }

    /** Waits for the next completions; how many there are, at least 1. */
    int await(WorkCompletions into) throws VerbsException {
        long deadline = System.nanoTime() + LIMIT_NANOS;
        int polled = queue.poll(into);
        while (polled == 0) {
            if (System.nanoTime() - deadline > 0) {
                return fail("no completion within the limit");
            }
            Thread.onSpinWait();
            polled = queue.poll(into);
        }
        return polled;
    }

    /** Waits for the next completion, which has to be of that request and a success. */
    public Done awaitSuccess(long id) throws VerbsException {
        Done done = await();
        assertEquals(WorkCompletionStatus.SUCCESS, done.status(), () -> "status of " + done);
        assertEquals(id, done.id(), () -> "request of " + done);
        return done;
    }

    /** Polls once without waiting; the number of completions. */
    int pollNow() throws VerbsException {
        return queue.poll(batch);
    }

    static Done copy(WorkCompletions from, int i) {
        return new Done(from.workRequestId(i), WorkCompletionStatus.of(from.status(i)), from.opcode(i),
                from.lengthBytes(i), from.hasImmediate(i), from.immediate(i), from.queuePairNumber(i));
    }

    /** Closes in the natural order; what is shared is left to its owner. */
    @Override
    public void close() {
        queuePair.close();
        identifier.close();
        region.close();
        if (ownQueue) {
            queue.close();
        }
        if (ownDomain) {
            domain.close();
        }
    }
}
