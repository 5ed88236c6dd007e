package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.rdmasockets.internal.waiting.CompletionPoller;
import org.rdmasockets.internal.waiting.PollerSettings;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.Rescues;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;
import org.rdmasockets.verbs.spi.TransportProvider;

/**
 * The parts that all connections over one provider's devices share: the connection manager, the poller and the registry
 * of connections. Made at first use, lives as long as the process. The set-up pool is the same for all engines.
 */
public final class Engine implements AutoCloseable {
    /** Retries without an answer; 7 would mean for ever on soft-RoCE. */
    public static final int RETRY_COUNT = 6;
    /** Retries while the peer has no receive posted: for ever, as rsockets needs. */
    public static final int RECEIVER_NOT_READY_RETRIES = 7;
    /** Each connection is visited within this time, a quiet one too; a busy poller takes longer. */
    public static final long ROUND_NANOS = TimeUnit.MILLISECONDS.toNanos(Engine.TICK_MILLIS * ConnectionRegistry.ROUND);

    private static final Log LOG = new Log(Engine.class);
    private static final int TICK_MILLIS = 500;
    /** Longest wait for a port to be free; only a set-up pool whose threads are all stuck needs that long. */
    private static final long RELEASE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** The engines that could be made; changed under the class. */
    private static final Map<VerbsProvider, Engine> ENGINES = new ConcurrentHashMap<>();
    /** The process ends: each close waits for delivery from now on. */
    private static volatile boolean exiting;
    /** When the ending process stops waiting for closed connections; set before {@link #exiting}. */
    private static long exitDeadline;

    final TransportProvider provider;
    /** Whether what is set up and torn down may wait for the kernel. */
    final boolean mayBlock;
    final ConnectionManager connectionManager;
    private final CompletionPoller poller;
    private final ConnectionRegistry connections = new ConnectionRegistry();
    private final Set<VerbsListener<?>> listeners = ConcurrentHashMap.newKeySet();
    private final Set<Device> watched = ConcurrentHashMap.newKeySet();
    /** Whether a connection has been made, so that all code that one needs is loaded. */
    private volatile boolean practised;
    /** The rehearsal of a connection; null before it, or if there is none. Guarded by this. */
    private Thread rehearsal;
    /** Queue pairs of datagrams, and the memory that these have registered. */
    private final AtomicInteger datagramQueuePairs = new AtomicInteger();
    private final AtomicLong datagramBytes = new AtomicLong();
    /** Whether the needs of a connection on a device were made once, or could not be. */
    private final AtomicBoolean prepared = new AtomicBoolean();
    /**
     * Time of the last tick, by {@code System.nanoTime}, at most a tick old while there are connections: a clock that
     * costs nothing to read.
     */
    volatile long coarseNanos = System.nanoTime();

    /**
     * The tasks that other threads do for this: one class, where each lambda would be one more that a first connect
     * loads.
     */
    private final class Duty implements Runnable {
        private static final int CONNECTION_EVENTS = 0;
        private static final int DEVICE_EVENTS = 1;
        private static final int TICK = 2;
        private static final int EXIT = 3;
        private static final int RESCUED = 4;

        private final int kind;
        private final Device device;

        private Duty(int kind, Device device) {
            this.kind = kind;
            this.device = device;
        }

        @Override
        public void run() {
            switch (kind) {
                case CONNECTION_EVENTS -> drainConnectionEvents();
                case DEVICE_EVENTS -> drainDeviceEvents(device);
                case TICK -> tick();
                case RESCUED -> LOG.warn("a timer found what a wake-up should have told, which is a fault of this "
                        + "library; report it with this: {}", Rescues.places());
                default -> awaitDelivery();
            }
        }
    }

    private Engine(VerbsProvider provider) throws VerbsException {
        this.provider = (TransportProvider) provider;
        mayBlock = this.provider.mayBlock();
        connectionManager = provider.createConnectionManager();
        EventPoller events = createEventPoller();
        poller = new CompletionPoller(events, PollerSettings.defaults().withTickMillis(TICK_MILLIS));
        poller.addSource(connectionManager, new Duty(Duty.CONNECTION_EVENTS, null));
        poller.tick(new Duty(Duty.TICK, null));
    }

