package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;

/** Takes connections, and calls on them. */
public final class CallServer implements AutoCloseable {
    private static final Log LOG = new Log(CallServer.class);
    private static final IOException NOT_SERVED = new IOException("no thread serves it");
    /** How long a call whose request does not come may keep a place that others want. */
    private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** An address that holds less than this part of the limit of all does not pay for others. */
    private static final int LITTLE_PART = 16;

    private final Carrier.Listener listener;
    private final Function<String, CallMethod> methods;
    final Settings settings;
    final Aging aging;
    /** Answers of numbered calls. */
    final ResponseCache memory;
    /** The identity of this server, drawn at random. */
    final long instance = new SecureRandom().nextLong();
    private final Set<ServerConnection> connections = ConcurrentHashMap.newKeySet();
    /** The connections by their address; those that have not greeted are newcomers. Guarded by itself. */
    private final Shares<ServerConnection> shares;
    /** Calls that have not ended. */
    private final AtomicInteger calls = new AtomicInteger();
    /** Calls that have a place: also those whose method or callbacks have not returned yet. */
    private final AtomicInteger places = new AtomicInteger();
    /** Calls whose request has brought nothing of use yet, and since when, oldest first; guarded by itself. */
    private final Map<CallStream, Long> silent = new LinkedHashMap<>();
    private final Set<CallStream> running = ConcurrentHashMap.newKeySet();
    /** Bytes that wait: of unread requests and of untaken answers. */
    final AtomicLong heldBytes = new AtomicLong();
    /** When slow messages were last looked for. */
    private final AtomicLong droppedNanos = new AtomicLong(System.nanoTime());
    /** The context class loader of the thread that made this: that of the application whose methods are served. */
    final ClassLoader context;
    /** The log of failures of methods. */
    final LimitedLog failures = new LimitedLog(LOG);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean leaving;
    /** A connection that could not be taken, and has to be closed; the accepting thread only. */
    private Carrier refused;

    /**
     * The bounds of a server: {@code maxMessage} bytes of a call's longest message, {@code maxCalls} at once, of those
     * {@code maxCallsPerConnection} of one connection, {@code maxConnections} at once, {@code maxHeldBytes} of unread
     * requests and untaken answers, {@code memoryBytes} of remembered answers, {@code memoryNanos} for a client without
     * a connection. An address, or over shared memory a user, has its {@linkplain Shares#of share} of calls and
     * connections at most.
     */
    public record Settings(int maxMessage, int maxCalls, int maxCallsPerConnection, int maxConnections,
            long maxHeldBytes, long memoryBytes, long memoryNanos) {
        /** The defaults: 4 MiB, 10,000, 1,024, 4,096, 256 MiB, 64 MiB, a minute. */
        public static final Settings DEFAULT = new Settings(4 << 20, 10_000, 1_024, 4_096, 256L << 20, 64L << 20,
                TimeUnit.MINUTES.toNanos(1));

        /** Checks a bound; throws {@code IllegalArgumentException} if it is less than 1. */
        public static int atLeastOne(int value, String what) {
            if (value < 1) {
                throw new IllegalArgumentException(what + " has to be at least 1, not " + value);
            }
            return value;
        }
    }

    /**
     * How old connections become, in nanoseconds, {@code Long.MAX_VALUE} for any age: the longest time without a call,
     * about the longest time in all, and the time after either for calls that run.
     */
    public record Aging(long idleNanos, long ageNanos, long graceNanos) {
        /** Connections end only when their clients want it. */
        public static final Aging NEVER = new Aging(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);

        boolean isNever() {
            return idleNanos == Long.MAX_VALUE && ageNanos == Long.MAX_VALUE;
        }
    }

    /** The same with connections of any age. */
    public static CallServer over(Carrier.Listener listener, Function<String, CallMethod> methods, Settings settings) {
        return over(listener, methods, settings, Aging.NEVER);
    }

    /**
     * Begins to serve methods; each call looks its method up by name, null for none. The listener ends with the server,
     * also if that cannot begin.
     */
    public static CallServer over(Carrier.Listener listener, Function<String, CallMethod> methods, Settings settings,
            Aging aging) {
        boolean begun = false;
        try {
            CallServer server = new CallServer(listener, methods, settings, aging);
            Runnable loop = server::acceptAll;
            // Not virtual: such a thread that parks without memory for a timer never runs again.
            LibraryThreads.unstarted("rdma-rpc-accept", LibraryThreads.insisting(loop, LibraryThreads::report)).start();
            begun = true;
            return server;
        } finally {
            if (!begun) {
                listener.close();
            }
        }
    }

