import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rdmasockets.RdmaDevices;
import org.rdmasockets.Transport;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;
import org.rdmasockets.verbs.WorkCompletionException;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * One end of a connection over verbs, for the examples that speak the protocol of a C program: each call blocks until
 * it is done. A client calls {@link #resolve}, a server {@link #listen} and {@link #awaitRequest}; then both post their
 * receives and call {@link #establish}. One platform thread does it all: it waits for the events of the connection
 * manager and of the completion queue together.
 *
 * <p>All waits but the one for a request end after a minute, and when the peer disconnects or dies.
 */
final class VerbsConnection implements AutoCloseable {
    private static final int RESOLVE_MILLIS = 2_000;
    private static final int LIMIT_MILLIS = 60_000;
    private static final int QUEUE_ENTRIES = 16;
    private static final int REQUESTS = 8;
    private static final long RECEIVE = 1;
    private static final long SEND = 2;

    /** Registered memory; a region may have more bytes than were asked for. */
    record Memory(MemoryRegion region, int bytes) {
        ByteBuffer buffer() {
            return region.segment().asSlice(0, bytes).asByteBuffer();
        }

        long address() {
            return region.address();
        }

        int key() {
            return region.remoteKey();
        }
    }

    /** All objects of this connection, the last one made first, to be closed in this order. */
    private final Deque<AutoCloseable> owned = new ArrayDeque<>();
    private final ConnectionManager manager;
    private final EventPoller poller;
    /** Events that the thread waits for. */
    private final Deque<ConnectionEvent> events = new ArrayDeque<>();
    /** Lengths of messages that have been received and not yet been asked for. */
    private final Deque<Integer> received = new ArrayDeque<>();
    private ConnectionIdentifier identifier;
    private boolean accepts;
    private ProtectionDomain domain;
    private CompletionChannel channel;
    private CompletionQueue queue;
    private WorkCompletions batch;
    private QueuePair queuePair;
    /** The request that is under way, or was last; its completion sets sent. */
    private SendRequest.Opcode posted;
    private boolean sent;
    private boolean ended;
    /** Why the first request failed; null while none has. */
    private WorkCompletionException failure;

    VerbsConnection() throws IOException {
        VerbsProvider verbs = RdmaDevices.verbs(transport());
        if (verbs.unavailability().isPresent()) {
            throw new IOException(verbs.unavailability().get());
        }
        manager = own(verbs.createConnectionManager());
        poller = own(verbs.createEventPoller());
        poller.add(manager);
    }

    /** The transport of the property that chooses for sockets, too; else devices where there are any. */
    private static Transport transport() {
        String wanted = System.getProperty("org.rdmasockets.transport", "auto");
        if (!wanted.equals("auto")) {
            return new Transport(wanted, "");
        }
        return RdmaDevices.unavailability().isEmpty() ? Transport.IBVERBS : Transport.SHARED_MEMORY;
    }

    private <T extends AutoCloseable> T own(T one) {
        owned.push(one);
        return one;
    }

    /** Finds the device that leads to a server, and makes the queue pair on it. */
    void resolve(InetSocketAddress server) throws IOException {
        identifier = own(manager.createIdentifier(this::onEvent));
        identifier.resolveAddress(server, RESOLVE_MILLIS);
        expect(ConnectionEvent.AddressResolved.class, server);
        identifier.resolveRoute(RESOLVE_MILLIS);
        expect(ConnectionEvent.RouteResolved.class, server);
        makeQueuePair();
    }

    /** Listens; the port 0 takes a free one. */
    InetSocketAddress listen(InetSocketAddress local) throws IOException {
        ConnectionIdentifier listener = own(manager.createIdentifier(this::onEvent));
        listener.bind(local);
        listener.listen(REQUESTS);
        return listener.localAddress();
    }

    /** Waits, as long as it takes, for a client, and makes the queue pair for it. Others are rejected in the end. */
    InetSocketAddress awaitRequest() throws IOException {
        await("client", Long.MAX_VALUE, () -> identifier != null);
        accepts = true;
        makeQueuePair();
        return identifier.remoteAddress();
    }

    private void makeQueuePair() throws IOException {
        domain = own(identifier.device().allocateProtectionDomain());
        channel = own(identifier.device().createCompletionChannel());
        queue = own(identifier.device().createCompletionQueue(QUEUE_ENTRIES, channel));
        batch = queue.newBatch(QUEUE_ENTRIES);
        poller.add(channel);
        queuePair = own(identifier.createQueuePair(domain, QueuePairConfig.signalled(queue, REQUESTS, REQUESTS, 0)));
    }

    /** Connects, or accepts. */
    void establish(ConnectionParameters parameters) throws IOException {
        if (accepts) {
            identifier.accept(parameters);
        } else {
            identifier.connect(parameters);
        }
        expect(ConnectionEvent.Established.class, identifier.remoteAddress());
    }

    /** Memory that the peer may read and write. iWARP wants that, too, where this end reads the peer's into it. */
    Memory allocate(int bytes) throws IOException {
        return new Memory(own(domain.allocate(bytes,
                Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE))), bytes);
    }

    /** Lets the next message go there. */
    void postReceive(Memory memory) throws IOException {
        check("ibv_post_recv",
                queuePair.postReceive(new ReceiveRequest(1).receive(RECEIVE).add(memory.region, 0, memory.bytes)));
    }

    /** Waits for a message: its length, or -1 once the peer has disconnected. */
    int receive() throws IOException {
        await("message", LIMIT_MILLIS, () -> ended || !received.isEmpty());
        return received.isEmpty() ? -1 : received.remove();
    }

    void send(Memory message) throws IOException {
        post(new SendRequest(1).send(SEND), message, message.bytes);
    }

    /** Writes the first bytes of some memory into the peer's. */
    void write(Memory from, int bytes, long address, int key) throws IOException {
        post(new SendRequest(1).write(SEND, address, key), from, bytes);
    }

    /** Reads the peer's memory into the first bytes of some. */
    void read(Memory into, int bytes, long address, int key) throws IOException {
        post(new SendRequest(1).read(SEND, address, key), into, bytes);
    }

    private void post(SendRequest request, Memory memory, int bytes) throws IOException {
        sent = false;
        posted = request.opcode();
        check("ibv_post_send", queuePair.postSend(request.add(memory.region, 0, bytes).signalled()));
        await("completion of a " + posted, LIMIT_MILLIS, () -> sent);
    }

    private void check(String call, int status) throws VerbsException {
        if (status != QueuePair.POSTED) {
            throw new VerbsException(call, status, "qp=" + queuePair.number(), "the connection has ended");
        }
    }

    /** Ends the connection, and waits until the peer has heard of it. */
    void disconnect() throws IOException {
        identifier.disconnect();
        awaitDisconnect();
    }

    void awaitDisconnect() throws IOException {
        await("disconnect", LIMIT_MILLIS, () -> ended);
    }

    private void onEvent(ConnectionIdentifier of, ConnectionEvent event) {
        switch (event) {
            case ConnectionEvent.ConnectRequest request -> {
                request.identifier().handler(this::onEvent);
                own(request.identifier());
                identifier = identifier == null ? request.identifier() : identifier;
            }
            case ConnectionEvent.Disconnected _ -> ended |= of == identifier;
            case ConnectionEvent.DeviceRemoved _ -> ended = true;
            case ConnectionEvent.TimewaitExited _, ConnectionEvent.AddressChanged _ -> { }
            default -> events.add(event);
        }
    }

    private void expect(Class<? extends ConnectionEvent> kind, InetSocketAddress peer) throws IOException {
        await(kind.getSimpleName(), LIMIT_MILLIS, () -> !events.isEmpty());
        ConnectionEvent event = events.remove();
        if (!kind.isInstance(event)) {
            throw switch (event) {
                case ConnectionEvent.Rejected _ ->
                    new ConnectException("nobody listens on " + peer + ": start the server there, on that port");
                case ConnectionEvent.Unreachable _ ->
                    new ConnectException(peer + " does not answer: use the address of an RDMA device");
                case ConnectionEvent.Failed failed -> new VerbsException(failed.call(), failed.errorNumber(),
                        "peer=" + peer,
                        "start the server there, and use the address of an RDMA device that this host reaches");
                default -> new ConnectException(event + " from " + peer + " instead of " + kind.getSimpleName());
            };
        }
    }

    private void await(String what, long millis, BooleanSupplier there) throws IOException {
        long start = System.nanoTime();
        for (takeAll(); !there.getAsBoolean(); takeAll()) {
            if (failure != null) {
                throw failure;
            }
            if (ended) {
                throw new IOException("no " + what
                        + ": the peer has ended the connection or died, or the device is gone");
            }
            long left = millis - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
            if (left <= 0) {
                throw new SocketTimeoutException("no " + what + " within " + millis / 1_000 + " seconds");
            }
            poller.await((int) Math.min(left, LIMIT_MILLIS), _ -> { });
        }
    }

    /** Takes what there is. The queue is armed before it is looked at, so what comes later ends the next wait. */
    private void takeAll() throws IOException {
        manager.drainEvents();
        if (queuePair == null) {
            return;
        }
        channel.drainEvents(_ -> { });
        queue.requestNotification();
        for (int count = queue.poll(batch); count > 0; count = queue.poll(batch)) {
            for (int i = 0; i < count; i++) {
                take(i);
            }
        }
    }

    private void take(int i) {
        boolean receive = batch.workRequestId(i) == RECEIVE;
        switch (WorkCompletionStatus.of(batch.status(i))) {
            case SUCCESS -> {
                sent |= !receive;
                if (receive) {
                    received.add(batch.lengthBytes(i));
                }
            }
            case FLUSHED -> { } // requests left at the end of a connection; the manager tells of that
            default -> failure = failure != null ? failure : new WorkCompletionException(
                    receive ? "RECEIVE" : posted.toString(), batch.status(i), batch.vendorError(i));
        }
    }

    @Override
    public void close() throws IOException {
        while (!owned.isEmpty()) {
            try {
                owned.pop().close();
            } catch (Exception e) {
                throw new IOException(e); // none of them throws
            }
        }
    }
}
