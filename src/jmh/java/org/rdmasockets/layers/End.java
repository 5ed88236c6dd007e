package org.rdmasockets.layers;

import java.net.SocketException;
import java.util.Set;
import org.rdmasockets.internal.waiting.Completion;
import org.rdmasockets.internal.waiting.CompletionClient;
import org.rdmasockets.internal.waiting.CompletionInbox;
import org.rdmasockets.internal.waiting.CompletionPoller;
import org.rdmasockets.internal.waiting.Role;
import org.rdmasockets.internal.waiting.ConnectionRole;
import org.rdmasockets.internal.rsockets.StreamConnection;
import org.rdmasockets.internal.rsockets.StreamSettings;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/** One end of a connection: verbs, a stream over them, and an inbox if a poller is given. One thread. */
final class End implements CompletionClient {
    private static final int BATCH = 16;
    private static final int BUFFER_BYTES = 256 << 10;

    final ConnectionIdentifier identifier;
    final QueuePair queuePair;
    final MemoryRegion ring;
    final StreamConnection stream;
    /** Null without a poller. */
    final CompletionInbox inbox;
    final CompletionQueue queue;
    final WorkCompletions batch;

    /**
     * An end whose identifier knows its device.
     *
     * @param identifier the connection to be
     * @param poller brings completions, or null to poll them here
     */
    End(ConnectionIdentifier identifier, CompletionPoller poller) throws VerbsException, SocketException {
        this.identifier = identifier;
        Device device = identifier.device();
        StreamSettings settings = StreamSettings.forDevice(device, device.port(1).maxMessageBytes())
                .withBuffers(BUFFER_BYTES, BUFFER_BYTES);
        int requests = settings.maxSends() + settings.maxReceives();
        inbox = poller == null ? null : poller.openInbox(device, ConnectionRole.ACTIVE, this, requests);
        queue = inbox == null ? device.createCompletionQueue(requests, null) : inbox.shard().queue();
        batch = queue.newBatch(BATCH);
        ProtectionDomain domain = device.allocateProtectionDomain();
        long sendBytes = settings.sendRegionBytes();
        MemoryRegion own = sendBytes == 0 ? null : domain.allocate(sendBytes, Set.of(AccessFlag.LOCAL_WRITE));
        ring = domain.allocate(settings.remoteRegionBytes(),
                Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
        queuePair = identifier.createQueuePair(domain, new QueuePairConfig(queue, queue, settings.maxSends(),
                settings.maxReceives(), 2, 1, 0, false));
        stream = new StreamConnection(queuePair, own, ring, settings, inbox == null ? 0 : inbox.workRequestIdBase());
        stream.postReceives();
    }

    /** Takes completions in that are there, without an inbox. */
    void poll() throws VerbsException {
        int polled = queue.poll(batch);
        for (int i = 0; i < polled; i++) {
            stream.onCompletion(batch.workRequestId(i), batch.status(i), batch.opcode(i), batch.lengthBytes(i),
                    batch.hasImmediate(i), batch.hasImmediate(i) ? batch.immediate(i) : 0);
        }
    }

    @Override
    public void apply(Completion c) {
        stream.onCompletion(c.workRequestId(), c.status(), c.opcode(), c.lengthBytes(), c.hasImmediate(),
                c.immediate());
    }

    @Override
    public boolean ready(Role role) {
        return role == Role.READER ? stream.readable() : stream.writable();
    }

    @Override
    public boolean beforeExit() {
        return stream.creditOwed();
    }
}
