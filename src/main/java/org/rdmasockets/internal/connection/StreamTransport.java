package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.waiting.Completion;
import org.rdmasockets.internal.waiting.CompletionInbox;
import org.rdmasockets.internal.waiting.Role;
import org.rdmasockets.internal.waiting.ConnectionRole;
import org.rdmasockets.internal.waiting.WaitResult;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.connection.StreamOptions.Option;
import org.rdmasockets.internal.rsockets.ConnectData;
import org.rdmasockets.internal.rsockets.FlowKind;
import org.rdmasockets.internal.rsockets.StreamConnection;
import org.rdmasockets.internal.rsockets.StreamFailure;
import org.rdmasockets.internal.rsockets.StreamSettings;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;

/**
 * One byte stream over RDMA: the protocol of rsockets, its memory, and the operations of the application. Memory is
 * made and given back on the set-up pool. Each connection has a protection domain of its own: keys are checked against
 * the domain, so in a shared one any peer could write into any ring.
 */
public final class StreamTransport implements Connection, Protocol {
    private static final Log LOG = new Log(StreamTransport.class);
    /** Code of 0.01 ms (InfiniBand specification, 9.7.5.2.8); the connection manager's 0 means 655 ms. */
    private static final int SHORT_RECEIVER_NOT_READY_TIMER = 1;