    /** Makes the event poller; a failure closes the connection manager, and the next try makes both anew. */
    private EventPoller createEventPoller() throws VerbsException {
        try {
            return provider.createEventPoller();
        } catch (VerbsException e) {
            connectionManager.close();
            throw e;
        }
    }

    /**
     * The engine of a {@link TransportProvider}, made at first use. Throws if it is not available, and says why and
     * what to do.
     */
    public static synchronized Engine of(VerbsProvider provider) throws SocketException {
        Engine engine = ENGINES.get(provider);
        if (engine == null) {
            String reason = provider.unavailability().orElse(null);
            if (reason != null) {
                throw new SocketException(provider.name() + " is not available: " + reason);
            }
            engine = apart(provider);
            engine.endWithProcess();
            ENGINES.put(provider, engine);
        }
        return engine;
    }

    /** The engine of a transport if it was made, else null; never waits for one that is being made. */
    static Engine existing(String transport) {
        for (Engine engine : ENGINES.values()) {
            if (engine.name().equals(transport)) {
                return engine;
            }
        }
        return null;
    }

    /** The transports whose engines were made. */
    static List<String> transports() {
        return ENGINES.values().stream().map(Engine::name).toList();
    }

    /** Has the end of the process wait for this engine's connections. */
    private void endWithProcess() {
        Rescues.onFirst(new Duty(Duty.RESCUED, null));
        try {
            Runtime.getRuntime().addShutdownHook(LibraryThreads.unstarted("rdma-exit", new Duty(Duty.EXIT, null)));
        } catch (IllegalStateException e) {
            beginExit(); // the first socket is made by another shutdown hook, and each close waits by itself
        }
    }

    /** An engine that {@link #of} does not know; the caller closes it. */
    static Engine apart(VerbsProvider provider) throws SocketException {
        try {
            return new Engine(provider);
        } catch (VerbsException e) {
            throw NetErrors.other(e);
        }
    }

    /**
     * Loads all code of a connection before the first listen, so that no peer's timeout pays for it. Returns when that
     * is done, known to be impossible, or takes too long.
     */
    public void prepare() {
        if (!practised) {
            Thread begun = rehearsal();
            WarmUp.await(begun); // without the lock: a virtual thread that has no memory for a timer never comes back
            if (begun != null) {
                practised = true;
            }
        }
    }

    private synchronized Thread rehearsal() {
        rehearsal = rehearsal != null ? rehearsal : WarmUp.begin(provider);
        return rehearsal;
    }

    /** The same for a listener on an address, perhaps on iWARP: on a device, makes a connection's resources once. */
    public void prepare(boolean iwarp, InetSocketAddress local, Protocol.Maker<?> maker) {
        prepare();
        if (mayBlock && !practised && !prepared.getAndSet(true)) {
            WarmUp.await(WarmUp.begin(() -> Binding.later(this, iwarp, local).practise(maker)));
        }
    }

    /** Whether all code that a connection needs is loaded, as far as is known. */
    public boolean isPractised() {
        return practised;
    }

    /** The needs of a connection were made, or took longer than loading does. */
    void practised() {
        practised = true;
    }

    /** The provider's name. */
    public String name() {
        return provider.name();
    }

    /** Whether this machine has an iWARP device now, which listens like TCP does. */
    boolean hasIwarp() throws SocketException {
        try {
            return provider.devices().stream().anyMatch(d -> d.transport() == TransportType.IWARP);
        } catch (VerbsException e) {
            throw NetErrors.other(e);
        }
    }

    /** The poller of this provider's devices, which waits for everything. */
    public CompletionPoller poller() {
        return poller;
    }

    /** Sets something up, or tears it down: on the set-up pool if that may block, else now. The caller has no lock. */
    void perform(Runnable task) {
        if (mayBlock) {
            SetupPool.SHARED.execute(task);
        } else {
            task.run();
        }
    }

