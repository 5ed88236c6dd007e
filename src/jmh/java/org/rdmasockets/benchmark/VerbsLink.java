package org.rdmasockets.benchmark;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * Messages in lockstep, as {@code ib_write_lat} does it: a message is written into the other end's memory, with a mark
 * behind it, and the other end spins on the mark. That rests on the last byte being the last to arrive, as devices do
 * it, though no specification promises it. One thread.
 *
 * <p>Memory: two slots that the other end writes to, two that it is written from, used in turns. So there may be one
 * message that has not been answered, and the first two may follow each other. All but the first have one length.
 */
final class VerbsLink implements Link {
    private static final VarHandle MARK = ValueLayout.JAVA_BYTE.varHandle();
    private static final int LARGEST_BYTES = 64 * 1024;
    private static final int SLOT_BYTES = LARGEST_BYTES + 64;
    private static final int SLOTS = 2;
    /** Marks are 1 to this many: never zero, which is there before the first, and another one for each slot's turn. */
    private static final int MARKS = 127;
    /** One completion for as many messages. At most twice as many are on their way. */
    private static final int SIGNAL_EVERY = 32;
    private static final int INLINE_BYTES = 220;
    /** Looks at the mark before one at the connection. */
    private static final int SPINS = 1 << 16;
    /** Soft-RoCE takes 7 as for ever. */
    private static final int RETRIES = 6;
    private static final int PLACE_BYTES = Long.BYTES + Integer.BYTES;

    private final ConnectionIdentifier identifier;
    private final VerbsEvents.Mailbox mailbox;
    private final ProtectionDomain domain;
    private final CompletionQueue queue;
    private final QueuePair queuePair;
    private final MemoryRegion region;
    private final MemorySegment memory;
    private final WorkCompletions done;
    private final SendRequest request = new SendRequest(1);
    /** Where the other end's slots are. */
    private long remoteAddress;
    private int remoteKey;
    private long sent;
    private long received;

    /** An end whose identifier knows its device; not connected. */
    VerbsLink(ConnectionIdentifier identifier, VerbsEvents.Mailbox mailbox) throws VerbsException {
        this.identifier = identifier;
        this.mailbox = mailbox;
        domain = identifier.device().allocateProtectionDomain();
        queue = identifier.device().createCompletionQueue(2 * SIGNAL_EVERY + 1, null);
        queuePair = identifier.createQueuePair(domain,
                new QueuePairConfig(queue, queue, 2 * SIGNAL_EVERY, 1, 1, 1, INLINE_BYTES, false));
        region = domain.allocate(2L * SLOTS * SLOT_BYTES, Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
        memory = region.segment();
        done = queue.newBatch(1);
    }

    /** The parameters for the other end: where its messages go. */
    ConnectionParameters parameters() {
        byte[] place = ByteBuffer.allocate(PLACE_BYTES).putLong(region.address()).putInt(region.remoteKey()).array();
        return new ConnectionParameters(place, 1, 1, RETRIES, RETRIES);
    }

    /** Takes the parameters of the other end. */
    void reach(ConnectionParameters said) {
        ByteBuffer place = ByteBuffer.wrap(said.privateData());
        remoteAddress = place.getLong();
        remoteKey = place.getInt();
    }

    @Override
    public void write(byte[] message) throws IOException {
        int slot = slot(sent);
        long local = (long) SLOTS * SLOT_BYTES + slot;
        MemorySegment.copy(message, 0, memory, ValueLayout.JAVA_BYTE, local, message.length);
        memory.set(ValueLayout.JAVA_BYTE, local + message.length, mark(sent));
        request.write(sent, remoteAddress + slot, remoteKey).add(region, local, message.length + 1);
        if (message.length < queuePair.maxInlineBytes()) {
            request.inline();
        }
        if (sent % SIGNAL_EVERY == 0) {
            awaitLastSignal();
            request.signalled();
        }
        int status = queuePair.postSend(request);
        if (status != QueuePair.POSTED) {
            throw new IOException("the post of a write failed: " + Errno.of(status));
        }
        sent++;
    }

    /** Room for as many messages as one completion stands for. It is there long before, unless the device lags. */
    private void awaitLastSignal() throws IOException {
        if (sent == 0) {
            return;
        }
        while (queue.poll(done) == 0) {
            Thread.onSpinWait();
        }
        if (done.status(0) != 0) {
            throw new IOException("a write failed: " + WorkCompletionStatus.of(done.status(0)));
        }
    }

    /** Takes a whole message, which is as long as the reader wants. */
    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        int slot = slot(received);
        byte mark = mark(received);
        for (int spins = 1; (byte) MARK.getAcquire(memory, (long) slot + length) != mark; spins++) {
            if (spins % SPINS == 0 && mailbox.isDisconnected()) {
                return -1;
            }
            Thread.onSpinWait();
        }
        MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, slot, into, offset, length);
        received++;
        return length;
    }

    private static int slot(long message) {
        return (int) (message % SLOTS) * SLOT_BYTES;
    }

    private static byte mark(long message) {
        return (byte) (message % MARKS + 1);
    }

    @Override
    public void close() {
        try {
            identifier.disconnect();
        } catch (VerbsException e) {
            // The other end was first.
        }
        queuePair.close();
        identifier.close();
        region.close();
        queue.close();
        domain.close();
    }
}
