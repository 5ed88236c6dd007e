package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;

/** Takes connections, and calls on them. */
public final class CallServer implements AutoCloseable {
    private static final Log LOG = new Log(CallServer.class);

    private final Carrier.Listener listener;
    private final Function<String, CallMethod> methods;
    final Settings settings;
    /** Answers of numbered calls. */
    final ResponseCache memory;
    /** The identity of this server, drawn at random. */
    final long instance = new SecureRandom().nextLong();
    private final Set<ServerConnection> connections = ConcurrentHashMap.newKeySet();
    /** Calls that have not ended. */
    private final AtomicInteger calls = new AtomicInteger();
    /** Those, and others whose method has not returned yet. */
    private final AtomicInteger places = new AtomicInteger();
    private final Set<CallStream> running = ConcurrentHashMap.newKeySet();
    private final AtomicLong heldBytes = new AtomicLong();
    /** Where failures of methods are told. */
    final LimitedLog failures = new LimitedLog(LOG);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean leaving;

    /**
     * The bounds of a server: {@code maxMessage} bytes of a call's longest message, {@code maxCalls} at once, of those
     * {@code maxCallsPerConnection} of one connection, {@code maxConnections} at once, {@code maxHeldBytes} of unread
     * requests and untaken answers, {@code memoryBytes} of remembered answers, {@code memoryNanos} for a client without
     * a connection.
     */
    public record Settings(int maxMessage, int maxCalls, int maxCallsPerConnection, int maxConnections,
            long maxHeldBytes, long memoryBytes, long memoryNanos) {
        /** Those of a server that is told nothing else: 4 MiB, 10,000, 1,024, 4,096, 256 MiB, 64 MiB, a minute. */
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
     * Begins to serve methods, which are asked for by their names at each call, null for none. The listener ends with
     * the server, also if that cannot begin.
     */
    public static CallServer over(Carrier.Listener listener, Function<String, CallMethod> methods, Settings settings) {
        boolean begun = false;
        try {
            CallServer server = new CallServer(listener, methods, settings);
            Thread.ofVirtual().name("rdma-rpc-accept").start(server::accept);
            begun = true;
            return server;
        } finally {
            if (!begun) {
                listener.close();
            }
        }
    }

    private CallServer(Carrier.Listener listener, Function<String, CallMethod> methods, Settings settings) {
        this.listener = listener;
        this.methods = methods;
        this.settings = settings;
        memory = new ResponseCache(settings.memoryBytes(), settings.memoryNanos());
    }

    private void accept() {
        while (!leaving) {
            try {
                take(listener.accept());
            } catch (IOException | RuntimeException | Error e) {
                if (leaving) {
                    return;
                }
                tell(e);
                pause();
            }
        }
    }

    private void tell(Throwable failure) {
        try {
            failures.warn("a connection was not accepted", failure);
        } catch (RuntimeException | Error e) {
            // No memory for a line, perhaps: the next connection is accepted all the same.
        }
    }

    /** Waits a moment, so that a failure that lasts is not repeated at once for ever. */
    private static void pause() {
        try {
            Thread.sleep(10);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void take(Carrier carrier) {
        if (connections.size() >= settings.maxConnections() || leaving) {
            failures.warn("a connection from {} was refused: {} are open, see maxConnections", carrier.remoteAddress(),
                    connections.size());
            carrier.close();
            return;
        }
        ServerConnection connection = new ServerConnection(this, carrier);
        try {
            connections.add(connection);
            if (leaving) {
                connection.leave();
            }
            Thread.ofVirtual().name("rdma-rpc-server").start(connection::serve);
        } catch (Throwable e) {
            connection.fail(new IOException("no thread serves it"));
            throw e;
        }
    }

    /** The method of a name; null for none. */
    CallMethod method(String name) {
        return methods.apply(name);
    }

    /** Takes one more call, or says why not. */
    String admit(int ofConnection) {
        if (ofConnection >= settings.maxCallsPerConnection()) {
            return "the connection has " + ofConnection + " calls";
        }
        if (heldBytes.get() > settings.maxHeldBytes()) {
            return "the server has more than " + settings.maxHeldBytes() + " bytes of requests that it has not read";
        }
        if (places.incrementAndGet() > settings.maxCalls()) {
            places.decrementAndGet();
            return "the server has " + settings.maxCalls() + " calls";
        }
        return null;
    }

    /** A call that was admitted has ended, and its method has returned. */
    void left() {
        places.decrementAndGet();
    }

    void begun(CallStream call) {
        running.add(call);
        calls.incrementAndGet();
    }

    void ended(CallStream call) {
        running.remove(call);
        calls.decrementAndGet();
        endIfDone();
    }

    private void endIfDone() {
        if (leaving && connections.isEmpty() && calls.get() == 0) {
            ended.countDown();
        }
    }

    /** Counts bytes of unread requests, and of answers that clients do not take. */
    void held(long bytes) {
        heldBytes.addAndGet(bytes);
    }

    /** Whether calls that go on hold so much that some have to end: more than keeps new ones out. */
    boolean isFull() {
        return heldBytes.get() > 2 * settings.maxHeldBytes();
    }

    void gone(ServerConnection connection) {
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

    /** Calls that run now. */
    public int calls() {
        return calls.get();
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
        // Calls are left whose clients might come back for the answer, perhaps over another connection.
        running.forEach(call -> call.finish(Code.CANCELLED, "the server is closed", null, null));
    }
}
