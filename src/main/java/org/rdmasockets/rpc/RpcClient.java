package org.rdmasockets.rpc;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmasockets.rpc.call.CallStream;
import org.rdmasockets.rpc.call.Carrier;
import org.rdmasockets.rpc.call.ClientConnection;
import org.rdmasockets.rpc.call.EndpointCarrier;
import org.rdmasockets.rpc.call.Frame;
import org.rdmasockets.rpc.session.SessionHub;

/**
 * Calls methods of a server, from any number of threads at once, over one connection. A connection that was lost is
 * made anew when the next call needs it.
 */
public final class RpcClient implements AutoCloseable {
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Connector connector;
    private final int maxMessage;
    private final long retryNanos;
    private final byte[] identity = new byte[ClientConnection.IDENTITY_BYTES];
    private final ReentrantLock connecting = new ReentrantLock();
    /** The connection for new calls. Written under connecting. */
    private volatile ClientConnection current;
    private volatile boolean closed;
    /** The last number of a call that runs at most once; guarded by numbers. */
    private long lastNumber;
    /** Numbered calls in their order, from the first that has not ended on; guarded by itself. */
    private final ArrayDeque<Number> numbers = new ArrayDeque<>();

    /** Makes connections. */
    interface Connector {
        /** Connects within a time, longer than nothing. */
        Carrier connect(long limitNanos) throws IOException;
    }

    /** The number of a call. */
    static final class Number {
        private final long value;
        /** Guarded by numbers. */
        private boolean over;

        private Number(long value) {
            this.value = value;
        }

        /** The number. */
        long value() {
            return value;
        }
    }

    private RpcClient(Connector connector, int maxMessage, long retryNanos) {
        this.connector = connector;
        this.maxMessage = maxMessage;
        this.retryNanos = retryNanos;
        new SecureRandom().nextBytes(identity);
    }

    /**
     * Begins a client.
     *
     * @return what it is to be
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Calls a method and waits for its answer, without a deadline; the method runs at most once.
     *
     * @param method its name
     * @param request not kept after the call has ended
     * @return the answer
     * @throws RpcException if it did not end well
     */
    public byte[] call(String method, byte[] request) throws RpcException {
        return call(method, request, RpcOptions.DEFAULT);
    }

    /**
     * Calls a method and waits for its answer.
     *
     * @param method its name
     * @param request not kept after the call has ended
     * @param options deadline, idempotence, metadata
     * @return the answer
     * @throws RpcException if it did not end well; {@link RpcStatus#CANCELLED} with the interrupt status set if this
     *         virtual thread was interrupted
     */
    public byte[] call(String method, byte[] request, RpcOptions options) throws RpcException {
        return begin(method, request, options).await();
    }

    /**
     * Begins to call a method.
     *
     * @param method its name
     * @param request not kept after the call has ended, nor to be changed before
     * @param options deadline, idempotence, metadata
     * @return to be awaited; a call that was lost is made again while somebody waits for it
     * @throws RpcException if it cannot begin
     */
    public RpcPending begin(String method, byte[] request, RpcOptions options) throws RpcException {
        checkName(method);
        RpcPending pending = new RpcPending(this, method, request, options);
        pending.start();
        return pending;
    }

    /**
     * Begins a call with any number of requests and answers. It is not made again when it is lost.
     *
     * @param method its name
     * @param options deadline, metadata; idempotence makes no difference
     * @return the call, to be closed
     * @throws RpcException if it cannot begin
     */
    public RpcClientCall open(String method, RpcOptions options) throws RpcException {
        checkName(method);
        long deadlineNanos = options.deadlineNanos();
        ClientConnection.Start start = new ClientConnection.Start(method, options.metadata().encode(), null, false,
                deadlineNanos, 0, 0, false);
        Backoff backoff = new Backoff(deadlineNanos);
        while (true) {
            CallStream stream = begin(connection(backoff), start);
            if (!stream.isNotBegun() || stream.code() < 0) {
                return new RpcClientCall(stream);
            }
            if (!backoff.pause()) {
                throw failure(stream);
            }
        }
    }

    private static void checkName(String method) {
        if (method.isEmpty() || method.getBytes(StandardCharsets.UTF_8).length > Frame.MAX_TEXT) {
            throw new IllegalArgumentException("the name of a method has 1 to " + Frame.MAX_TEXT + " bytes");
        }
    }

    /** Begins a call on a connection. */
    static CallStream begin(ClientConnection connection, ClientConnection.Start start) throws RpcException {
        try {
            return connection.begin(start, null);
        } catch (InterruptedIOException e) {
            throw interrupted();
        } catch (IOException e) {
            throw unavailable(e.getMessage(), e);
        } catch (org.rdmasockets.rpc.call.MessageTooLong e) {
            throw new RpcException(RpcStatus.RESOURCE_EXHAUSTED, e.getMessage());
        }
    }

    /** What the caller gets when its thread was interrupted; the status stays set. */
    static RpcException interrupted() {
        return new RpcException(RpcStatus.CANCELLED, "the calling thread was interrupted");
    }

    private static RpcException unavailable(String why, Throwable cause) {
        return new RpcException(RpcStatus.UNAVAILABLE, why, RpcMetadata.EMPTY, cause);
    }

    /** What the caller gets of a call that did not end well. */
    static RpcException failure(CallStream stream) {
        try {
            return new RpcException(RpcStatus.of(stream.code()), stream.text(),
                    RpcServerCall.decode(stream.trailers()), null);
        } catch (RpcException e) {
            return e;
        }
    }

    /** A number for a call that may run once only. */
    Number number() {
        synchronized (numbers) {
            Number number = new Number(++lastNumber);
            numbers.add(number);
            return number;
        }
    }

