package org.rdmasockets.transport;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.rdmasockets.completion.CompletionInbox;
import org.rdmasockets.completion.Side;
import org.rdmasockets.stream.FlowKind;
import org.rdmasockets.stream.StreamConnection;
import org.rdmasockets.stream.StreamSettings;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;

/**
 * The memory of one stream, made and given back on the set-up pool. Each connection has a protection domain of its own:
 * keys are checked against the domain, so in a shared one any peer could write into any ring.
 */
final class Resources {
    private static final Set<AccessFlag> LOCAL = Set.of(AccessFlag.LOCAL_WRITE);
    private static final Set<AccessFlag> REMOTE = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);

    private static final Set<AccessFlag> READ_TOO = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_READ);

    private static final Recent<StreamSettings> SETTINGS = new Recent<>();
    private static final Recent<QueuePairConfig> QUEUES = new Recent<>();
    private static volatile Made last;

    private ProtectionDomain domain;
    /** Null where none is needed. */
    private MemoryRegion sendRegion;
    private MemoryRegion remoteRegion;
    private CompletionInbox inbox;
    private StreamConnection stream;

    /**
     * Set-up pool: makes everything, with receives posted.
     *
     * @throws IOException if the device refuses; what is made by then is to be closed
     */
    void allocate(VerbsConnection connection, StreamOptions options, Side side) throws IOException {
        ConnectionIdentifier identifier = connection.identifier();
        StreamSettings settings = settings(identifier, options);
        domain = identifier.allocateProtectionDomain();
        long sendBytes = settings.sendRegionBytes();
        sendRegion = sendBytes == 0 ? null : allocateLocal(sendBytes);
        remoteRegion = domain.allocate(settings.remoteRegionBytes(), opened(settings.flow(), side));
        inbox = connection.openInbox(side, settings.maxSends() + settings.maxReceives());
        QueuePair queuePair = connection.createQueuePair(domain, queues(inbox.shard().queue(), settings,
                options.inlineBytes()));
        stream = new StreamConnection(queuePair, sendRegion, remoteRegion, settings, inbox.workRequestIdBase());
        stream.postReceives();
    }

    /** What the peer may do with the region it is told of. Who has agreed to messages needs no region for it. */
    private static Set<AccessFlag> opened(FlowKind flow, Side side) {
        return switch (flow) {
            case CREDIT_RING -> REMOTE;
            case SEND_RECEIVE -> side == Side.PASSIVE ? LOCAL : REMOTE;
            case READ_RING -> READ_TOO;
        };
    }

    /** What the connection before was made with; the next is mostly made with the same. */
    private record Made(Device device, int port, StreamOptions options, StreamSettings settings) {
    }

    /** One queue for all completions; a message may wrap in the send ring, and the stream says what is signalled. */
    private static QueuePairConfig queues(CompletionQueue queue, StreamSettings settings, int inlineBytes) {
        return QUEUES.same(new QueuePairConfig(queue, queue, settings.maxSends(), settings.maxReceives(),
                settings.sendElements(), 1, inlineBytes, false));
    }

    /** What was asked for, within what the device can do. */
    private static StreamSettings settings(ConnectionIdentifier identifier, StreamOptions options)
            throws VerbsException {
        Device device = identifier.device();
        int port = identifier.portNumber();
        Made before = last;
        if (before != null && before.options == options && before.device == device && before.port == port) {
            return before.settings;
        }
        StreamSettings settings = SETTINGS.same(settings(device, port, options));
        last = new Made(device, port, options, settings);
        return settings;
    }

    private static StreamSettings settings(Device device, int port, StreamOptions options) throws VerbsException {
        int most = device.attributes().maxWorkRequests();
        StreamSettings settings = StreamSettings
                .forDevice(device, device.port(port).maxMessageBytes())
                .withQueues(Math.min(options.sendQueueSize(), most), Math.min(options.receiveQueueSize(), most));
        // Where no send ring is needed, its bytes go to the receive side: as much as elsewhere lies between two peers.
        int receiveBytes = settings.copiesAtPost() ? Math.min(StreamOptions.MAX_BUFFER_BYTES,
                options.sendBufferBytes() + options.receiveBufferBytes()) : options.receiveBufferBytes();
        return settings.withBuffers(options.sendBufferBytes(), receiveBytes)
                .withMaps(options.maps()).withFlow(options.flow(), options.messageBytes());
    }

    /** Where completions arrive. */
    CompletionInbox inbox() {
        return inbox;
    }

    /** The protocol's state; under the inbox's protocol lock. */
    StreamConnection stream() {
        return stream;
    }

    /** Set-up pool: memory for what is sent. */
    MemoryRegion allocateLocal(long bytes) throws VerbsException {
        return domain.allocate(bytes, LOCAL);
    }

    /** Set-up pool: registers memory to send from. */
    MemoryRegion registerLocal(MemorySegment memory) throws VerbsException {
        return domain.register(memory, LOCAL);
    }

    /** Set-up pool: memory for the peer to write to. */
    MemoryRegion allocateRemote(long bytes) throws VerbsException {
        return domain.allocate(bytes, REMOTE);
    }

    /** Registered for the life of the connection, in bytes. */
    long bytes() {
        return (sendRegion == null ? 0 : sendRegion.lengthBytes()) + remoteRegion.lengthBytes();
    }

    /**
     * Set-up pool: gives all memory back; the queue pair is gone.
     *
     * @param later memory that was made later
     * @param direct likewise, or null
     * @param viewed memory that is left as it is, or null
     */
    void close(List<MemoryRegion> later, StreamDirect direct, MemoryRegion viewed) {
        later.forEach(region -> closeUnless(viewed, region));
        if (direct != null) {
            direct.close();
        }
        closeUnless(viewed, sendRegion);
        closeUnless(viewed, remoteRegion);
        if (domain != null) {
            domain.close();
        }
    }

    private static void closeUnless(MemoryRegion viewed, MemoryRegion region) {
        if (region != null && region != viewed) {
            region.close();
        }
    }
}