    private static final Set<AccessFlag> LOCAL = Set.of(AccessFlag.LOCAL_WRITE);
    private static final Set<AccessFlag> REMOTE = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    private static final Set<AccessFlag> READ_TOO = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_READ);
    private static final Interner<StreamSettings> SETTINGS = new Interner<>();
    private static final Interner<QueuePairConfig> QUEUES = new Interner<>();
    private static volatile Made last;

    private final VerbsConnection connection;
    private final StreamOptions options;
    /** The peer's request, until it is connected; null at the end that connects. */
    private ConnectData asked;
    private ProtectionDomain domain;
    /** Null where none is needed. */
    private MemoryRegion sendRegion;
    private MemoryRegion remoteRegion;
    private CompletionInbox inbox;
    /** Protected by the inbox's protocol lock. */
    private StreamConnection stream;
    private RingSizer rings;
    /** Null until it is needed; written with the protocol lock held. */
    private volatile StreamDirect direct;
    /** Why this transport was chosen; null before the application has this. Written once, read by any thread. */
    private String reason;

    /** A stream that has nothing yet; {@code asked}, the peer's request, is null at the end that connects. */
    StreamTransport(VerbsConnection connection, StreamOptions options, ConnectData asked) {
        this.connection = connection;
        this.options = options;
        this.asked = asked;
    }

    // The protocol side: what the connection and the inbox ask for.

    @Override
    public VerbsConnection connection() {
        return connection;
    }

    @Override
    public void allocate(ConnectionRole side) throws IOException {
        Device device = connection.device();
        int port = connection.identifier().portNumber();
        Made before = last;
        if (before == null || before.options != options || before.device != device || before.port != port) {
            before = new Made(device, port, options, SETTINGS.same(settings(device, port, options)));
            last = before;
        }
        StreamSettings settings = before.settings;
        domain = connection.identifier().allocateProtectionDomain();
        long sendBytes = settings.sendRegionBytes();
        sendRegion = sendBytes == 0 ? null : allocateLocal(sendBytes);
        // The peer's rights in the region it is told of; with messages agreed on, it needs none.
        Set<AccessFlag> opened = settings.flow() == FlowKind.READ_RING ? READ_TOO
                : settings.flow() == FlowKind.SEND_RECEIVE && side == ConnectionRole.PASSIVE ? LOCAL : REMOTE;
        remoteRegion = allocate(settings.remoteRegionBytes(), opened);
        inbox = connection.openInbox(side, settings.maxSends() + settings.maxReceives());
        // One queue for all completions; a message may wrap in the send ring, and the stream says what is signalled.
        CompletionQueue queue = inbox.shard().queue();
        QueuePair queuePair = connection.createQueuePair(domain, QUEUES.same(new QueuePairConfig(queue, queue,
                settings.maxSends(), settings.maxReceives(), settings.sendElements(), 1,
                options.get(Option.INLINE_BYTES), false)));
        StreamConnection made = new StreamConnection(queuePair, sendRegion, remoteRegion, settings,
                inbox.workRequestIdBase());
        made.postReceives();
        stream = made;
        rings = new RingSizer(this);
        spin(options.get(Option.SPIN_MICROS));
        connection.liveness.keepAlive(options.keepAlive(), options.get(Option.KEEP_ALIVE_IDLE_SECONDS),
                options.keepAliveProbeSeconds());
    }

    /** The settings of the connection made last; the next is mostly made with the same. */
    private record Made(Device device, int port, StreamOptions options, StreamSettings settings) {}

    /** The settings asked for, within the limits of the device. */
    private static StreamSettings settings(Device device, int port, StreamOptions options) throws VerbsException {
        int most = device.attributes().maxWorkRequests();
        StreamSettings settings = StreamSettings
                .forDevice(device, device.port(port).maxMessageBytes())
                .withQueues(Math.min(options.get(Option.SEND_QUEUE), most),
                        Math.min(options.get(Option.RECEIVE_QUEUE), most));
        int sendBytes = options.get(Option.SEND_BUFFER_BYTES);
        int receiveBytes = options.get(Option.RECEIVE_BUFFER_BYTES);
        // Where no send ring is needed, its bytes go to the receive side: as much as elsewhere lies between two peers.
        int lentBytes = settings.copiesAtPost()
                ? Math.min(Option.RECEIVE_BUFFER_BYTES.most(), sendBytes + receiveBytes) : receiveBytes;
        return settings.withBuffers(sendBytes, lentBytes).withMaps(options.get(Option.MAPS))
                .withFlow(options.flow(), options.get(Option.MESSAGE_BYTES));
    }

    /**
     * No reads and atomics at once, but one for iWARP, whose handshake needs it, and for a flow that reads positions.
     */
    @Override
    public ConnectionParameters parameters() {
        boolean none = connection.device().supports(Capability.RECEIVER_NOT_READY_RETRY)
                && stream.flow() != FlowKind.READ_RING;
        int reads = none ? 0 : 1;
        return new ConnectionParameters(stream.localData().encode(), reads, reads, Engine.RETRY_COUNT,
                Engine.RECEIVER_NOT_READY_RETRIES);
    }

    @Override
    public int receiverNotReadyTimer() {
        return SHORT_RECEIVER_NOT_READY_TIMER;
    }

    /** The peer has DISCONNECT from the stream. */
    @Override
    public boolean disconnectsAtOnce() {
        return false;
    }

    @Override
    public void start(byte[] privateData, boolean accepted) throws IOException {
        if (accepted) {
            stream.startAccepted(asked);
            asked = null;
        } else {
            stream.start(ConnectData.decode(privateData));
        }
        if (stream.isListening()) {
            connection.liveness.listen(System.nanoTime());
            connection.attend();
        }
    }

    @Override
    public void apply(Completion completion) {
        if (completion.token() != null) {
            connection.onToken(completion.token());
            return;
        }
        stream.onCompletion(completion.workRequestId(), completion.status(), completion.opcode(),
                completion.lengthBytes(), completion.hasImmediate(), completion.immediate());
        connection.noteCompletion(stream.outstandingSends());
        endIfOver();
    }

    @Override
    public void settle() {
        endIfOver();
    }

    /**
     * Protocol lock held: requests that a thread waits for end at once if the peer will not take them, and on iWARP all
     * do, because the peer waits. Else they end with the queue pair.
     */
    private void endIfOver() {
        // Where nothing blocks, a peer that goes ends the requests that wait for it by itself.
        if (stream.isEnding() && (stream.failure() != null || connection.mayBlock()
                && (stream.isAwaited() || !connection.completionIsDelivery()))) {
            connection.end();
        }
    }

    @Override
    public boolean ready(Role role) {
        return role == Role.READER ? stream.readable() : stream.writable();
    }

    /** Asks for memory, or gives it back, if the stream needs more or less than when a thread entered. */
    @Override
    public boolean beforeExit() {
        if (rings == null) {
            return false; // the stream could not be made
        }
        if (stream.memory().takeChange()) {
            rings.adapt();
        }
        return stream.creditOwed();
    }

    @Override
    public void onDisconnected() {
        stream.onDisconnected();
    }

    /** Reads and writes of the application throw the reason. */
    @Override
    public void fail(boolean reset, String reason) {
        stream.fail(reset ? StreamFailure.reset(reason) : StreamFailure.of(reason, reason));
    }

    @Override
    public int outstandingSends() {
        return stream.outstandingSends();
    }

    @Override
    public void giveUp(long seconds) {
        if (!stream.peerDisconnected()) {
            fail(false, "Connection timed out: the peer's device has not acknowledged a write for " + seconds + " s");
        }
    }

    @Override
    public boolean confirm() {
        return stream.confirm();
    }

    @Override
    public void keepAlive() {
        stream.keepalive();
    }

    @Override
    public boolean tick(long now) {
        Liveness liveness = connection.liveness;
        if (liveness.hasListened(now)) {
            connection.later(() -> connection.locked(stream::speak));
        }
        if (!connection.isClosed() && rings.isPauseOver(now, liveness.lastActivity())) {
            connection.later(() -> connection.locked(stream::shrink));
        }
        return rings.isPauseNear(now);
    }

    @Override
    public void leave() {
        stream.leave();
    }

    @Override
    public void disconnect() {
        stream.disconnect();
    }

    @Override
    public boolean isSettled() {
        return stream.outstandingSends() == 0;
    }

    @Override
    public boolean isDrained() {
        return stream.drained();
    }

    @Override
    public boolean isPeerLeaving() {
        return stream.peerDisconnected();
    }

    @Override
    public boolean hasFailed() {
        return stream.failure() != null;
    }

    @Override
    public Runnable end() {
        if (stream == null) {
            return () -> close(List.of(), null);
        }
        if (stream.failure() != null) {
            LOG.debug("{} connection failed: {}", connection, stream.failure().detail());
            TransportStatistics.of(transport()).broke(stream.failure());
            FlightEvents.failed(transport(), localAddress(), remoteAddress(), stream.failure().detail());
        }
        stream.abort();
        List<MemoryRegion> later = stream.memory().takeAll();
        MemoryRegion viewed = direct == null ? null : direct.leaveToView();
        return () -> close(later, viewed);
    }

    /** Set-up pool: gives all memory back, some of which was made later, but what is viewed; the queue pair is gone. */
    private void close(List<MemoryRegion> later, MemoryRegion viewed) {
        try {
            for (MemoryRegion region : later) {
                closeUnless(viewed, region);
            }
            if (direct != null) {
                direct.close();
            }
        } finally {
            closeFirst(viewed);
        }
    }

    /** Ends all that the connection was made with: each step is taken, whatever another throws. */
    private void closeFirst(MemoryRegion viewed) {
        try {
            closeUnless(viewed, sendRegion);
        } finally {
            try {
                closeUnless(viewed, remoteRegion);
            } finally {
                if (domain != null) {
                    domain.close();
                }
            }
        }
    }

    private static void closeUnless(MemoryRegion viewed, MemoryRegion region) {
        if (region != null && region != viewed) {
            region.close();
        }
    }

    @Override
    public long registeredBytes() {
        StreamDirect more = direct;
        return (sendRegion == null ? 0 : sendRegion.lengthBytes()) + remoteRegion.lengthBytes() + rings.bytes()
                + (more == null ? 0 : more.bytes());
    }

    @Override
    public long receivedBytes() {
        return stream.readBytes();
    }

    @Override
    public long sentBytes() {
        return stream.writtenBytes();
    }

    /** Tells of the stream, without the protocol lock: a look at numbers that others change meanwhile. */
    void tell(ConnectionReport report) {
        report.because(reason);
        report.state(stream.state());
        report.put("kind", stream.flow().name());
        report.bytes(stream.writtenBytes(), stream.readBytes());
        report.put("window", stream.window());
        report.put("unread", stream.unreadBytes());
    }

    // The makers and users of memory of this stream.

    CompletionInbox inbox() {
        return inbox;
    }

    /** The protocol's state; under the inbox's protocol lock. */
    StreamConnection stream() {
        return stream;
    }

    /** Set-up pool: memory for what is sent. */
    MemoryRegion allocateLocal(long bytes) throws VerbsException {
        return allocate(bytes, LOCAL);
    }

    /** Set-up pool: registers memory to send from. */
    MemoryRegion registerLocal(MemorySegment memory) throws VerbsException {
        Object event = FlightEvents.registering();
        MemoryRegion region = domain.register(memory, LOCAL);
        FlightEvents.registered(event, transport(), region.lengthBytes());
        return region;
    }

    /** Set-up pool: memory for the peer to write to. */
    MemoryRegion allocateRemote(long bytes) throws VerbsException {
        return allocate(bytes, REMOTE);
    }

    private MemoryRegion allocate(long bytes, Set<AccessFlag> rights) throws VerbsException {
        Object event = FlightEvents.registering();
        MemoryRegion region = domain.allocate(bytes, rights);
        FlightEvents.registered(event, transport(), bytes);
        return region;
    }

    // The application's side.

    @Override
    public String transport() {
        return connection.engine().name();
    }

    @Override
    public void because(String why) {
        reason = why;
    }

    @Override
    public String carrier() {
        return "device " + connection.device().info().name();
    }

    @Override
    public String streamKind() {
        inbox.enter();
        try {
            return stream.flow().name();
        } finally {
            inbox.exit();
        }
    }

    @Override
    public InetSocketAddress localAddress() {
        return connection.localAddress();
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return connection.remoteAddress();
    }

    @Override
    public int read(byte[] bytes, int offset, int length, long deadlineNanos) throws IOException {
        enterToRead();
        while (true) {
            try {
                ensureOpen();
                int count = stream.read(bytes, offset, length);
                if (count != 0) {
                    return count;
                }
            } catch (Error e) {
                throw connection.spoiled(e);
            } finally {
                inbox.exit();
            }
            awaitBytesAndEnter(deadlineNanos);
        }
    }

    /** Enters the inbox, to read. */
    void enterToRead() {
        inbox.enter();
        takeInAfterFailure();
    }

    /** Inside, before a read: what arrived before a failure may still be in the completion queue. */
    private void takeInAfterFailure() {
        if (stream.failure() != null) {
            inbox.exit();
            inbox.drain();
            inbox.enter();
        }
    }

    /** Waits until a reader can go on, and enters the inbox, unless this throws. */
    void awaitBytesAndEnter(long deadlineNanos) throws IOException {
        WaitResult end = inbox.awaitAndEnter(Role.READER, deadlineNanos);
        if (end == WaitResult.TIMED_OUT || end == WaitResult.INTERRUPTED) {
            inbox.exit();
            throw end == WaitResult.TIMED_OUT ? NetErrors.readTimedOut() : NetErrors.interrupted();
        }
        takeInAfterFailure();
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        if (length > 0) {
            inbox.enter();
        }
        for (int done = 0; done < length;) {
            try {
                ensureOpen();
                done += stream.write(bytes, offset + done, length - done);
                noteWrite();
            } catch (Error e) {
                throw connection.spoiled(e);
            } finally {
                inbox.exit();
            }
            if (done < length) {
                awaitRoomAndEnter(done);
            }
        }
    }

    /** Waits until the writer, which has done so many bytes, can go on, and enters the inbox, unless this throws. */
    void awaitRoomAndEnter(int done) throws InterruptedIOException {
        if (inbox.awaitAndEnter(Role.WRITER, Long.MAX_VALUE) == WaitResult.INTERRUPTED) {
            inbox.exit();
            throw NetErrors.interrupted(done);
        }
    }

    /** Protocol lock held, after a write. */
    void noteWrite() {
        connection.noteSends(stream.outstandingSends());
    }

    @Override
    public ZeroCopyTransfers direct() {
        if (direct == null) {
            inbox.enter();
            try {
                direct = direct != null ? direct : new StreamDirect(this);
            } finally {
                inbox.exit();
            }
        }
        return direct;
    }

    /** Protocol lock held. */
    void ensureOpen() throws SocketException {
        if (connection.isClosed()) {
            throw NetErrors.closed();
        }
    }

    @Override
    public int available() throws IOException {
        inbox.enter();
        try {
            ensureOpen();
            return stream.available();
        } finally {
            inbox.exit();
        }
    }

    @Override
    public void shutdownInput() throws IOException {
        shutdown(true);
        inbox.tellAll(); // no thread reads any more, and the peer must not wait for that
    }

    @Override
    public void shutdownOutput() throws IOException {
        shutdown(false);
        if (!connection.completionIsDelivery()) {
            inbox.tellAll(); // the peer may wait for this end to go, when no thread calls any more
        }
    }

    private void shutdown(boolean input) throws SocketException {
        inbox.enter();
        try {
            ensureOpen();
            if (input) {
                stream.shutdownInput();
            } else {
                stream.shutdownOutput();
            }
            noteWrite();
            endIfOver();
        } finally {
            inbox.exit();
        }
    }

    @Override
    public void keepAlive(boolean on, int idleSeconds, int probeSeconds) {
        connection.liveness.keepAlive(on, idleSeconds, probeSeconds);
        connection.attend();
    }

    @Override
    public void spin(int micros) {
        inbox.spinBudgetNanos((int) TimeUnit.MICROSECONDS.toNanos(micros));
    }

    /** Only keep-alive concerns a connection over RDMA, and {@link #keepAlive} says that. */
    @Override
    public <T> void setOption(SocketOption<T> name, T value) {}

    @Override
    public <T> T option(SocketOption<T> name, T kept) throws SocketException {
        ensureOpen();
        return kept;
    }

    @Override
    public void sendUrgentData(int data) throws SocketException {
        inbox.enter();
        try {
            ensureOpen();
            stream.probe();
            noteWrite();
        } finally {
            inbox.exit();
        }
    }

    @Override
    public void urgentInline(boolean on) throws SocketException {
        if (on) {
            throw NetErrors.notUrgent();
        }
    }

    @Override
    public void close() {
        connection.close(TransportSettings.CURRENT.lingerNanos());
    }

    @Override
    public void close(int lingerSeconds) {
        if (lingerSeconds == 0) {
            connection.abort();
            return;
        }
        close();
        connection.awaitEnd(System.nanoTime() + TimeUnit.SECONDS.toNanos(lingerSeconds));
    }
}
