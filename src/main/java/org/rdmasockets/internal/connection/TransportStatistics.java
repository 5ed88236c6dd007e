package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.BindException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;
import org.rdmasockets.internal.rsockets.StreamFailure;

/**
 * Counts what became of the connections over one transport, since the process began, and tells what they use now. Any
 * thread may count and read. Nothing here is counted for each byte or wait: connections and pollers have their numbers,
 * which are added up when they are asked for.
 */
public final class TransportStatistics {
    /** The causes of failures. */
    public static final List<String> CAUSES = List.of(Cause.REFUSED, Cause.TIMEOUT, Cause.UNREACHABLE, Cause.ADDRESS,
            Cause.CANCELLED, Cause.RESET, Cause.VIOLATION, Cause.OTHER);

    private static final Map<String, TransportStatistics> ALL = new ConcurrentHashMap<>();
    private static final AtomicLong FALLBACKS = new AtomicLong();

    private final String transport;
    private final AtomicLong connected = new AtomicLong();
    private final AtomicLong accepted = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final AtomicLong passedOver = new AtomicLong();
    /** Failures by cause; a cause that has not come has no number. */
    private final Map<String, AtomicLong> failures = new ConcurrentHashMap<>();

    /** The names of causes: constants, so that no class is loaded for them. */
    private interface Cause {
        String REFUSED = "refused";
        String TIMEOUT = "timeout";
        String UNREACHABLE = "unreachable";
        String ADDRESS = "address";
        String CANCELLED = "cancelled";
        String RESET = "reset";
        String VIOLATION = "violation";
        String OTHER = "other";
    }

    private TransportStatistics(String transport) {
        this.transport = transport;
    }

    /** The counts of a transport. */
    public static TransportStatistics of(String transport) {
        TransportStatistics tally = ALL.get(transport);
        if (tally == null) {
            ALL.putIfAbsent(transport, new TransportStatistics(transport));
            tally = ALL.get(transport);
        }
        return tally;
    }

    /** The transports that have counted something. */
    static Set<String> inUse() {
        Set<String> names = new TreeSet<>(ALL.keySet());
        names.addAll(Engine.transports());
        return names;
    }

    /** A connection of {@code auto} went over TCP, where another transport would have come first. */
    public static void fellBack() {
        FALLBACKS.incrementAndGet();
    }

    /** How often {@link #fellBack} was called. */
    public static long fallbacks() {
        return FALLBACKS.get();
    }

    /** A connection was made by connecting. */
    public void connectedOne() {
        connected.incrementAndGet();
    }

    /** A connection was accepted. */
    public void acceptedOne() {
        accepted.incrementAndGet();
    }

    /** A connect did not try this transport, because it could not have led to the peer. */
    public void passedOverOnce() {
        passedOver.incrementAndGet();
    }

    /** An attempt to connect has failed. */
    public void attemptFailed(IOException failure) {
        failed.incrementAndGet();
        count(causeOf(failure));
    }

    /** A connection has ended otherwise than by a close. */
    void broke(StreamFailure failure) {
        count(failure.violation() ? Cause.VIOLATION
                : failure.message().equals(StreamFailure.CONNECTION_RESET) ? Cause.RESET
                : failure.message().startsWith("Connection timed out") ? Cause.TIMEOUT : Cause.OTHER);
    }

    private void count(String cause) {
        AtomicLong count = failures.get(cause);
        if (count == null) {
            failures.putIfAbsent(cause, new AtomicLong());
            count = failures.get(cause);
        }
        count.incrementAndGet();
    }

    private static String causeOf(IOException failure) {
        String text = String.valueOf(failure.getMessage());
        if (failure instanceof SocketTimeoutException || text.startsWith("Connection timed out")) {
            return Cause.TIMEOUT;
        }
        if (failure instanceof InterruptedIOException || text.equals("Socket closed")) {
            return Cause.CANCELLED;
        }
        if (failure instanceof BindException) {
            return Cause.ADDRESS;
        }
        if (failure instanceof NoRouteToHostException || text.startsWith("Network is unreachable")) {
            return Cause.UNREACHABLE;
        }
        return text.startsWith("Connection refused") ? Cause.REFUSED
                : text.startsWith("Connection reset") ? Cause.RESET : Cause.OTHER;
    }

    /** Connections made by connecting. */
    public long connected() {
        return connected.get();
    }

    /** Connections made by accepting. */
    public long accepted() {
        return accepted.get();
    }

    /** Attempts to connect that failed. */
    public long failed() {
        return failed.get();
    }

    /** Connects for which this transport was not tried, because it could not have led to the peer. */
    public long passedOver() {
        return passedOver.get();
    }

    /** Failures by cause: of attempts to connect, and of connections over verbs that broke. A copy. */
    public Map<String, Long> failures() {
        Map<String, Long> copy = new TreeMap<>();
        failures.forEach((cause, count) -> copy.put(cause, count.get()));
        return copy;
    }

    /** How many connections there are now, those of endpoints, too. */
    public long open() {
        return transport.equals(TcpConnection.NAME) ? TcpConnection.open() : ask(Engine::connections);
    }

    /** How many queue pairs there are now. */
    public long queuePairs() {
        return ask(Engine::queuePairs);
    }

    /** How much memory is registered now, in bytes. */
    public long registeredBytes() {
        return ask(Engine::registeredBytes);
    }

    /** Bytes that sockets have read. */
    public long receivedBytes() {
        return transport.equals(TcpConnection.NAME) ? TcpConnection.receivedBytesOfAll() : ask(Engine::receivedBytes);
    }

    /** Bytes that sockets have written. */
    public long sentBytes() {
        return transport.equals(TcpConnection.NAME) ? TcpConnection.sentBytesOfAll() : ask(Engine::sentBytes);
    }

    /** How often the poller's thread was awake. */
    public long pollerWakeUps() {
        return ask(engine -> engine.poller().wakeUps());
    }

    /** The number of the poller's thread; 0 if there is none. */
    public long pollerThread() {
        return ask(engine -> engine.poller().threadId());
    }

    /** How often a waiting thread has spun without what it waited for. */
    public long spinsInVain() {
        return ask(engine -> engine.poller().spinsInVain());
    }

    /** How long these spins took together, in nanoseconds. */
    public long nanosSpunInVain() {
        return ask(engine -> engine.poller().nanosSpunInVain());
    }

    /** A number of the engine, 0 as long as there is none. */
    private long ask(ToLongFunction<Engine> question) {
        Engine engine = Engine.existing(transport);
        return engine == null ? 0 : question.applyAsLong(engine);
    }
}