    private CallServer(Carrier.Listener listener, Function<String, CallMethod> methods, Settings settings,
            Aging aging) {
        this.aging = aging;
        this.listener = listener;
        this.methods = methods;
        this.settings = settings;
        context = Thread.currentThread().getContextClassLoader();
        memory = new ResponseCache(settings.memoryBytes(), settings.memoryNanos());
        shares = new Shares<>(settings.maxConnections(), settings.maxConnections());
    }

    private void acceptAll() {
        while (!leaving) {
            try {
                closeRefused();
                take(listener.accept());
            } catch (IOException | RuntimeException | Error e) {
                if (!leaving) {
                    tell(e);
                    pause();
                }
            }
        }
        closeRefused();
    }

    private void tell(Throwable failure) {
        try {
            failures.warn("a connection was not accepted", failure);
        } catch (RuntimeException | Error e) {
            // Perhaps no memory for the line: the next connection is accepted all the same.
        }
    }

    /** Waits a moment, so that a lasting failure makes no busy loop. */
    private static void pause() {
        try {
            Thread.sleep(10);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeRefused() {
        if (refused != null) { // an Error may have left it open
            refused.close();
            refused = null;
        }
    }

    private void take(Carrier carrier) {
        ServerConnection connection = null;
        try {
            Object address = carrier.countedAs();
            makeRoom(address);
            connection = new ServerConnection(this, carrier);
            if (leaving || !join(connection, address)) {
                failures.warn("a connection from {} was refused: {} are open, see maxConnections",
                        carrier.remoteAddress(), connections.size());
                carrier.close();
                return;
            }
            connections.add(connection);
            if (leaving) {
                connection.leave();
            }
            connection.start("rdma-rpc-server", connection::serve);
        } catch (Throwable e) {
            if (connection == null) {
                refused = carrier;
            } else {
                connection.fail(NOT_SERVED);
            }
            throw e;
        }
    }

    /** If one more connection of an address finds no room, ends the oldest that has not greeted: honest clients do. */
    private void makeRoom(Object address) {
        ServerConnection oldest;
        synchronized (shares) {
            oldest = shares.excess(address);
        }
        if (oldest != null) {
            failures.warn("a connection from {} was ended: it has not greeted, and others want its place, see "
                    + "maxConnections", oldest.carrier().remoteAddress());
            oldest.fail(new IOException("the server has no room for a connection that does not greet"));
        }
    }

    private boolean join(ServerConnection connection, Object address) {
        synchronized (shares) {
            boolean room = shares.hasRoom(address);
            if (room) {
                connection.part = shares.add(address, connection);
            }
            return room;
        }
    }

    /** A connection has greeted. */
    void greeted(ServerConnection connection) {
        synchronized (shares) {
            shares.known(connection.part, connection);
        }
    }

    /** The method of a name; null for none. */
    CallMethod method(String name) {
        return methods.apply(name);
    }

    /** Admits one more call of a connection, which has so many, or returns why not. */
    String admit(ServerConnection connection, int ofConnection) {
        if (ofConnection >= settings.maxCallsPerConnection()) {
            return "the connection has " + ofConnection + " calls";
        }
        if (isOverdrawn(connection, settings.maxHeldBytes())) {
            return "the server has more than " + settings.maxHeldBytes() + " bytes of requests that it has not read";
        }
        int share = Shares.of(settings.maxCalls());
        String lack = null;
        if (connection.part.calls.incrementAndGet() > share) {
            lack = "the server has " + share + " calls of the client's address";
        }
        boolean full = places.incrementAndGet() > settings.maxCalls();
        if (full) {
            lack = "the server has " + settings.maxCalls() + " calls";
        }
        if (lack != null) {
            left(connection);
            endSilent(full ? null : connection.part);
        }
        return lack;
    }

    /** A call that was admitted has ended, and its method has returned. */
    void left(ServerConnection connection) {
        places.decrementAndGet();
        Shares.AddressPart<ServerConnection> part = connection.part;
        if (part.calls.decrementAndGet() == 0 && part.isEmpty()) {
            synchronized (shares) {
                shares.purge(part);
            }
        }
    }

    /** A call has a place, but its request has brought nothing of use yet. */
    void waitsFor(CallStream call) {
        synchronized (silent) {
            silent.put(call, System.nanoTime());
            call.isSilent = true;
        }
        if (call.code() >= 0) {
            heardOf(call);
        }
    }

    /** Something of a call's request has come, or it has ended. */
    void heardOf(CallStream call) {
        if (call.isSilent) {
            synchronized (silent) {
                silent.remove(call);
                call.isSilent = false;
            }
        }
    }

    /**
     * Ends calls that keep others out, of an address or, if that is null, of all: their request has brought nothing of
     * use for long, and no message has gone to their client.
     */
    private void endSilent(Shares.AddressPart<ServerConnection> part) {
        List<CallStream> due = new ArrayList<>();
        synchronized (silent) {
            Iterator<Map.Entry<CallStream, Long>> all = silent.entrySet().iterator();
            long now = System.nanoTime();
            while (all.hasNext()) {
                Map.Entry<CallStream, Long> one = all.next();
                if (now - one.getValue() < SILENT_NANOS) {
                    break;
                }
                if (part != null && ((ServerConnection) one.getKey().connection).part != part) {
                    continue;
                }
                all.remove();
                if (!one.getKey().hasSent()) {
                    due.add(one.getKey());
                }
            }
        }
        try {
            while (!due.isEmpty()) { // each on its own thread: its client may take nothing
                CallStream call = due.getLast();
                call.connection.start("rdma-rpc-end", () -> call.finish(Code.RESOURCE_EXHAUSTED,
                        "the server has no room for a call whose request does not come", null, null));
                due.removeLast();
            }
        } finally {
            due.forEach(this::waitsFor); // after an Error, the next call that finds no room ends them
        }
    }

    void begun(CallStream call) {
        running.add(call);
        calls.incrementAndGet();
    }

    void ended(CallStream call) {
        heardOf(call);
        running.remove(call);
        calls.decrementAndGet();
        endIfDone();
    }

    private void endIfDone() {
        if (leaving && connections.isEmpty() && calls.get() == 0) {
            ended.countDown();
        }
    }

    /** Counts bytes of unread requests of a connection, and of answers that its client does not take. */
    void held(ServerConnection connection, long bytes) {
        heldBytes.addAndGet(bytes);
        connection.part.held.addAndGet(bytes);
    }

    /** Whether running calls hold so much that those of a connection have to end: more than keeps new calls out. */
    boolean isFull(ServerConnection connection) {
        return isOverdrawn(connection, settings.maxHeldBytes() / 2 * 3);
    }

    /** Whether all hold more than a limit, and either the connection's address more than a little, or all too much. */
    private boolean isOverdrawn(ServerConnection connection, long limit) {
        return isBeyond(connection, limit) && (!dropSlow() || isBeyond(connection, limit));
    }

    /** Drops messages that come too slowly while others want their room; false if that was tried just now. */
    private boolean dropSlow() {
        long now = System.nanoTime();
        long last = droppedNanos.get();
        boolean due = now - last >= SILENT_NANOS / 4 && droppedNanos.compareAndSet(last, now);
        if (due) {
            long little = settings.maxHeldBytes() / LITTLE_PART;
            connections.stream().filter(connection -> connection.part.held.get() > little)
                    .forEach(connection -> connection.parts().dropSlow(now));
        }
        return due;
    }

    private boolean isBeyond(ServerConnection connection, long limit) {
        long all = heldBytes.get();
        long most = settings.maxHeldBytes();
        return all > limit && (connection.part.held.get() > most / LITTLE_PART || all > 2 * most);
    }

    void gone(ServerConnection connection) {
        if (connection.part != null) {
            synchronized (shares) {
                shares.remove(connection.part, connection);
            }
        }
        connections.remove(connection);
        endIfDone();
    }

    /** Where this listens. */
    public InetSocketAddress localAddress() {
        return listener.localAddress();
    }

    /** Packets that were dropped. */
    public long dropped() {
        return listener.dropped();
    }

    /** The memory of numbered calls in bytes: of answers, and of all beside them. */
    public long rememberedBytes() {
        return memory.bytes();
    }

    /** Whether it takes no more calls. */
    boolean isLeaving() {
        return leaving;
    }

    /** Calls that run now. */
    public int calls() {
        return calls.get();
    }

    /** Connections that are open now. */
    public int connections() {
        return connections.size();
    }

    /** Takes no more connections and calls; those that have begun go on. Idempotent. */
    public void shutdown() {
        leaving = true;
        listener.close();
        connections.forEach(ServerConnection::leave);
        endIfDone();
    }

    /** Waits until all calls have ended after {@link #shutdown}; false if some go on. */
    public boolean awaitEnd(long nanos) throws InterruptedException {
        return ended.await(nanos, TimeUnit.NANOSECONDS);
    }

    /** Ends all calls and connections. Idempotent. */
    @Override
    public void close() {
        shutdown();
        connections.forEach(connection -> connection.fail(new IOException("the server is closed")));
        // Left are calls whose clients might come back for the answer, perhaps over another connection.
        running.forEach(call -> call.finish(Code.UNAVAILABLE, "the server is closed", null, null));
    }
}