    /** Closes an identifier that holds a port, and waits for that briefly, as TCP does. Not for the poller thread. */
    void release(ConnectionIdentifier identifier) {
        if (!mayBlock) {
            identifier.close();
            return;
        }
        CompletableFuture<Void> released = SetupPool.SHARED.submit(() -> {
            identifier.close();
            return null;
        });
        try {
            InterruptibleWait.await(nanos -> SetupPool.completed(released, nanos), System.nanoTime() + RELEASE_NANOS);
            if (released.isCompletedExceptionally()) {
                LOG.warn("closing an identifier failed", released.exceptionNow());
            }
        } catch (InterruptedIOException e) {
            LOG.debug("[{}] interrupted while closing; it goes on in the background", identifier.localAddress());
        }
    }

    /** Takes a connection into the registry; its device's asynchronous events are watched from now on. */
    void register(VerbsConnection connection, Device device) {
        coarseNanos = System.nanoTime();
        connections.add(connection);
        if (watched.add(device)) {
            poller.addSource(device, new Duty(Duty.DEVICE_EVENTS, device));
            if (TransportSettings.CURRENT.numa()) {
                poller.execute(this::stayNearDevices);
            }
        }
    }

    /** Poller thread: stays on processors near the devices; a failure does no harm. */
    private void stayNearDevices() {
        Set<String> names = watched.stream().map(device -> device.info().name()).collect(Collectors.toSet());
        try {
            LOG.info("the thread that waits for completions of {} stays on processors {}", names,
                    provider.stayNear(names));
        } catch (VerbsException e) {
            LOG.warn("-D{}numa=true has no effect: {}", Property.PREFIX, e.getMessage());
        }
    }

    /** How many connections there are: those that were made and have not been torn down; each has a queue pair. */
    public int connections() {
        return connections.size();
    }

    /** How many queue pairs there are: those of connections, and those of datagrams. */
    int queuePairs() {
        return connections() + datagramQueuePairs.get();
    }

    /**
     * How much memory all connections and queue pairs of datagrams have registered. The kernel's memory for their
     * queues is not known here.
     */
    public long registeredBytes() {
        return Arrays.stream(all()).mapToLong(VerbsConnection::registeredBytes).sum() + datagramBytes.get();
    }

    /** Counts queue pairs of datagrams in, or out if negative, and the memory that they have registered. */
    public void countDatagrams(int queuePairs, long bytes) {
        datagramQueuePairs.addAndGet(queuePairs);
        datagramBytes.addAndGet(bytes);
    }

    /** Bytes that sockets have read so far, over connections that are gone, too. */
    long receivedBytes() {
        return connections.receivedBytes();
    }

    /** Bytes that they have written. */
    long sentBytes() {
        return connections.sentBytes();
    }

    /** Takes a connection that was torn down, whether or not it was registered, out of the registry. */
    void forget(VerbsConnection connection) {
        connections.remove(connection);
    }

    /** Has a listener visited at each tick from now on. */
    void add(VerbsListener<?> listener) {
        listeners.add(listener);
    }

    /** Undoes {@link #add}. */
    void remove(VerbsListener<?> listener) {
        listeners.remove(listener);
    }

    private VerbsConnection[] all() {
        ConnectionRegistry.Member[] members = connections.all();
        return Arrays.copyOf(members, members.length, VerbsConnection[].class);
    }

    /** Has a connection visited at each tick from now on, if it is registered. */
    void attend(VerbsConnection connection) {
        connections.attend(connection);
    }

    /** Tells of the connections of all engines, without waiting for one that is being made. Any thread. */
    static void tellAll(ConnectionReport report) {
        for (Engine engine : ENGINES.values()) {
            for (VerbsConnection connection : engine.all()) {
                if (!report.begin()) {
                    return;
                }
                connection.tellUnlocked(report);
            }
        }
    }

    private void drainConnectionEvents() {
        try {
            connectionManager.drainEvents();
        } catch (VerbsException e) {
            LOG.error("connection events are lost", e);
        }
    }

