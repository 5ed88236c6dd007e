package org.rdmasockets.transport;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.completion.Completion;
import org.rdmasockets.completion.CompletionClient;
import org.rdmasockets.completion.CompletionInbox;
import org.rdmasockets.completion.Role;
import org.rdmasockets.completion.Side;
import org.rdmasockets.completion.Wait;
import org.rdmasockets.stream.ConnectData;
import org.rdmasockets.stream.FlowKind;
import org.rdmasockets.stream.StreamConnection;
import org.rdmasockets.stream.StreamFailure;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.VerbsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One established byte stream over RDMA.
 *
 * <p>The end of a connection: {@link #close} sends DISCONNECT behind the written data and returns; the set-up pool
 * waits, bounded, until the peer has it all, and tears down. A connection whose peer has gone fails, and is torn down
 * when it is closed.
 */
public final class StreamTransport extends VerbsConnection implements Connection, CompletionClient {
    private static final Logger LOG = LoggerFactory.getLogger(StreamTransport.class);
    /** So often a connection that ends tries to take in what came for it. */
    private static final int MOST_FAILURES = 1_000;
    /** Code of 0.01 ms (InfiniBand specification, 9.7.5.2.8); the connection manager's 0 means 655 ms. */
    private static final int SHORT_RECEIVER_NOT_READY_TIMER = 1;

    private final ConnectionIdentifier identifier;
    private ConnectionEvents events; // null once this is the handler itself
    private final InetSocketAddress local;
    private final InetSocketAddress remote;
    private final Device device;
    private final Resources resources;
    private final CompletionInbox inbox;
    /** Protected by the inbox's protocol lock. */
    private final StreamConnection stream;
    private final Rings rings;
    /** Null until it is needed; written with the protocol lock held. */
    private volatile StreamDirect direct;
    private final Liveness liveness = new Liveness(System.nanoTime());
    private volatile boolean closed;
    /** The peer's device has closed its side, or is gone. */
    private volatile boolean peerGone;
    /** When lingering ends, by {@code System.nanoTime}; set before closed. */
    private volatile long lingerDeadline;
    /** The queue pair was told to end; protected by the protocol lock. */
    private boolean ending;

    /** Set-up pool: see {@link StreamMaker}. */
    StreamTransport(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events,
            StreamOptions options, Side side) throws IOException {
        super(engine);
        this.identifier = identifier;
        this.events = events;
        this.local = identifier.localAddress();
        this.remote = identifier.remoteAddress();
        this.device = identifier.device();
        this.resources = Resources.create(engine, identifier, options, side, this);
        this.inbox = resources.inbox();
        this.stream = resources.stream();
        this.rings = new Rings(this, resources);
        spin(options.spinMicros());
        keepAlive(options.keepAlive(), options.keepAliveIdleSeconds(), options.keepAliveProbeSeconds());
    }

    @Override
    public void start(byte[] privateData, boolean accepted) throws IOException {
        ConnectData peer = ConnectData.decode(privateData);
        if (device.supports(Capability.RECEIVER_NOT_READY_RETRY)) {
            resources.queuePair().modify(new QueuePairAttributes().set(
                    QueuePairAttributes.Field.RECEIVER_NOT_READY_TIMER, SHORT_RECEIVER_NOT_READY_TIMER));
        }
        engine.register(this, device);
        if (hasReached(Stage.TEARING_DOWN)) {
            engine.forget(this); // it was abandoned meanwhile, and forgotten before it was registered
            throw NetErrors.closed();
        }
        inbox.enter();
        try {
            if (accepted) {
                stream.startAccepted(peer);
            } else {
                stream.start(peer);
            }
            rings.check();
            if (stream.isListening()) {
                liveness.listen(System.nanoTime());
                attend();
            }
        } finally {
            inbox.exit();
        }
        events.attach(this);
        identifier.handler(this);
        events = null;
        LOG.debug("[{}->{} qp={}] connected over {}", local, remote, resources.queuePair().number(),
                device.info().name());
    }

    /** No reads and atomics at once, but one for iWARP, whose handshake needs it, and for who reads positions. */
    @Override
    public ConnectionParameters parameters() {
        boolean none = device.supports(Capability.RECEIVER_NOT_READY_RETRY) && stream.flow() != FlowKind.READ_RING;
        int reads = none ? 0 : 1;
        return new ConnectionParameters(stream.localData().encode(), reads, reads, Engine.RETRY_COUNT,
                Engine.RECEIVER_NOT_READY_RETRIES);
    }

    // The protocol side of the inbox: all but the first with the protocol lock held.

    /** Any thread: much has come in that no caller waits for. */
    @Override
    public void onBacklog() {
        engine.setupPool().execute(this::takeIn);
    }

    @Override
    public void apply(Completion completion) {
        if (completion.token() == null) {
            stream.onCompletion(completion.workRequestId(), completion.status(), completion.opcode(),
                    completion.lengthBytes(), completion.hasImmediate(), completion.immediate());
            if (liveness.completed(engine.coarseNanos(), stream.outstandingSends())) {
                attend();
            }
        } else {
            applyToken(completion.token());
        }
        endQueuePairIfOver();
        rings.check();
    }

    @Override
    public boolean ready(Role role) {
        return role == Role.READER ? stream.readable() : stream.writable();
    }

    @Override
    public boolean creditOwed() {
        return stream.creditOwed();
    }

    /** Protocol lock held: the connection manager, the poller or a deadline had something to say. */
    private void applyToken(Object token) {
        switch (token) {
            case ConnectionEvent.Disconnected disconnected -> stream.onDisconnected();
            case ConnectionEvent.DeviceRemoved removed -> failStream("RDMA device " + device.info().name()
                    + " was removed");
            case StreamFailure failure -> stream.onFailure(failure);
            case Throwable failure -> failStream("waiting for completions failed: " + failure);
            default -> failStream(token.toString());
        }
    }

    /** Protocol lock held: the application reads and writes what is wrong. */
    private void failStream(String reason) {
        stream.onFailure(StreamFailure.of(reason, reason));
    }

    /** Protocol lock held: once nothing more can come, outstanding requests shall end at once. */
    private void endQueuePairIfOver() {
        // Where nothing blocks, a peer that goes ends what waits for it by itself.
        boolean goes = engine.mayBlock() && stream.peerDisconnected();
        if (!ending && (goes || stream.failure() != null)) {
            ending = true;
            if (stream.failure() != null) {
                LOG.debug("[{}->{}] connection failed: {}", local, remote, stream.failure().detail());
            }
            engine.perform(this::endQueuePair);
        }
    }

    /** Set-up pool: on iWARP the peer waits for our disconnect; elsewhere the error state is enough. */
    private void endQueuePair() {
        try {
            if (device.supports(Capability.COMPLETION_IS_DELIVERY)) {
                resources.queuePair().fail();
            } else {
                identifier.disconnect();
            }
        } catch (VerbsException e) {
            LOG.debug("[{}->{}] {}", local, remote, e.getMessage());
        }
    }

    @Override
    public void onConnectionEvent(ConnectionEvent event) {
        if (event instanceof ConnectionEvent.Disconnected || event instanceof ConnectionEvent.DeviceRemoved) {
            engine.perform(() -> lose(event));
        }
    }

    /** Set-up pool: data that arrived before the end comes first, so the token waits for an empty queue. */
    private void lose(ConnectionEvent event) {
        peerGone = true;
        if (!engine.mayBlock()) {
            inbox.drainThenOffer(event); // requests that wait for the peer fail by themselves
        } else if (event instanceof ConnectionEvent.DeviceRemoved) {
            inbox.drainThenOffer(event); // before the flushed requests, which would read as a reset
            failQueuePair();
        } else {
            failQueuePair();
            inbox.drainThenOffer(event);
        }
    }

    private void failQueuePair() {
        try {
            resources.queuePair().fail();
        } catch (VerbsException e) {
            LOG.debug("[{}->{}] {}", local, remote, e.getMessage());
        }
    }

    @Override
    public void fail(boolean reset, String reason) {
        StreamFailure failure = reset ? StreamFailure.reset(reason) : StreamFailure.of(reason, reason);
        engine.setupPool().execute(() -> inbox.drainThenOffer(failure));
    }

    @Override
    public long registeredBytes() {
        StreamDirect more = direct;
        return resources.bytes() + rings.bytes() + (more == null ? 0 : more.bytes());
    }

    @Override
    public boolean uses(Device other) {
        return device == other;
    }

    @Override
    public boolean uses(Device other, int queuePairNumber) {
        return device == other && resources.queuePair().number() == queuePairNumber;
    }

    /** Set-up pool: does what may block. */
    void later(Runnable work) {
        engine.setupPool().execute(work);
    }

    /** The connection manager's side of this connection. */
    ConnectionIdentifier identifier() {
        return identifier;
    }

    @Override
    public String transport() {
        return engine.name();
    }

    @Override
    public String carrier() {
        return "device " + device.info().name();
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
        return local;
    }

    @Override
    public InetSocketAddress remoteAddress() {
        return remote;
    }

    @Override
    public int read(byte[] bytes, int offset, int length, long deadlineNanos) throws IOException {
        enterToRead();
        while (true) {
            try {
                ensureOpen();
                int count = stream.read(bytes, offset, length);
                if (count != 0) {
                    rings.check();
                    return count;
                }
            } catch (Error e) {
                throw spoiled(e);
            } finally {
                inbox.exit();
            }
            awaitBytesAndEnter(deadlineNanos);
        }
    }

    /** Protocol lock held: how far something got is not known, so this connection cannot go on. */
    private Error spoiled(Error e) {
        failStream("an operation on this connection was cut short: " + e);
        endQueuePairIfOver();
        return e;
    }

    /** Enters the inbox, to read. */
    void enterToRead() {
        inbox.enter();
        takeInAfterFailure();
    }

    /**
     * Inside, before a read: once the stream has failed, as when the peer has closed and takes nothing more, what
     * arrived before may still be in the completion queue.
     */
    private void takeInAfterFailure() {
        if (stream.failure() != null) {
            inbox.exit();
            inbox.drain();
            inbox.enter();
        }
    }

    /** Waits until a reader can go on, and enters the inbox, unless this throws. */
    void awaitBytesAndEnter(long deadlineNanos) throws IOException {
        Wait end = inbox.awaitAndEnter(Role.READER, deadlineNanos);
        if (end == Wait.TIMED_OUT || end == Wait.INTERRUPTED) {
            inbox.exit();
            throw end == Wait.TIMED_OUT ? new SocketTimeoutException("Read timed out") : NetErrors.interrupted();
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
                throw spoiled(e);
            } finally {
                inbox.exit();
            }
            if (done < length) {
                awaitRoomAndEnter(done);
            }
        }
    }

    /** Waits until a writer can go on, who has done so many bytes, and enters the inbox, unless this throws. */
    void awaitRoomAndEnter(int done) throws InterruptedIOException {
        if (inbox.awaitAndEnter(Role.WRITER, Long.MAX_VALUE) == Wait.INTERRUPTED) {
            inbox.exit();
            throw NetErrors.interrupted(done);
        }
    }

    /** Protocol lock held, after a write. */
    void noteWrite() {
        noteSend();
        rings.check();
    }

    @Override
    public Direct direct() {
        if (direct == null) {
            inbox.enter();
            try {
                direct = direct != null ? direct : new StreamDirect(this, engine.setupPool(), resources);
            } finally {
                inbox.exit();
            }
        }
        return direct;
    }

    /** Protocol lock held, after something may have been posted: starts the clock of the oldest send. */
    private void noteSend() {
        if (liveness.posted(engine.coarseNanos(), stream.outstandingSends())) {
            attend();
        }
    }

    /** Protocol lock held. */
    void ensureOpen() throws SocketException {
        if (closed) {
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
        inbox.enter();
        try {
            ensureOpen();
            stream.shutdownInput();
            noteSend();
            endQueuePairIfOver();
        } finally {
            inbox.exit();
        }
        inbox.onOrphan(this::onOrphan); // nobody reads any more, and the peer shall not wait for that
    }

    /** Any thread: something has come in that no caller waits for. */
    private void onOrphan() {
        engine.setupPool().execute(closed ? this::linger : this::takeIn);
    }

    /** Set-up pool: what the peer sends is thrown away or waits for a reader, and it gets credit and room. */
    private void takeIn() {
        post(() -> { });
    }

    /** Does something that may post, with the protocol lock. */
    private void post(Runnable work) {
        inbox.enter();
        try {
            work.run();
            noteWrite();
        } catch (Error e) {
            throw spoiled(e);
        } finally {
            inbox.exit();
        }
    }

    @Override
    public void shutdownOutput() throws IOException {
        inbox.enter();
        try {
            ensureOpen();
            stream.shutdownOutput();
            noteSend();
            endQueuePairIfOver();
        } finally {
            inbox.exit();
        }
        if (!device.supports(Capability.COMPLETION_IS_DELIVERY)) {
            inbox.onOrphan(this::onOrphan); // the peer may wait for this end to go, when nobody calls any more
        }
    }

    @Override
    public void keepAlive(boolean on, int idleSeconds, int probeSeconds) {
        liveness.keepAlive(on, idleSeconds, probeSeconds);
        attend();
    }

    @Override
    public void spin(int micros) {
        inbox.spinBudgetNanos((int) TimeUnit.MICROSECONDS.toNanos(micros));
    }

    /** Only keep-alive concerns a connection over RDMA, and {@link #keepAlive} says that. */
    @Override
    public <T> void setOption(SocketOption<T> name, T value) {
    }

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
    public boolean tick(long now) {
        if (liveness.hasListened(now)) {
            engine.setupPool().execute(() -> post(stream::speak));
        }
        if (closed) {
            if (now - lingerDeadline >= 0) {
                engine.setupPool().execute(this::linger);
            }
            return true;
        }
        if (rings.isPauseOver(now, liveness.lastActivity())) {
            engine.setupPool().execute(() -> post(stream::shrink));
        }
        switch (liveness.due(now)) {
            case CHECK -> engine.setupPool().execute(this::checkUnacknowledged);
            case CONFIRM -> engine.setupPool().execute(() -> post(stream::confirm));
            case PROBE -> engine.setupPool().execute(() -> post(this::probe));
            case NOTHING -> {
            }
        }
        return rings.isPauseNear(now) || liveness.isDutyNear(now);
    }

    /** Set-up pool: completions that nobody has applied yet may tell that all is well. */
    private void checkUnacknowledged() {
        inbox.enter();
        try {
            boolean overdue = liveness.isOverdue(System.nanoTime());
            if (overdue && stream.confirm()) {
                liveness.asked(System.nanoTime());
            } else if (overdue) {
                failStream("Connection timed out: the peer's device has not acknowledged a write for "
                        + TimeUnit.NANOSECONDS.toSeconds(liveness.limitNanos()) + " s");
                endQueuePairIfOver();
            }
        } finally {
            inbox.exit();
        }
    }

    private void probe() {
        if (liveness.isIdle(System.nanoTime())) {
            stream.keepalive();
        }
    }

    @Override
    public void close() {
        if (enter(Stage.CLOSING)) {
            lingerDeadline = System.nanoTime() + TransportSettings.CURRENT.lingerNanos();
            closed = true;
            inbox.beginClose();
            boolean begun = false;
            try {
                attend();
                if (engine.mayBlock()) {
                    inbox.onOrphan(this::onOrphan);
                    post(stream::disconnect);
                    engine.setupPool().execute(this::linger);
                } else {
                    closeNow();
                }
                begun = true;
            } finally {
                endClose(begun);
            }
            awaitEndAtExit();
        }
    }

    /** Wakes those who wait, as its last act: the close ends before a thread that this wakes looks at the socket. */
    private void endClose(boolean begun) {
        try {
            if (!begun) { // no memory, perhaps: a tick goes on with it
                lingerDeadline = System.nanoTime();
                attend();
            }
        } finally {
            inbox.close();
        }
    }

    /** Says the last word, and tears down at once if the peer has taken it; else whoever brings news goes on. */
    private void closeNow() {
        post(stream::disconnect);
        inbox.drain(); // what was posted has completed by now, as a rule
        linger();
        if (!hasReached(Stage.TEARING_DOWN)) {
            inbox.onOrphan(this::onOrphan);
            linger(); // news may have come in between
        }
    }

    private void awaitEnd(long nanos) {
        try {
            Patience.await(this::await, System.nanoTime() + nanos);
        } catch (InterruptedIOException e) {
            LOG.debug("[{}->{}] interrupted while lingering; it goes on in the background", local, remote);
        }
    }

    @Override
    public void close(int lingerSeconds) {
        if (lingerSeconds == 0) {
            abort();
            return;
        }
        close();
        awaitEnd(TimeUnit.SECONDS.toNanos(lingerSeconds));
    }

    @Override
    public void abort() {
        if (enter(Stage.CLOSING)) {
            closed = true;
            lingerDeadline = System.nanoTime();
            inbox.beginClose();
        }
        try {
            engine.perform(this::tearDown);
        } finally {
            inbox.close();
        }
    }

    /** Set-up pool: a closed connection got news, or its time is over. */
    private void linger() {
        boolean over;
        inbox.enter();
        try {
            over = stream.failure() != null || isDeliveredLocked() || System.nanoTime() - lingerDeadline >= 0;
        } finally {
            inbox.exit();
        }
        if (over) {
            tearDown();
        }
    }

    /**
     * Protocol lock held: on iWARP only the peer's going proves that it has the data; it goes when it has taken in a
     * DISCONNECT. What TCP has still to send when the queue pair ends is lost if the peer says that there is room for
     * more: nobody reads that, so TCP resets.
     */
    private boolean isDeliveredLocked() {
        return stream.drained() && (peerGone || stream.peerDisconnected()
                || device.supports(Capability.COMPLETION_IS_DELIVERY));
    }

    @Override
    public void leave() {
        if (!closed) {
            post(stream::leave);
        }
    }

    @Override
    public boolean isDelivered() {
        if (peerGone || hasReached(Stage.TEARING_DOWN)) {
            return true;
        }
        inbox.enter();
        try {
            stream.confirm();
            return stream.failure() != null || (closed ? isDeliveredLocked()
                    : stream.peerDisconnected() || stream.outstandingSends() == 0);
        } finally {
            inbox.exit();
        }
    }

    /** Set-up pool: the one way in which a connection ends. */
    private void tearDown() {
        if (enter(Stage.TEARING_DOWN)) {
            try {
                if (engine.mayBlock()) {
                    endQueuePair();
                }
            } finally {
                release();
            }
            LOG.debug("[{}->{}] torn down", local, remote);
        }
    }

    /** The rest of the end: each step is taken, whatever another throws. */
    private void release() {
        try {
            enterToEnd(); // waits for who is copying from or to the rings; later ones see that it is closed
            List<MemoryRegion> later;
            MemoryRegion viewed;
            try {
                stream.abort(); // the memory may be another connection's soon
                later = stream.memory().takeAll();
                viewed = direct == null ? null : direct.leaveToView();
            } finally {
                inbox.exit();
            }
            resources.close(later, direct, viewed);
        } finally {
            try {
                identifier.close();
                TcpBinding.releaseFor(this);
            } finally {
                engine.forget(this);
                enter(Stage.ENDED);
            }
        }
    }

    /** Enters the inbox, though what waits there may not be taken in: each failure takes something out of it. */
    private void enterToEnd() {
        for (int left = MOST_FAILURES; ; left--) {
            try {
                inbox.enter();
                return;
            } catch (RuntimeException | Error e) {
                if (left == 0) {
                    throw e;
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
            }
        }
    }
}