    /** The call has ended for good, and nobody asks for its answer again. */
    void over(Number number) {
        synchronized (numbers) {
            number.over = true;
            while (!numbers.isEmpty() && numbers.peek().over) {
                numbers.poll();
            }
        }
    }

    /** All numbers below this are over. */
    long answered() {
        synchronized (numbers) {
            return numbers.isEmpty() ? lastNumber + 1 : numbers.peek().value;
        }
    }

    /** The connection for a new call, made if there is none. Tries again until the time is over. */
    ClientConnection connection(Backoff backoff) throws RpcException {
        while (true) {
            ClientConnection connection = current;
            if (connection != null && connection.isOpen()) {
                return connection;
            }
            try {
                return connect(backoff);
            } catch (InterruptedIOException e) {
                if (Thread.currentThread().isInterrupted()) {
                    throw interrupted();
                }
                retryOrThrow(backoff, e);
            } catch (IOException e) {
                retryOrThrow(backoff, e);
            }
        }
    }

    private void retryOrThrow(Backoff backoff, IOException e) throws RpcException {
        if (closed || !backoff.pause()) {
            throw unavailable("no connection to the server: " + e.getMessage(), e);
        }
    }

    private ClientConnection connect(Backoff backoff) throws IOException {
        long left = backoff.left();
        try {
            if (left <= 0 || !connecting.tryLock(left, TimeUnit.NANOSECONDS)) {
                throw new IOException("it took too long to connect");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        }
        try {
            ClientConnection connection = current;
            if (connection == null || !connection.isOpen()) {
                if (closed) {
                    throw new IOException("the client is closed");
                }
                long sentUpTo;
                synchronized (numbers) {
                    sentUpTo = lastNumber;
                }
                connection = new ClientConnection(connector.connect(Math.max(1, backoff.left())), maxMessage, identity,
                        sentUpTo);
                current = connection;
                if (closed) {
                    connection.close();
                }
            }
            return connection;
        } finally {
            connecting.unlock();
        }
    }

    /** How often, and how long, something is tried. */
    final class Backoff {
        private final long deadlineNanos;
        private long pauseNanos = FIRST_PAUSE_NANOS;

        /** For a call with a deadline; without one, for as long as the client tries. */
        Backoff(long deadlineNanos) {
            this.deadlineNanos = deadlineNanos == Long.MAX_VALUE ? System.nanoTime() + retryNanos : deadlineNanos;
        }

        /** Nanoseconds until the time is over. */
        long left() {
            return deadlineNanos - System.nanoTime();
        }

        /** Pauses, each time longer; false if there is no time for that, or the client is closed. */
        boolean pause() throws RpcException {
            long nanos = pauseNanos / 2 + ThreadLocalRandom.current().nextLong(pauseNanos);
            pauseNanos = Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS);
            if (closed || nanos >= left()) {
                return false;
            }
            try {
                TimeUnit.NANOSECONDS.sleep(nanos);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw interrupted();
            }
            return true;
        }
    }

    /**
     * What the calls go over now.
     *
     * @return the name of the device or protocol
     */
    public String transport() {
        return current.carrier().transport();
    }

    /** Ends the connection and all calls. Idempotent. */
    @Override
    public void close() {
        closed = true;
        ClientConnection connection = current;
        if (connection != null) {
            connection.close();
        }
    }

    @Override
    public String toString() {
        return "RpcClient[" + current.carrier().remoteAddress() + " over " + transport() + "]";
    }

    /** What a client is to be. Not for use by two threads at a time. */
    public static final class Builder {
        private static final int MAX_MESSAGE = 4 << 20;

        private boolean datagrams;
        private int maxMessage = MAX_MESSAGE;
        private Duration retryTime = Duration.ofSeconds(30);

        private Builder() {
        }

        /**
         * Calls in a session over UDP, as the server takes them. Without this, over a connection between endpoints.
         *
         * @return this
         */
        public Builder datagrams() {
            datagrams = true;
            return this;
        }

        /**
         * The longest answer. 4 MiB without this.
         *
         * @param bytes at least 1
         * @return this
         */
        public Builder maxMessage(int bytes) {
            if (bytes < 1) {
                throw new IllegalArgumentException("the longest message has at least 1 byte, not " + bytes);
            }
            maxMessage = bytes;
            return this;
        }

        /**
         * How long connecting, and a call without a deadline, is tried again. 30 seconds without this.
         *
         * @param time longer than nothing
         * @return this
         */
        public Builder retryTime(Duration time) {
            if (time.isNegative() || time.isZero()) {
                throw new IllegalArgumentException("the time to try again has to be longer than nothing, not " + time);
            }
            retryTime = time;
            return this;
        }

        /**
         * Connects, once.
         *
         * @param host name or address
         * @param port of the server
         * @return the client
         * @throws IOException as {@link #connect(InetSocketAddress)}
         */
        public RpcClient connect(String host, int port) throws IOException {
            return connect(new InetSocketAddress(host, port));
        }

        /**
         * Connects, once.
         *
         * @param server where it listens
         * @return the client
         * @throws IOException as {@code RdmaEndpointBuilder.connect}, or if no server of calls answers
         */
        public RpcClient connect(InetSocketAddress server) throws IOException {
            int most = maxMessage;
            return connect(datagrams ? limitNanos -> SessionHub.connect(server, most, limitNanos)
                    : limitNanos -> EndpointCarrier.connect(server, most, limitNanos));
        }

        /** Connects by other means. */
        RpcClient connect(Connector connector) throws IOException {
            RpcClient client = new RpcClient(connector, maxMessage, retryTime.toNanos());
            client.connect(client.new Backoff(Long.MAX_VALUE));
            return client;
        }
    }
}