    private void drainDeviceEvents(Device device) {
        try {
            device.drainEvents(event -> onDeviceEvent(device, event));
        } catch (VerbsException e) {
            LOG.error("events of device {} are lost", device.info().name(), e);
        }
    }

    /** A broken completion queue or device would leave its connections waiting for ever: they fail instead. */
    private void onDeviceEvent(Device device, DeviceEvent event) {
        switch (event.type()) {
            case COMPLETION_QUEUE_ERROR -> poller.failQueue(event.completionQueue(),
                    new IOException(reason(device, event)));
            case QUEUE_PAIR_FATAL, QUEUE_PAIR_REQUEST_ERROR, QUEUE_PAIR_ACCESS_ERROR ->
                // A killed peer brings these, too, on soft-iWARP.
                failAll(true, reason(device, event), c -> c.uses(device, event.queuePairNumber()));
            case DEVICE_FATAL -> failAll(false, reason(device, event), c -> c.uses(device));
            case PORT_ERROR -> LOG.warn("device {} port {} lost its link", device.info().name(), event.portNumber());
            default -> LOG.debug("device {}: {}", device.info().name(), event);
        }
    }

    private void failAll(boolean reset, String reason, Predicate<VerbsConnection> affected) {
        Arrays.stream(all()).filter(affected).forEach(c -> c.fail(reset, reason));
    }

    private static String reason(Device device, DeviceEvent event) {
        return "device " + device.info().name() + " reported " + event.type();
    }

    /** Poller thread, a few times a second while there are connections. */
    private void tick() {
        long now = System.nanoTime();
        coarseNanos = now;
        FlightEvents.watch();
        SetupPool.SHARED.relieve();
        connections.tick(now);
        for (VerbsListener<?> listener : listeners) {
            try {
                listener.tick(now);
            } catch (RuntimeException | Error e) {
                poller.tickSoon();
                LOG.debug("a listener is looked at again at the next tick", e);
            }
        }
    }

    /** Whether the process ends, so that no other thread waits for the connections that are closed now. */
    static boolean isExiting() {
        return exiting;
    }

    /** When the process stops waiting, by {@code System.nanoTime}: one time for all, however many take nothing. */
    static long exitDeadline() {
        return exitDeadline;
    }

    /** Takes no lock, as another thread may hold one for ever; two calls at once set nearly the same time. */
    private static void beginExit() {
        if (!exiting) {
            exitDeadline = System.nanoTime() + TransportSettings.CURRENT.exitNanos();
            exiting = true;
        }
    }

    /**
     * Shutdown hook: written bytes get a moment to reach the peer, whether or not their connection is closed. Peers of
     * open connections are told that this process ends; other shutdown hooks may go on to use them.
     */
    private void awaitDelivery() {
        beginExit();
        Thread leaving = LibraryThreads.unstarted("rdma-leave", () -> leaveAll(exitDeadline));
        leaving.start();
        LibraryThreads.awaitEnd(leaving, NanoTimes.remaining(exitDeadline));
    }

    /**
     * Runs in a thread of its own, for which the hook waits until the deadline: a caller may have a connection's lock,
     * and never give it back.
     */
    private void leaveAll(long deadline) {
        VerbsConnection[] all = all();
        for (VerbsConnection connection : all) {
            try {
                connection.leave();
            } catch (RuntimeException | Error e) {
                continue; // its peer is not told; those of the others are
            }
        }
        for (VerbsConnection connection : all) {
            try {
                while (!connection.isDelivered() && System.nanoTime() - deadline < 0) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
                }
            } catch (RuntimeException | Error e) {
                continue; // it is not waited for; the others are
            }
        }
    }

    /** Frees the thread and descriptors of an engine {@linkplain #apart}, whose connections are torn down. */
    @Override
    public void close() {
        poller.close();
        connectionManager.close();
    }

    /** The connections, for a person who looks for one that stays. */
    @Override
    public String toString() {
        return "Engine" + Arrays.toString(all());
    }
}
